"""The parts of a job: its loss, its layers, how it is compiled, its train_step."""

import math

import keras
import numpy as np
import tensorflow as tf

from labutils.train.lint.finding import Finding, listed


def check_loss(loss, model, replicas, tail):
    findings = []
    for one in tf.nest.flatten(loss):
        name, function = _custom(one)
        if function is None:
            continue
        values = _values(function, model, replicas)
        findings += _scalar(name, values, replicas)
        if tail and 0 in tail.split and values and not np.all(np.isfinite(values[0])):
            findings.append(_empty_replica(name, tail, replicas))
    return findings


def _custom(loss):
    """The name and the function of a loss of the learner's own; (None, None) for one of Keras."""
    if loss is None or isinstance(loss, str) or type(loss).__module__.startswith(("keras.", "tf_keras.")):
        wrapped = getattr(loss, "fn", None)  # LossFunctionWrapper around a function of one's own
        return _custom(wrapped) if wrapped is not None else (None, None)
    if isinstance(loss, keras.Loss):
        return type(loss).__name__, loss.call
    if (getattr(loss, "__module__", None) or "").startswith("keras."):
        return None, None
    return getattr(loss, "__name__", type(loss).__name__), loss


def _values(function, model, replicas):
    """What the loss gives for 0, 2 and 2N rows that are all alike, or None when it takes none of our guesses."""
    shape = getattr(model, "output_shape", None)
    shapes = shape if isinstance(shape, list) else [shape if isinstance(shape, tuple) else (None, 1)]
    for trailing in (tuple(size or 1 for size in one[1:]) for one in shapes):
        for truth_shape, value, dtype in ((trailing, 0.7, "float32"), ((), 0, "int32"), ((1,), 0, "int32")):
            try:
                return [
                    np.asarray(
                        function(
                            tf.fill((rows, *truth_shape), tf.constant(value, dtype)), tf.fill((rows, *trailing), 0.3)
                        )
                    )
                    for rows in (0, 2, 2 * replicas)
                ]
            except Exception:  # a guess at the shape of labels that we cannot know; the next may fit
                continue
    return None


def _scalar(name, values, replicas):
    """A loss of rank 0 is summed over replicas as it is: compare N times a share's loss with the whole batch's."""
    if not values or values[1].ndim:
        return []
    share, whole = float(values[1]), float(values[2])
    ratio = replicas * share / whole if whole and math.isfinite(share / whole) else float(replicas)
    if abs(ratio - 1) < 1e-3:
        return []  # a sum over a fixed number of rows: right, as long as that number is the global batch
    return [
        Finding(
            "scalar-custom-loss",
            f"The loss {name!r} returns one number (rank 0): on {replicas} replicas loss and update are "
            f"{ratio:.3g} x too large.",
            "Return one value per row, e.g. tf.reduce_mean(..., axis=-1); Keras then averages and scales it.",
            "scalar-custom-loss",
        )
    ]


def _empty_replica(name, tail, replicas):
    return Finding(
        "empty-replica-nan",
        f"The loss {name!r} gives NaN for a replica without rows, and the last batch of {tail.rows} leaves "
        f"{tail.split.count(0)} of {replicas} replicas without any ({listed(tail.split)}).",
        "Return one value per row, divide by the global batch, or batch with drop_remainder=True.",
        "empty-replica-nan",
    )


def check_nan(last_loss, model, tail, replicas):
    if last_loss is None or not math.isnan(float(last_loss)):
        return []
    finite = model is None or all(np.all(np.isfinite(weight)) for weight in model.get_weights())
    if not finite:
        return []
    split = f" of {tail.rows} rows ({listed(tail.split)})" if tail else ""
    return [
        Finding(
            "nan-loss",
            "The loss is NaN and every weight is finite: look first for a replica without rows in the last batch"
            f"{split} on {replicas} replicas, before you change the learning rate.",
            "Batch with drop_remainder=True and see whether the NaN goes away.",
            "empty-replica-nan",
        )
    ]


def check_layers(model):
    if model is None:
        return []
    layers = model._flatten_layers() if hasattr(model, "_flatten_layers") else model.layers
    names = [
        layer.name for layer in layers if isinstance(layer, keras.layers.BatchNormalization) and not layer.synchronized
    ]
    if not names:
        return []
    return [
        Finding(
            "batchnorm-unsynchronised",
            f"BatchNormalization in {listed(names)} looks at each replica's rows alone: the weights will not be those "
            "of one device.",
            "Create it with synchronized=True.",
            "batchnorm-unsynchronised",
        )
    ]


def check_jit(jit_compile, replicas):
    if jit_compile is not True:
        return []
    policy = keras.mixed_precision.global_policy().name
    if policy != "mixed_float16":
        return [
            Finding(
                "jit-compile-mirrored",
                f"jit_compile=True fails under a strategy of {replicas} replicas.",
                'Drop jit_compile (leave it at "auto"), not the strategy.',
                "jit-compile-mirrored",
            )
        ]
    return [
        Finding(
            "float16-jit-mirrored",
            f"Of the policy {policy}, the strategy of {replicas} replicas and jit_compile=True, the last must go.",
            "Drop jit_compile: policy and strategy work together. Changing the policy does not help.",
            "float16-jit-mirrored",
        )
    ]


def check_clipping(optimizer, replicas):
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # LossScaleOptimizer wraps the one that clips
    names = ("clipnorm", "global_clipnorm", "clipvalue")
    given = [f"{name}={value:g}" for name in names if (value := getattr(optimizer, name, None))]
    if not given:
        return []
    return [
        Finding(
            "clipping-before-all-reduce",
            f"{type(optimizer).__name__}({given[0]}) clips the gradient of each replica before they are summed: a step "
            f"on {replicas} replicas may be up to {replicas} x as long as the bound, and is not that of one device.",
            "Sum over the replicas first, then clip: FourPhaseStep does, and so can an apply_gradients of your own.",
            "clipping-before-all-reduce",
        )
    ]


def check_train_step(model):
    method = getattr(type(model), "train_step", None)
    if method is None or method.__module__.startswith("keras."):
        return []
    return [
        Finding(
            "train-step-unchecked",
            f"{type(model).__name__} has a train_step of its own: whether its loss is scaled for the replicas cannot "
            "be seen from outside.",
            "Run check_update_scale(make_model, x, y, strategy), which takes one step to see.",
            "train-step-sums-replicas",
        )
    ]
