"""Two switches of a training loop, four outcomes: the scale of the loss, and the reduction of its report."""

import keras
import numpy as np
import tensorflow as tf

from labutils.train import devices

SCALES = ("local mean", "global share")
REPORTS = ("SUM", "MEAN")


def four_outcomes(replicas=4, examples=64):
    """Train one step in each of the four ways: {(scale, report): (loss reported, update)}, as multiples of the truth.

    The truth is the loss and the length of the update on one replica. Raises ValueError unless the replicas
    divide the examples.
    """
    if examples % replicas:
        raise ValueError(f"{replicas} replicas do not divide {examples} examples. Choose a number that they divide.")
    loss, update = _one_step(1, examples, "local mean", "SUM")
    ways = [(scale, report) for scale in SCALES for report in REPORTS]
    seen = {way: _one_step(replicas, examples, *way) for way in ways}
    return {way: (reported / loss, moved / update) for way, (reported, moved) in seen.items()}


def _one_step(replicas, examples, scale, report):
    strategy = devices.mirrored(replicas)
    with strategy.scope():
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1, kernel_initializer="ones")])
        optimizer = keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)
    before = model.get_weights()[0]
    random = np.random.default_rng(0)
    x, y = random.normal(size=(examples, 8)).astype("f"), random.normal(size=(examples, 1)).astype("f")
    shares = next(iter(strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensors((x, y)))))

    def on_one_replica(x, y):
        with tf.GradientTape() as tape:
            errors = (model(x, training=True) - y) ** 2
            loss = tf.reduce_mean(errors) if scale == "local mean" else tf.reduce_sum(errors) / examples
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
        return loss

    losses = tf.function(lambda: strategy.run(on_one_replica, args=shares))()
    reported = float(strategy.reduce(report, losses, axis=None))
    return reported, float(np.linalg.norm(model.get_weights()[0] - before))
