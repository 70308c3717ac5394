"""Where the objects of a job were created."""

import keras
import tensorflow as tf

from labutils.train.lint.finding import Finding, listed


def check_devices(strategy):
    if not isinstance(strategy, tf.distribute.MirroredStrategy):
        return []
    # Compared by "CPU:1" at the end: a worker device's name also carries its job and task.
    existing = [device.name.removeprefix("/device:") for device in tf.config.list_logical_devices()]
    devices = [name.rpartition("/device:")[2] for name in strategy.extended.worker_devices]
    missing = [name for name in devices if name not in existing]
    if not missing:
        return []
    return [
        Finding(
            "devices-that-do-not-exist",
            f"The strategy names {listed(missing)}, and this process has only {listed(existing)}: the first step "
            "would hang without a message.",
            "Set up logical devices in the first cell, or name devices that exist.",
            "devices-that-do-not-exist",
        )
    ]


def check_scope(model, optimizer, metrics, strategy):
    if not isinstance(strategy, tf.distribute.MirroredStrategy):
        return []
    findings = []
    if model is not None and model.weights and not _all_under(model.weights, strategy):
        findings.append(_outside("model", f"The model {model.name!r}", "it", "model-outside-scope"))
    compiled_outside = _compiled_outside(model, strategy)
    if optimizer is not None and not _made_under(optimizer, strategy):
        findings.append(_optimizer_outside(optimizer, model, compiled_outside))
    elif compiled_outside:
        findings.append(
            _outside("compile", "The loss tracker of compile()", "what compile() makes", "compile-outside-scope")
        )
    # compile() makes the metrics it is given names of; its own are reported with it.
    own = [] if compiled_outside else _metrics_of(model)
    for metric in [*metrics, *own]:
        if metric.variables and not _all_under(metric.variables, strategy):
            findings.append(_metric_outside(metric))
    return findings


def _optimizer_outside(optimizer, model, compiled_outside):
    kind = type(optimizer).__name__
    ours = optimizer is getattr(model, "optimizer", None)
    if ours and compiled_outside:
        return _outside(
            "compile", f"compile() was called, and its optimizer {kind},", "the call", "compile-outside-scope"
        )
    if optimizer.built and not ours:
        return _outside(
            "optimizer-built",
            f"The optimizer {kind} was built, and",
            "both, with optimizer.build(model.trainable_variables),",
            "optimizer-built-outside-scope",
        )
    return _outside("optimizer", f"The optimizer {kind}", "it", "optimizer-outside-scope")


def _outside(which, subject, it, trap):
    return Finding(
        f"{which}-outside-scope",
        f"{subject} was created outside the strategy's scope.",
        f"Move {it} inside `with strategy.scope():`.",
        trap,
    )


def _metric_outside(metric):
    return Finding(
        "metric-outside-scope",
        f"The metric {metric.name!r} was created outside the strategy's scope: all replicas write to its one copy.",
        "Move it inside `with strategy.scope():`.",
        None,  # its sums come out right today, so it is no trap
    )


def _compiled_outside(model, strategy):
    if not getattr(model, "compiled", False):
        return False
    trackers = [metric for metric in model.metrics if metric.name == "loss"]
    return bool(trackers) and not _all_under(trackers[0].variables, strategy)


def _metrics_of(model):
    if not getattr(model, "compiled", False):
        return []
    # Before the first step Keras keeps the metrics as they were given to compile, and has no public name for them.
    given = getattr(model, "_compile_metrics", None)
    given = tf.nest.flatten(getattr(given, "_user_metrics", None) or [])
    return [metric for metric in given if isinstance(metric, keras.Metric)]


def _made_under(optimizer, strategy):
    """Keras' TensorFlow optimizers remember the strategy they were created under."""
    return getattr(optimizer, "_distribution_strategy", strategy) is strategy


def _all_under(variables, strategy):
    """Whether each Keras variable has its copies under this very strategy."""
    values = [getattr(variable, "value", variable) for variable in variables]
    return all(getattr(value, "distribute_strategy", None) is strategy for value in values)
