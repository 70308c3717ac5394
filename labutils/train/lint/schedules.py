"""Whether the learning rate's schedule ends when the run does."""

import keras

from labutils.train.lint.finding import Finding


def check_schedule(optimizer, samples, batch_size, steps_per_epoch, epochs, drop_remainder):
    """Nothing unless `epochs` is given: how long a run is cannot be guessed."""
    schedule, end = _decay(getattr(optimizer, "inner_optimizer", optimizer))
    per_epoch = steps_per_epoch or _steps(samples, batch_size, drop_remainder)
    if not schedule or not per_epoch or not epochs:
        return []
    steps = per_epoch * epochs
    last, highest = float(schedule(steps - 1)), float(schedule(end - schedule.decay_steps))
    if end <= steps or last <= 0.01 * highest or float(schedule(end)) >= last:
        return []
    return [
        Finding(
            "schedule-outlives-run",
            f"{type(schedule).__name__} ends at step {end} and the run at step {steps}: its last rate is {last:.3g}, "
            f"{last / highest:.0%} of the highest.",
            "Give decay_steps the steps of the run, less those of warm-up.",
            "decay-after-warmup",
        )
    ]


def _decay(optimizer):
    """The schedule of an optimizer and the step at which it ends; (None, None) where there is no end."""
    # Keras shows the rate of the moment; the schedule behind it has no public name.
    schedule = getattr(optimizer, "_learning_rate", None)
    if isinstance(schedule, keras.optimizers.schedules.CosineDecay):
        return schedule, schedule.decay_steps + (schedule.warmup_steps if schedule.warmup_target is not None else 0)
    if isinstance(schedule, keras.optimizers.schedules.PolynomialDecay) and not schedule.cycle:
        return schedule, schedule.decay_steps
    return None, None


def _steps(samples, batch_size, drop_remainder):
    if not samples or not batch_size:
        return None
    return samples // batch_size if drop_remainder else -(-samples // batch_size)
