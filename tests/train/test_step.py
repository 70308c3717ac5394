"""The four-phase step: N replicas equal one device, for every way a learner may use it."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from labutils.train import data, devices, models
from labutils.train.step import PHASES, FourPhaseStep, PhaseTimes, typical


def crossentropy():
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def build(replicas, optimizer, make=models.mlp, loss=None):
    strategy = devices.mirrored(replicas)
    with strategy.scope():
        model, optimizer = make(), optimizer()
    return FourPhaseStep(model, optimizer, loss or crossentropy(), strategy)


def trained(step, digits, batch=64, by_phase=False, samples=1280):
    """Train one pass over `samples`; the model's weights and the last loss."""
    for start in range(0, samples, batch):
        here = slice(start, min(start + batch, samples))
        pair = digits.x_train[here], digits.y_train[here]
        loss = step.run_by_phase(pair).loss if by_phase else float(step.run(pair))
    return step.model.get_weights(), loss


@functools.cache
def plain_keras(optimizer, make=models.mlp, batch=64, samples=1280):
    """The reference: Keras' own fit on one device, in order."""
    digits = data.digits()
    model = make()
    model.compile(optimizer(), crossentropy())
    model.fit(digits.x_train[:samples], digits.y_train[:samples], batch_size=batch, epochs=1, shuffle=False, verbose=0)
    return model.get_weights()


def gap(left, right):
    return max(float(np.abs(a - b).max()) for a, b in zip(left, right, strict=True))


OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.1),
    "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "adam": lambda: keras.optimizers.Adam(1e-3),
    "adamw clipped": lambda: keras.optimizers.AdamW(1e-3, weight_decay=0.01, global_clipnorm=0.5),
}


@pytest.mark.parametrize(
    "optimizer, replicas",
    [*(("sgd", n) for n in (1, 2, 3, 8)), ("momentum", 3), ("adam", 2), ("adam", 8), ("adamw clipped", 3)],
)
def test_a_whole_epoch_on_n_replicas_equals_keras_on_one_device(digits, optimizer, replicas):
    weights, _ = trained(build(replicas, OPTIMIZERS[optimizer]), digits)
    assert gap(weights, plain_keras(OPTIMIZERS[optimizer])) < 1e-6


def test_an_uneven_last_batch_weighs_every_example_alike(digits):
    # 640 = 6 x 100 + 40, and 100 and 40 over 8 replicas are uneven too: Keras' own fit goes wrong here.
    weights, _ = trained(build(8, OPTIMIZERS["sgd"]), digits, batch=100, samples=640)
    assert gap(weights, plain_keras(OPTIMIZERS["sgd"], batch=100, samples=640)) < 1e-6


def test_phase_by_phase_trains_exactly_as_the_whole_step_does(digits):
    whole, loss = trained(build(4, OPTIMIZERS["adam"]), digits, samples=320)
    phases, loss_by_phase = trained(build(4, OPTIMIZERS["adam"]), digits, samples=320, by_phase=True)
    assert gap(whole, phases) < 1e-6
    assert loss == pytest.approx(loss_by_phase, abs=1e-6)


def test_a_convolution_agrees_too(digits):
    weights, _ = trained(build(4, OPTIMIZERS["sgd"], models.conv), digits, samples=320)
    assert gap(weights, plain_keras(OPTIMIZERS["sgd"], models.conv, samples=320)) < 1e-6


def test_a_penalty_on_weights_counts_once_not_once_a_replica(digits):
    def make():
        inputs = keras.Input((8, 8, 1))
        l2 = keras.regularizers.L2(0.1)
        hidden = keras.layers.Dense(10, kernel_initializer=keras.initializers.HeNormal(1), kernel_regularizer=l2)
        return keras.Model(inputs, hidden(keras.layers.Flatten()(inputs)))

    weights, _ = trained(build(4, OPTIMIZERS["sgd"], make), digits, samples=320)
    assert gap(weights, plain_keras(OPTIMIZERS["sgd"], make, samples=320)) < 1e-6


def test_every_copy_of_the_weights_stays_the_same(digits):
    step = build(8, OPTIMIZERS["adam"])
    trained(step, digits, samples=320)
    for variable in step.model.trainable_variables:
        copies = [copy.numpy() for copy in step.strategy.experimental_local_results(variable.value)]
        assert all(np.array_equal(copies[0], copy) for copy in copies)


def test_a_rehearsal_leaves_no_trace(digits):
    step = build(4, OPTIMIZERS["adam"], models.normalised_mlp)
    before = step.model.get_weights(), [v.numpy() for v in step.optimizer.variables]
    step._rehearse(tf.constant(digits.x_train[:64]), tf.constant(digits.y_train[:64]))
    after = step.model.get_weights(), [v.numpy() for v in step.optimizer.variables]
    for was, is_now in zip(before, after, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(was, is_now, strict=True))


def test_phase_times_hold_together(digits):
    times = [build_once(digits).run_by_phase((digits.x_train[:64], digits.y_train[:64])) for _ in range(3)]
    for one in times:
        assert list(one.seconds) == list(PHASES)
        assert one.total == pytest.approx(sum(one.seconds.values()))
        assert {(lane.replica, lane.phase) for lane in one.lanes} == {(r, p) for r in range(4) for p in PHASES}
        assert all(0 <= lane.start <= lane.end for lane in one.lanes)
        ends = {phase: max(lane.end for lane in one.lanes if lane.phase == phase) for phase in PHASES}
        assert sorted(ends.values()) == list(ends.values())  # the phases follow one another


_built = []


def build_once(digits):
    if not _built:
        _built.append(build(4, OPTIMIZERS["sgd"]))
    return _built[0]


def test_the_typical_step_is_one_that_happened():
    times = [PhaseTimes(s, 0, 0, 0, loss=s, lanes=()) for s in (3.0, 1.0, 9.0, 2.0)]
    assert typical(times) is times[3]
    with pytest.raises(ValueError, match="at least one"):
        typical([])


def test_replicas_do_not_wait_for_one_another_to_be_timed(machine):
    """Two replicas that each sleep are inside their phase at the same time."""
    from labutils.train.phase_clock import stamped

    def sleep(x):
        import time

        def nap(value):
            time.sleep(0.2)  # outside Python's lock, so that it can overlap on one core too
            return value

        return tf.numpy_function(nap, [x], tf.float32, stateful=False)

    strategy = devices.mirrored(2)

    @tf.function(autograph=False)
    def both(x):
        return strategy.run(stamped(sleep), args=(x,))

    both(tf.constant([1.0]))
    _, stamps = both(tf.constant([2.0]))
    (start_0, end_0), (start_1, end_1) = (pair.numpy() for pair in strategy.experimental_local_results(stamps))
    assert max(start_0, start_1) < min(end_0, end_1)


def test_a_different_loss_form_gives_the_same_step(digits):
    def per_example(labels, logits):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)

    weights, _ = trained(build(4, OPTIMIZERS["sgd"], loss=per_example), digits, samples=320)
    assert gap(weights, plain_keras(OPTIMIZERS["sgd"], samples=320)) < 1e-6


def test_a_scalar_loss_is_refused_before_it_trains_n_times_too_far(digits):
    step = build(4, OPTIMIZERS["sgd"], loss=lambda y, p: tf.reduce_mean(tf.cast(y, tf.float32)[:, None] - p))
    with pytest.raises(ValueError, match="Return one value per example"):
        step.run((digits.x_train[:64], digits.y_train[:64]))


@pytest.mark.parametrize("outside", ["model", "optimizer"])
def test_an_object_made_outside_the_scope_is_named(machine, outside):
    strategy = devices.mirrored(2)
    made = {"model": models.mlp, "optimizer": OPTIMIZERS["adam"]}
    early = made.pop(outside)()
    with strategy.scope():
        objects = {name: make() for name, make in made.items()} | {outside: early}
    with pytest.raises(ValueError, match=f"The {outside} .*was created outside this strategy's scope"):
        FourPhaseStep(objects["model"], objects["optimizer"], crossentropy(), strategy)


BAD_BATCHES = {
    "empty": (np.zeros((0, 8, 8, 1), "f"), np.zeros(0, "i"), "at least one example"),
    "labels missing": (np.zeros((8, 8, 8, 1), "f"), np.zeros(7, "i"), "8 examples and y has 7"),
    "fewer than replicas": (np.zeros((2, 8, 8, 1), "f"), np.zeros(2, "i"), "without an example"),
    "scalar": (np.float32(1), np.zeros(2, "i"), "at least one example"),
}


@pytest.mark.parametrize(("x", "y", "sentence"), BAD_BATCHES.values(), ids=BAD_BATCHES)
def test_a_batch_that_does_not_fit_is_answered_in_a_sentence(digits, x, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        build_once(digits).run((x, y))


def test_a_batch_that_is_no_pair_is_answered_in_a_sentence(digits):
    with pytest.raises(ValueError, match=r"pair \(x, y\)"):
        build_once(digits).run(digits.x_train[:64])


def test_a_weight_that_gets_no_gradient_is_named(digits):
    def make():
        inputs = keras.Input((8, 8, 1))
        flat = keras.layers.Flatten()(inputs)
        used = keras.layers.Dense(10, name="used")(flat)
        unused = keras.layers.Dense(10, name="unused")(flat)
        return keras.Model(inputs, [used, unused])

    step = build(2, OPTIMIZERS["sgd"], make, loss=lambda y, p: tf.cast(y, tf.float32) - p[0][:, 0])
    with pytest.raises(ValueError, match="does not depend on"):
        step.run((digits.x_train[:64], digits.y_train[:64]))


def test_gradient_bytes_counts_four_a_float32_weight(machine):
    assert models.gradient_bytes(models.mlp(width=8)) == 4 * (64 * 8 + 8 + 8 * 8 + 8 + 8 * 10 + 10)
