"""Lab 02: each check accepts every right answer, and says of a wrong one what is wrong."""

from functools import partial

import pytest

pytestmark = pytest.mark.usefixtures("machine")


@pytest.fixture(scope="module")
def keras(machine):
    import keras

    return keras


@pytest.fixture(scope="module")
def ch02(machine):
    from labutils.course.checks import ch02

    return ch02


def says(verdict, state, words):
    assert verdict.state == state and words in verdict.sentence, verdict


def trained(make_model, x, y, replicas, per_replica_batch, *, batch=None, scope=True, fit=True, shuffle=False):
    """A script as a learner writes it; the named arguments are the ways to get it wrong."""
    from contextlib import nullcontext

    from labutils.train import devices

    strategy = devices.mirrored(replicas)
    with strategy.scope() if scope else nullcontext():
        model = make_model()
    if fit:
        model.fit(x, y, batch_size=batch or per_replica_batch * replicas, shuffle=shuffle, verbose=0)
    return model


@pytest.fixture
def short(ch02, monkeypatch):
    """Two steps are enough for what fit is asked here, and quicker."""
    monkeypatch.setattr(ch02, "SAMPLES", 128)


def test_a_script_is_distributed(ch02, short):
    says(ch02.distributed(trained), "right", "on 4 and on 2 replicas")


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"batch": 32}, "128 examples took 4 steps; 16 on each of 4 replicas make 2. fit takes the global batch"),
        ({"scope": False}, "lives on 1 replica(s), not 4"),
        ({"shuffle": True}, "Is the order kept?"),
        ({"fit": False}, "never trained"),
    ],
)
def test_a_script_is_not_distributed(ch02, short, wrong, words):
    says(ch02.distributed(partial(trained, **wrong)), "wrong", words)


@pytest.mark.parametrize(
    "answer, state, words",
    [
        (..., "not yet", "Replace the ..."),
        (lambda make_model, x, y, replicas, batch: ..., "not yet", "returns nothing"),
        (lambda make_model, x, y, replicas, batch: replicas, "wrong", "Return the trained model, not int"),
        (lambda make_model, x, y: make_model(), "wrong", "TypeError"),
        (lambda make_model, x, y, replicas, batch: 1 / 0, "wrong", "Your answer raised ZeroDivisionError"),
        (16, "wrong", "TypeError"),
    ],
)
def test_a_script_of_another_kind(ch02, answer, state, words):
    says(ch02.distributed(answer), state, words)


def test_a_model_that_was_not_compiled_and_a_batch_that_cannot_be_shared(ch02, keras, short):
    def bare(make_model, x, y, replicas, per_replica_batch):
        return keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten()])

    says(ch02.distributed(bare), "wrong", "not compiled")
    says(ch02.distributed(partial(trained, batch=30)), "wrong", "the number of replicas divides")


FOUR = (8, 128, 128, 10)


def test_the_four_numbers(ch02):
    says(ch02.numbers(*FOUR), "right", "global, or per replica")
    says(ch02.numbers(*map(float, FOUR)), "right", "global, or per replica")


@pytest.mark.parametrize(
    "place, answer, words",
    [
        (0, 32, "splits 32 over 4 replicas into (8, 8, 8, 8)"),
        (1, 32, "a batch(32) of its own"),
        (1, 8, "a batch(32) of its own"),
        (2, 16, "every one of 8 replicas has 16"),
        (3, 80, "1280 over the global batch"),
        (0, "8", "Number 1 is not '8'"),
        (3, [10], "Number 4 is not [10]"),
    ],
)
def test_one_of_four_numbers_is_wrong(ch02, place, answer, words):
    answers = list(FOUR)
    answers[place] = answer
    says(ch02.numbers(*answers), "wrong", words)
    answers[place] = ...
    says(ch02.numbers(*answers), "not yet", "Replace")


def step(self, data, *, loss="scaled", apply=1, report="scaled", result="dictionary"):
    """A train_step; the named arguments are the ways to write it."""
    import keras
    import tensorflow as tf

    x, y = data
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    with tf.GradientTape() as tape:
        logits = self(x, training=True)
        if loss == "scaled":
            value = self.compute_loss(x, y, logits)
        else:
            each = keras.losses.sparse_categorical_crossentropy(y, logits, from_logits=True)
            value = tf.reduce_mean(each) / (replicas if loss == "by hand" else 1)
    gradients = tape.gradient(value, self.trainable_variables)
    for _ in range(apply):
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
    tracker = next(metric for metric in self.metrics if metric.name == "loss")
    if report != "nothing":
        tracker.update_state(value * replicas if report == "scaled" else value, sample_weight=tf.shape(x)[0])
    return {"dictionary": {"loss": tracker.result()}, "loss": value, "empty": {}, "nothing": None}[result]


def written(**how):
    return lambda self, data: step(self, data, **how)


@pytest.mark.parametrize("how", [{}, {"loss": "by hand"}], ids=["compute_loss", "by hand"])
def test_a_train_step_is_mended(ch02, how):
    says(ch02.train_step(written(**how)), "right", "on 2 and on 4 replicas")


@pytest.mark.parametrize(
    "how, state, words",
    [
        ({"loss": "local mean"}, "wrong", "On 2 replicas: loss not scaled for 2 replicas, update is 2 x too large"),
        ({"report": "local"}, "wrong", "On 2 replicas: fit shows a loss of"),
        ({"report": "nothing"}, "wrong", "never updates the loss tracker"),
        ({"apply": 0}, "wrong", "never moves the weights"),
        ({"apply": 2}, "wrong", "not those of Keras' own train_step"),
        ({"result": "loss"}, "wrong", "a dictionary with the key 'loss'"),
        ({"result": "empty"}, "wrong", "a dictionary with the key 'loss'"),
        ({"result": "nothing"}, "not yet", "returns nothing yet"),
    ],
    ids=lambda how: "-".join(map(str, how.values())) if isinstance(how, dict) else "",
)
def test_a_train_step_is_still_sick(ch02, how, state, words):
    says(ch02.train_step(written(**how)), state, words)


@pytest.mark.parametrize(
    "answer, state, words",
    [
        (..., "not yet", "Replace the ..."),
        (lambda self, data: ..., "not yet", "returns nothing yet"),
        (lambda self: 3, "wrong", "TypeError"),
        (lambda self, data: data[2], "wrong", "IndexError"),
        (3, "wrong", "expected a function, got int"),
    ],
)
def test_a_train_step_of_another_kind(ch02, answer, state, words):
    says(ch02.train_step(answer), state, words)


def job(strategy, *, loss=None, optimizer=None, model=None, scope=True, **numbers):
    """A job that passes inspection; the named arguments change it."""
    from contextlib import nullcontext

    import keras

    from labutils.train import models

    with strategy.scope() if scope else nullcontext():
        built = model() if model else models.normalised_mlp(synchronized=True)
        each = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        built.compile(optimizer() if optimizer else keras.optimizers.SGD(0.1), loss or each)
    return {"model": built, "batch_size": 128, "samples": 1222, "drop_remainder": True} | numbers


def test_a_job_passes(ch02, keras):
    """Also with Adam, whose bias before BatchNormalization moves by rounding alone, and differs."""
    answer = partial(job, optimizer=lambda: keras.optimizers.Adam(0.01))
    says(ch02.inspection(answer), "right", "Nothing to find")


def unsynchronised():
    from labutils.train import models

    return models.normalised_mlp()


def without_normalisation():
    from labutils.train import models

    return models.mlp(seed=0)


def unseeded():
    import keras

    layers = [keras.layers.Flatten(), keras.layers.BatchNormalization(synchronized=True), keras.layers.Dense(10)]
    return keras.Sequential([keras.Input((8, 8, 1)), *layers])


def mean_loss(labels, logits):
    import keras
    import tensorflow as tf

    return tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))


@pytest.mark.parametrize(
    "change, words",
    [
        ({"batch_size": 50}, "4 replicas cannot share equally"),
        ({"drop_remainder": False, "batch_size": 48}, "last batch of 22 over 4 replicas"),
        ({"model": unsynchronised}, "synchronized=True"),
        ({"loss": mean_loss}, "returns one number"),
        ({"scope": False}, "outside the strategy's scope"),
        ({"model": unseeded}, "do not end with the same weights"),
        ({"model": without_normalisation}, "Keep the kind of model"),
        ({"samples": 960}, "Only 896 of the 1222"),
        ({"batch_size": 700}, "Only 700 of the 1222"),
        ({"samples": 5000}, "There are 1280 samples, not 5000"),
        ({"samples": 1222.0}, "whole numbers above 0"),
        ({"batch_size": 0}, "whole numbers above 0"),
    ],
)
def test_a_job_is_stopped(ch02, change, words):
    says(ch02.inspection(partial(job, **change)), "wrong", words)


@pytest.mark.parametrize(
    "answer, state, words",
    [
        (..., "not yet", "Replace the ..."),
        (lambda strategy: None, "not yet", "returns nothing"),
        (lambda strategy: tuple(job(strategy).values()), "wrong", "A job is a dictionary"),
        (lambda strategy: job(strategy)["model"], "wrong", "A job is a dictionary"),
        (lambda strategy: {"model": job(strategy)["model"]}, "wrong", "lacks batch_size, drop_remainder, samples"),
        (lambda strategy: job(strategy) | {"model": without_normalisation()}, "wrong", "a compiled Keras model"),
        (lambda: 3, "wrong", "TypeError"),
    ],
)
def test_a_job_of_another_kind(ch02, answer, state, words):
    says(ch02.inspection(answer), state, words)
