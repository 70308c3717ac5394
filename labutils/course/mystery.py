"""Four training jobs, each with one thing the matter, for a learner to find out from their captures alone.

Each is a whole step as `profile.capture` wants it. Whoever looks for the answers in here spoils the fun.
"""

import itertools
import json

import tensorflow as tf

from labutils.train import data, devices, models, pipelines

NAMES = ("A", "B", "C", "D")
_BATCH = 256
_LOG_EVERY = 100  # steps, in the mended job


def step(name, mended=False):
    """The step function of job A, B, C or D, freshly made: it fetches a batch and returns the loss.

    `mended`: the same training without what is the matter. ValueError for any other name.
    """
    if name not in _JOBS:
        raise ValueError(f"There is no job {name!r}. The jobs are {', '.join(NAMES)}.")
    return _JOBS[name][0](mended)


def answers():
    """{job: the name of the symptom it has}."""
    return {name: symptom for name, (_, symptom) in _JOBS.items()}


def _examples():
    train = data.digits()
    return tf.data.Dataset.from_tensor_slices((train.x_train, train.y_train)).take(4 * _BATCH)


def _ready():
    """Batches that cost next to nothing to fetch."""
    return _examples().batch(_BATCH).cache().repeat().prefetch(2)


def _train(model, extra=None):
    """One replica's part of a step, and what it returns: the loss of its examples over the global batch."""
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    optimizer = tf.keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)

    def train(x, y, weight=1.0):
        with tf.GradientTape() as tape:
            value = weight * loss(y, model(x, training=True)) / _BATCH
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value if extra is None else value + extra()

    return train


def _single(dataset):
    model = models.mlp(width=128)
    return model, tf.function(_train(model)), iter(dataset)


def _job_a(mended):
    model, train, batches = _single(_ready())
    numbers = itertools.count()

    def step():
        loss = train(*next(batches))
        if not mended or next(numbers) % _LOG_EVERY == 0:
            json.dumps([weight.tolist() for weight in model.get_weights()])  # "one never knows"
        return loss

    return step


def _job_b(mended):
    def smooth(images, labels):
        window = tf.ones((3, 3, 1, 1)) / 9
        for _ in range(12):
            images = tf.nn.conv2d(images, window, 1, "SAME") + tf.random.normal(tf.shape(images)) / 99
        return images, labels

    def smooth_one(image, label):
        images, label = smooth(image[tf.newaxis], label)
        return images[0], label

    examples = _examples().repeat()
    slow, quick = examples.map(smooth_one).batch(_BATCH), examples.batch(_BATCH).map(smooth)
    _, train, batches = _single(pipelines.as_written(quick if mended else slow))
    return lambda: train(*next(batches))


def _job_c(mended):
    strategy = devices.mirrored(4)

    def extra():
        here = tf.distribute.get_replica_context().replica_id_in_sync_group
        much = tf.fill((640, 640) if here == 2 else (8, 8), 0.001)
        for _ in range(4):
            much = tf.tanh(much @ much + tf.random.normal(()))
        return 0.0 * tf.reduce_sum(much)

    with strategy.scope():
        train = _train(models.mlp(width=128), None if mended else extra)
    batches = iter(strategy.experimental_distribute_dataset(_ready()))

    @tf.function
    def step(x, y):
        return strategy.reduce("SUM", strategy.run(train, args=(x, y)), axis=None)

    return lambda: step(*next(batches))


def _job_d(mended):
    _, train, batches = _single(_ready())
    weights = (0.999**number for number in itertools.count())
    made = tf.constant if mended else float
    return lambda: train(*next(batches), made(next(weights)))


_JOBS = {
    "A": (_job_a, "host-work"),
    "B": (_job_b, "input-bound"),
    "C": (_job_c, "straggling-replica"),
    "D": (_job_d, "retracing"),
}
