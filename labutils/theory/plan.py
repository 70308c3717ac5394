"""A plan for training with another batch: what follows from the batch, the learning rate, the rule and the devices."""

import math
from dataclasses import dataclass, replace

from labutils.theory import checks
from labutils.theory.scaling import scale_learning_rate, steps_per_epoch, warmup_schedule
from labutils.theory.time_to_target import epochs_to_target
from labutils.theory.timeline import predict_step

LARGE_STEP = 4  # times the base rate from which on a start without warm-up is risky


@dataclass(frozen=True)
class Plan:
    """What follows from a batch and a rate. `rate` is the scaled learning rate, `warmup_steps` lead up to it.

    `step_time` and `time_to_target` are predictions in seconds, `steps` and `epochs` those to the target; the last
    three are nan where no curve of steps to target was given. `cautions` are sentences.
    """

    batch: int
    per_replica_batch: int
    replicas: int
    base_rate: float
    rate: float
    steps_per_epoch: int
    warmup_steps: int
    step_time: float
    steps: float
    epochs: float
    cautions: tuple

    @property
    def time_to_target(self):
        """Seconds until the target: steps that the batch calls for, times the predicted step time."""
        return self.steps * self.step_time

    def schedule(self, step):
        """The learning rate at a step (a number or an array): warm-up from the base rate, then constant."""
        return warmup_schedule(self.base_rate, self.rate, self.warmup_steps)(step)


def plan(
    batch,
    replicas,
    spec,
    *,
    base_batch,
    base_rate,
    rule="linear",
    dataset_size,
    warmup_epochs=5,
    fit=None,
    highest=None,
):
    """Plan a run with global batch `batch` on `replicas` replicas: a Plan.

    `base_rate` works at `base_batch`. `spec` is the StepSpec of one replica at any batch: compute grows with the
    samples. `fit` (CriticalBatch) gives steps to target; `highest` is the highest rate known to train. ValueError
    for a batch that is not whole, larger than the data or not divided by the replicas, and bad rates.
    """
    replicas = checks.count("replicas", replicas, "count the devices")
    batch = checks.count("batch", batch, "give the global batch")
    per_epoch = steps_per_epoch(dataset_size, batch)
    if batch % replicas:
        above = -(-batch // replicas) * replicas
        nearest = above if above <= dataset_size else above - replicas
        remedy = f"choose {nearest}, for example" if nearest else "take fewer replicas"
        raise ValueError(f"{replicas} replicas do not divide a batch of {batch}: {remedy}.")
    hint = "give the passes over the data that warm-up lasts, 5 in Goyal et al. 2017"
    warmup_epochs = checks.number("warmup_epochs", warmup_epochs, hint)
    rate = scale_learning_rate(base_rate, base_batch, batch, rule)
    share = batch // replicas
    grown = rate > base_rate * 1.0001
    warmup_steps = round(warmup_epochs * per_epoch) if grown else 0
    return Plan(
        batch=batch,
        per_replica_batch=share,
        replicas=replicas,
        base_rate=base_rate,
        rate=rate,
        steps_per_epoch=per_epoch,
        warmup_steps=warmup_steps,
        step_time=predict_step(replace(spec.with_batch(share), replicas=replicas)).step_time,
        steps=math.nan if fit is None else fit.steps(batch),
        epochs=math.nan if fit is None else epochs_to_target(fit, batch, dataset_size),
        cautions=tuple(_cautions(batch, rate, base_rate, warmup_steps, fit, highest)),
    )


def _cautions(batch, rate, base_rate, warmup_steps, fit, highest):
    if highest is not None and rate > highest * 1.0001:
        yield f"A rate of {rate:.3g} is above every rate that trained in your sweep (up to {highest:.3g})."
    if fit is not None and batch > fit.critical_batch:
        yield (
            f"The batch is {batch / fit.critical_batch:.1f} times the critical batch of {fit.critical_batch:.0f}: "
            f"more examples are spent than steps are saved."
        )
    if rate >= LARGE_STEP * base_rate and not warmup_steps:
        yield f"The rate is {rate / base_rate:.3g} times the base rate: warm up to it."
