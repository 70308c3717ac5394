"""The linter on the triggers of public reports: each finding names the object and the number."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from labutils import traps
from labutils.train import devices
from labutils.train.lint import check_training, check_update_scale, explain, split_batch

ONE = [(1.0, -2.0, 3.0, 0.5)]


@pytest.fixture(scope="module")
def strategy(machine):
    return devices.mirrored(4)


@pytest.fixture(autouse=True)
def float32_again():
    yield
    keras.mixed_precision.set_global_policy("float32")


def linear(*layers):
    return keras.Sequential([keras.Input((4,)), *layers, keras.layers.Dense(1, name="out")])


def compiled(strategy, optimizer="sgd", loss="mse", layers=(), **how):
    with strategy.scope():
        model = linear(*layers)
        model.compile(optimizer, loss, **how)
    return model


def rows(count):
    x = np.random.default_rng(0).normal(size=(count, 4)).astype("float32")
    return x, x @ np.array(ONE, "float32").T


def names(findings):
    return [finding.name for finding in findings]


def only(findings, name):
    """The sentence of the one finding, whose trap must be in the registry."""
    assert names(findings) == [name]
    assert findings[0].trap in {None, *traps.TRAPS}
    assert findings[0].remedy
    return findings[0].sentence


def scalar_mean(truth, guess):
    return tf.reduce_mean((truth - guess) ** 2)


def per_row(truth, guess):
    return tf.reduce_mean((truth - guess) ** 2, axis=-1)


def sum_over_global(truth, guess):
    return tf.reduce_sum((truth - guess) ** 2) / 64.0


def mean_of_local_rows(truth, guess):
    return tf.reduce_sum((truth - guess) ** 2) / tf.cast(tf.shape(truth)[0], tf.float32)


class ScalarLoss(keras.losses.Loss):
    def call(self, truth, guess):
        return tf.reduce_mean((truth - guess) ** 2)


def test_a_sound_job_has_no_findings(strategy):
    with strategy.scope():
        metric = keras.metrics.MeanSquaredError()
    model = compiled(strategy, metrics=["mae", metric])
    assert check_training(model, strategy=strategy, batch_size=32, samples=64, steps_per_epoch=2, epochs=3) == []


def test_one_device_has_no_findings(machine):
    model = linear()
    model.compile("sgd", scalar_mean, jit_compile=True)
    assert check_training(model, batch_size=32, samples=66) == []


# --- losses ---


@pytest.mark.parametrize("loss", [scalar_mean, ScalarLoss(), ScalarLoss], ids=["function", "object", "class"])
def test_a_loss_of_rank_0_is_named_with_its_factor(strategy, loss):
    loss = loss() if loss is ScalarLoss else loss
    sentence = only(check_training(loss=loss, strategy=strategy), "scalar-custom-loss")
    assert "scalar_mean" in sentence or "ScalarLoss" in sentence
    assert "rank 0" in sentence and "4 x too large" in sentence


@pytest.mark.parametrize(
    "loss", ["mse", per_row, sum_over_global, keras.losses.MeanSquaredError(), keras.losses.mean_squared_error]
)
def test_losses_that_scale_are_left_alone(strategy, loss):
    assert check_training(loss=loss, strategy=strategy) == []


def test_a_loss_for_integer_labels_is_understood(strategy):
    def loss(truth, guess):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(truth, guess))

    with strategy.scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
        model.compile("sgd", loss)
    assert "'loss'" in only(check_training(model, strategy=strategy), "scalar-custom-loss")


def test_a_loss_that_divides_by_local_rows_is_found_before_it_gives_nan(strategy):
    findings = check_training(loss=mean_of_local_rows, strategy=strategy, batch_size=32, samples=34)
    assert {"empty-replica-nan", "uneven-last-batch", "scalar-custom-loss"} == set(names(findings))
    sentence = next(finding.sentence for finding in findings if finding.name == "empty-replica-nan")
    assert "'mean_of_local_rows'" in sentence and "2 of 4 replicas" in sentence and "(1, 1, 0, 0)" in sentence


def test_nan_with_finite_weights_speaks_of_empty_replicas_first(strategy):
    model = compiled(strategy, loss=mean_of_local_rows)
    findings = check_training(model, strategy=strategy, batch_size=32, samples=34, last_loss=float("nan"))
    assert findings[0].name == "nan-loss" and findings[0].trap == "empty-replica-nan"
    assert "before you change the learning rate" in findings[0].sentence


# --- batches ---


def test_the_uneven_last_batch_is_weighed(strategy):
    sentence = only(check_training(strategy=strategy, batch_size=32, samples=66), "uneven-last-batch")
    assert "last batch of 2 over 4 replicas (1, 1, 0, 0): gradients under-weighted x0.5" in sentence
    assert "the loss displayed does not reveal it" in sentence
    assert check_training(strategy=strategy, batch_size=32, samples=66, drop_remainder=True) == []
    assert check_training(strategy=strategy, batch_size=32, samples=68) == []  # 4 rows, one each


@pytest.mark.parametrize("tail", [2, 5, 7])
def test_the_weights_of_an_uneven_batch_are_those_of_keras(strategy, tail):
    """Train a built model on the tail alone, and compare its gradient with the rows weighed by our factors."""
    share = split_batch(tail, 4)
    x, y = rows(tail)
    with strategy.scope():
        model = linear()
        model.compile(keras.optimizers.SGD(1.0), "mse")
    model.fit(np.zeros((4, 4), "float32"), np.zeros((4, 1), "float32"), batch_size=4, verbose=0)  # builds it
    kernel, bias = (weight.copy() for weight in model.get_weights())
    step = tf.function(lambda batch: strategy.run(model.train_step, args=(batch,)))
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
    step(next(iter(strategy.experimental_distribute_dataset(data))))
    weights = np.repeat(share.factors, share.split)[:, None]
    gradient = 2 / tail * x.T @ (weights * (x @ kernel + bias - y))
    np.testing.assert_allclose(kernel - model.get_weights()[0], gradient, rtol=1e-4, atol=1e-5)
    assert share.factor == pytest.approx(np.mean(weights))


def test_a_first_batch_that_cannot_be_shared_is_announced(strategy):
    sentence = only(check_training(strategy=strategy, batch_size=30, samples=60), "uneven-first-batch")
    assert "30 rows" in sentence and "(8, 8, 8, 6)" in sentence and "AddN" in sentence


def test_expected_and_delivered_batches_are_counted(strategy):
    job = {"strategy": strategy, "batch_size": 16, "samples": 64, "steps_per_epoch": 6, "epochs": 3}
    sentence = only(check_training(**job), "input-ran-out")
    assert "18 batches are expected" in sentence and "12 delivered" in sentence
    assert check_training(**job, repeat=True) == []


# --- scope ---


def test_each_object_outside_the_scope_is_named(strategy):
    outside = keras.optimizers.Adam()
    assert "The optimizer Adam" in only(check_training(compiled(strategy, outside)), "optimizer-outside-scope")

    with strategy.scope():
        model = linear()
    model.compile("adam", "mse", metrics=["mae"])
    assert "compile() was called" in only(check_training(model), "compile-outside-scope")

    model = linear()
    assert "The model" in only(check_training(model, strategy=strategy), "model-outside-scope")

    with strategy.scope():
        model = linear()
    outside = keras.optimizers.Adam()
    outside.build(model.trainable_variables)
    sentence = only(check_training(model, optimizer=outside, strategy=strategy), "optimizer-built-outside-scope")
    assert "The optimizer Adam was built" in sentence


def test_a_metric_outside_the_scope_is_named(strategy):
    metric = keras.metrics.MeanAbsoluteError(name="apart")
    model = compiled(strategy, metrics=[metric])
    assert "The metric 'apart'" in only(check_training(model), "metric-outside-scope")


def test_a_device_that_does_not_exist_is_named(machine):
    missing = tf.distribute.MirroredStrategy(["CPU:0", "CPU:63"], cross_device_ops=tf.distribute.ReductionToOneDevice())
    sentence = only(check_training(strategy=missing), "devices-that-do-not-exist")
    assert "CPU:63" in sentence and "CPU:7" in sentence and "hang" in sentence


# --- layers and compilation ---


def test_batch_normalisation_is_named(strategy):
    model = compiled(strategy, layers=[keras.layers.BatchNormalization(name="norm")])
    assert "norm" in only(check_training(model), "batchnorm-unsynchronised")
    assert check_training(compiled(strategy, layers=[keras.layers.BatchNormalization(synchronized=True)])) == []


def test_jit_is_what_must_go(strategy):
    finding = check_training(compiled(strategy, jit_compile=True))[0]
    assert finding.name == "jit-compile-mirrored" and "Drop jit_compile" in finding.remedy
    keras.mixed_precision.set_global_policy("mixed_float16")
    finding = check_training(compiled(strategy, jit_compile=True))[0]
    assert finding.name == "float16-jit-mirrored"
    assert "mixed_float16" in finding.sentence and "Drop jit_compile" in finding.remedy
    assert check_training(compiled(strategy)) == []


@pytest.mark.parametrize("bound", ["clipnorm", "global_clipnorm", "clipvalue"])
def test_clipping_is_named_with_what_it_bounds(strategy, bound):
    with strategy.scope():
        optimizer = keras.optimizers.Adam(**{bound: 0.5})
    for given in (optimizer, keras.optimizers.LossScaleOptimizer(optimizer)):
        sentence = next(f.sentence for f in check_training(optimizer=given, strategy=strategy) if "clip" in f.name)
        assert f"Adam({bound}=0.5) clips" in sentence and "up to 4 x" in sentence
    assert "clipping-before-all-reduce" in traps.TRAPS
    assert check_training(optimizer=keras.optimizers.Adam(**{bound: 0.5})) == []  # one device clips what it should


# --- the scale of an update ---


class Unscaled(keras.Sequential):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss}


class Scaled(Unscaled):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        weights = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self._loss_tracker.update_state(loss)
        return {"loss": self._loss_tracker.result()}


def made(kind):
    def make():
        model = kind([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        return model

    return make


def test_an_update_that_is_n_times_too_large_is_measured(strategy):
    findings = check_update_scale(made(Unscaled), *rows(16), strategy)
    assert names(findings) == ["update-scale", "loss-not-tracked"]
    assert findings[0].sentence == "loss not scaled for 4 replicas, update is 4 x too large."
    assert "loss of 0" in findings[1].sentence


@pytest.mark.parametrize("kind", [Scaled, keras.Sequential])
def test_an_update_of_the_right_size_has_no_findings(strategy, kind):
    assert check_update_scale(made(kind), *rows(16), strategy) == []


def test_a_batch_that_replicas_do_not_divide_is_refused(strategy):
    with pytest.raises(ValueError, match="4 replicas do not divide a batch of 15 rows"):
        check_update_scale(made(Scaled), *rows(15), strategy)


def test_a_train_step_of_ones_own_is_pointed_to_the_measurement(strategy):
    with strategy.scope():
        model = made(Unscaled)()
    assert "Unscaled has a train_step" in only(check_training(model), "train-step-unchecked")


# --- exceptions ---


def test_a_changed_replica_count_says_restart():
    message = "Device CPU:2 is joining a group with size4, but that group has size 2 (group_key=1)"
    sentence = explain(tf.errors.InternalError(None, None, f"Collective ops is aborted by: {message}"))
    assert "The replica count changed in this process" in sentence and "has 2 replicas" in sentence
    assert "Restart the kernel" in sentence and "devices.mirrored" in sentence
    # The other error it may give, when another replica's thread comes first.
    cancelled = tf.errors.CancelledError(None, None, "Function was cancelled before it was started")
    assert "most likely the replica count changed in this process" in explain(cancelled)


def test_devices_too_late_says_restart(machine):
    with pytest.raises(RuntimeError) as caught:
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()]
        )
    assert "Restart the kernel and run the first cell first" in explain(caught.value)


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_of_policy_strategy_and_jit_the_last_must_go(policy):
    keras.mixed_precision.set_global_policy(policy)
    model = compiled(devices.mirrored(2), "adam", jit_compile=True)
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        model.fit(*rows(8), batch_size=8, verbose=0)
    sentence = explain(caught.value)
    assert "Drop jit_compile" in sentence and "keep the strategy, and keep the precision policy" in sentence


def test_the_objects_at_hand_name_what_is_outside(strategy):
    with strategy.scope():
        model = linear()
    model.compile("adam", "mse")
    with pytest.raises(RuntimeError) as caught:
        model.fit(*rows(8), batch_size=8, verbose=0)
    assert "compile() was called" in explain(caught.value, model=model, strategy=strategy)

    model = linear()
    with strategy.scope():
        model.compile("adam", "mse")
        with pytest.raises(ValueError) as caught:
            model.fit(*rows(8), batch_size=8, verbose=0)
    assert "The model" in explain(caught.value, model=model, strategy=strategy)


def test_an_exception_within_another_is_found():
    try:
        try:
            raise AttributeError("'Mean' object has no attribute 'reset_states'")
        except AttributeError as error:
            raise RuntimeError("the epoch failed") from error
    except RuntimeError as error:
        assert "reset_state()" in explain(error)


def test_an_unknown_exception_is_left_alone():
    assert explain(KeyError("something else")) is None
