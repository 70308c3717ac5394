"""One step, measured: how far it goes on one device and on all replicas."""

import math

import keras
import numpy as np
import tensorflow as tf

from labutils.train.lint.finding import Finding


def check_update_scale(make_model, x, y, strategy):
    """Take one step of plain SGD on one device and one under the strategy, and compare how far the weights move.

    `make_model()` returns a new compiled model; it is called twice. `x` and `y` are one global batch, which the
    replicas must divide. Leave out what is random or looks at its own replica only (dropout, BatchNormalization).
    Raises ValueError when the replicas do not divide the batch.
    """
    replicas = strategy.num_replicas_in_sync
    if len(x) % replicas:
        raise ValueError(f"{replicas} replicas do not divide a batch of {len(x)} rows: give another batch.")
    alone, start, _ = _one_step(make_model, x, y, tf.distribute.get_strategy())
    mirrored, _, tracked = _one_step(make_model, x, y, strategy, start)
    ratio = float(mirrored / alone) if alone else 1.0
    findings = []
    if abs(ratio - 1) > 0.05:
        findings.append(
            Finding(
                "update-scale",
                f"loss not scaled for {replicas} replicas, update is {ratio:.3g} x too large.",
                "Divide the loss by tf.distribute.get_strategy().num_replicas_in_sync, or use self.compute_loss.",
                "train-step-sums-replicas",
            )
        )
    if not tracked:
        findings.append(
            Finding(
                "loss-not-tracked",
                "train_step never updates the loss tracker: fit will show a loss of 0.",
                "Return numbers from metric objects that train_step updates.",
                "train-step-sums-replicas",
            )
        )
    return findings


def _one_step(make_model, x, y, strategy, start=None):
    """How far one step moves the weights, the weights it began with, and whether the loss was tracked."""
    with strategy.scope():
        model = make_model()
        if not model.built:
            model.build((None, *np.shape(x)[1:]))
        # Adam's steps do not depend on the scale of the gradient: only plain SGD shows it.
        model.optimizer = keras.optimizers.SGD(1e-3)
        model.optimizer.build(model.trainable_variables)
    if start is not None:
        model.set_weights(start)
    before = model.get_weights()
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(len(x))
    batch = next(iter(strategy.experimental_distribute_dataset(data)))
    tf.function(lambda batch: strategy.run(model.train_step, args=(batch,)))(batch)
    moved = math.sqrt(sum(float(np.sum((a - b) ** 2)) for a, b in zip(model.get_weights(), before, strict=True)))
    counts = [variable for metric in model.metrics if metric.name == "loss" for variable in metric.variables]
    return moved, before, not counts or any(np.any(variable.numpy()) for variable in counts)
