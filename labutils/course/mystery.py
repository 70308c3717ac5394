"""Four training jobs, each with one thing the matter, for a learner to find out from their captures alone.

Each is a whole step as `profile.capture` wants it. Whoever looks for the answers in here spoils the fun.
"""

import itertools
import json

import tensorflow as tf

from labutils.train import data, devices, models

NAMES = ("A", "B", "C", "D")
_BATCH = 256


def step(name):
    """The step function of job A, B, C or D, freshly made: it fetches a batch and returns the loss."""
    if name not in _JOBS:
        raise ValueError(f"There is no job {name!r}. The jobs are {', '.join(NAMES)}.")
    return _JOBS[name]()


def _batches(prepare=None):
    """Digits by the batch, over and over, made ready while the step before trains."""
    train = data.digits()
    dataset = tf.data.Dataset.from_tensor_slices((train.x_train, train.y_train)).repeat()
    if prepare is None:
        return dataset.take(4 * _BATCH).batch(_BATCH).cache().repeat().prefetch(2)
    return dataset.map(prepare).batch(_BATCH, drop_remainder=True)


def _train(model, extra=None):
    """One replica's part of a step, and what it returns: the loss of its examples over the global batch."""
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    optimizer = tf.keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)

    def train(x, y, rate=1.0):
        with tf.GradientTape() as tape:
            value = rate * loss(y, model(x, training=True)) / _BATCH
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value if extra is None else value + extra()

    return train


def _single(prepare=None):
    model = models.mlp(width=128)
    return model, tf.function(_train(model)), iter(_batches(prepare))


def _job_a():
    model, train, batches = _single()

    def step():
        loss = train(*next(batches))
        log = json.dumps([weight.tolist() for weight in model.get_weights()])  # "one never knows"
        assert len(log) > 0
        return loss

    return step


def _job_b():
    def prepare(image, label):  # a smoothing, by far too many times
        image = tf.reshape(image, (1, 8, 8, 1))
        window = tf.ones((3, 3, 1, 1)) / 9
        for _ in range(12):
            image = tf.nn.conv2d(image, window, 1, "SAME") + tf.random.normal((1, 8, 8, 1)) / 99
        return image[0], label

    _, train, batches = _single(prepare)
    return lambda: train(*next(batches))


def _job_c():
    strategy = devices.mirrored(4)

    def extra():
        here = tf.distribute.get_replica_context().replica_id_in_sync_group
        much = tf.fill((640, 640) if here == 2 else (8, 8), 0.001)
        for _ in range(4):
            much = tf.tanh(much @ much + tf.random.normal(()))
        return 0.0 * tf.reduce_sum(much)

    with strategy.scope():
        train = _train(models.mlp(width=128), extra)
    batches = iter(strategy.experimental_distribute_dataset(_batches()))

    @tf.function
    def step(x, y):
        return strategy.reduce("SUM", strategy.run(train, args=(x, y)), axis=None)

    return lambda: step(*next(batches))


def _job_d():
    _, train, batches = _single()
    rates = (0.999**number for number in itertools.count())
    return lambda: train(*next(batches), next(rates))


_JOBS = {"A": _job_a, "B": _job_b, "C": _job_c, "D": _job_d}
