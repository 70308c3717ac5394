"""Everything that can be checked without running the job."""

import tensorflow as tf

from labutils.train.lint import batches, parts, schedules, scope


def check_training(
    model=None,
    loss=None,
    optimizer=None,
    strategy=None,
    batch_size=None,
    samples=None,
    *,
    metrics=(),
    steps_per_epoch=None,
    epochs=None,
    drop_remainder=False,
    repeat=False,
    jit_compile=None,
    last_loss=None,
):
    """What is wrong with a job under a mirrored strategy, as a list of `Finding`; empty when nothing was found.

    Everything is optional: what is not given is not checked, or is taken from the compiled model. `batch_size` is
    the global one; `epochs` is 1 where not given, as in `fit`, but then a schedule is not held against it;
    `last_loss` is what `fit` showed last.
    """
    strategy = strategy or getattr(model, "distribute_strategy", None) or tf.distribute.get_strategy()
    replicas = strategy.num_replicas_in_sync
    compiled = bool(getattr(model, "compiled", False))
    loss = loss if loss is not None else getattr(model, "loss", None) if compiled else None
    optimizer = optimizer or (getattr(model, "optimizer", None) if compiled else None)
    jit_compile = jit_compile if jit_compile is not None else compiled and model.jit_compile
    tail = batches.tail_of(samples, batch_size, replicas, drop_remainder)
    findings = [
        *scope.check_devices(strategy),
        *scope.check_scope(model, optimizer, metrics, strategy),
        *batches.check_delivery(samples, batch_size, steps_per_epoch, epochs or 1, drop_remainder, repeat),
        *schedules.check_schedule(optimizer, samples, batch_size, steps_per_epoch, epochs, drop_remainder),
    ]
    if replicas > 1:
        findings += [
            *batches.check_batches(samples, batch_size, replicas, tail, drop_remainder),
            *parts.check_loss(loss, model, replicas, tail),
            *parts.check_layers(model),
            *parts.check_jit(jit_compile, replicas),
            *parts.check_clipping(optimizer, replicas),
            *parts.check_train_step(model),
            *parts.check_nan(last_loss, model, tail, replicas),
        ]
    # A NaN on the screen is what the learner came with: its explanation goes first.
    return sorted(findings, key=lambda finding: finding.name != "nan-loss")
