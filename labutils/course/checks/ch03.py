"""Checks of lab 03: batch and rate for more devices, a critical batch, a forgotten rate, a schedule that ends."""

import functools
import math
import numbers

import keras
import numpy as np

from labutils.course.verdict import called, exercise, right, wrong
from labutils.theory.scaling import critical_batch
from labutils.train import data, sweep

DEVICES, LEAST_SHARE = 8, 16  # devices, and the fewest examples that keep one busy
BASE_BATCH, BASE_RATE, TARGET = 32, 1 / 16, 0.2
MOST_STEPS, MOST_EPOCHS = 100, 12
EPOCHS, NEAR = 6, 1.6  # of the script to mend; runs of one job that differ in the seed alone are within 1.25 times
WIDER = 1.25  # by which a fit's interval is widened on either side: a value read off a picture will do
NOISE, NOISY_TARGET = 0.3, 0.6


@exercise
def choice(global_batch, rate, warmup_steps=0):
    """A global batch, a rate and steps of warm-up with which 8 devices reach the target within both budgets."""
    if problem := _not_a_batch(global_batch) or _not_positive("learning rate", rate):
        return wrong(problem)
    settings = [sweep.Setting(int(global_batch), rate, seed, "sgd", warmup_steps, BASE_RATE) for seed in range(3)]
    runs = sweep.train(settings, TARGET, epochs=3 * MOST_STEPS, most_steps=3 * MOST_STEPS, cache=False).values()
    steps = float(np.median([run.steps[-1] if run.outcome == "reached" else math.inf for run in runs]))
    if math.isinf(steps):
        return wrong(_why_not(runs))
    epochs = steps * global_batch / len(data.digits().x_train)
    seen = f"The target takes {steps:.0f} steps, which are {epochs:.1f} epochs"
    if steps > MOST_STEPS:
        return wrong(f"{seen}: more than {MOST_STEPS} steps. Each step is too short for so few of them.")
    if epochs > MOST_EPOCHS:
        return wrong(f"{seen}: more than {MOST_EPOCHS} epochs. So large a batch saves too few steps for its examples.")
    return right(f"{seen}: within both budgets, with {int(global_batch) // DEVICES} examples a device and step.")


def _not_a_batch(batch):
    if isinstance(batch, bool) or not isinstance(batch, numbers.Real) or not float(batch).is_integer():
        return f"A global batch is a whole number, not {batch!r}."
    samples = len(data.digits().x_train)
    if batch % DEVICES:
        return f"{DEVICES} devices cannot share a batch of {batch} equally."
    if batch < DEVICES * LEAST_SHARE:
        return f"A batch of {batch} leaves {batch // DEVICES} examples to a device; it needs {LEAST_SHARE}."
    return f"A batch of {batch} is more than there are examples: {samples}." if batch > samples else ""


def _not_positive(name, value):
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < value < math.inf:
        return f"A {name} is a number above 0, not {value!r}."
    return ""


def _why_not(runs):
    lost = [run for run in runs if run.outcome != "reached"]
    loss = max(run.losses[-1] for run in lost)
    start = f"{len(lost)} of 3 runs are not there after {3 * MOST_STEPS} steps"
    if loss < 1:
        return f"{start}: their loss is down to {loss:.2f} and falls too slowly. Take longer steps."
    if all(run.setting.rate <= BASE_RATE for run in lost):
        return f"{start}: their loss is still {loss:.2f}. Take longer steps."
    return f"{start}: the training diverged, to a loss of {loss:.3g}. The steps are too long."


def noisy_digits(share=NOISE, seed=0):
    """The digits with a share of the training labels drawn at random; the test labels stay right."""
    split, random = data.digits(), np.random.default_rng(seed)
    labels = split.y_train.copy()
    drawn = random.random(len(labels)) < share
    labels[drawn] = random.integers(0, split.classes, drawn.sum())
    return data.Split("digits with noisy labels", split.x_train, labels, split.x_test, split.y_test)


@exercise
def critical(swept, answer):
    """`answer` is the critical batch of the job that was measured in `swept`, a Sweep."""
    if not isinstance(swept, sweep.Sweep):
        return wrong(f"The first answer is what sweep() returns, not {type(swept).__name__}.")
    if problem := _not_positive("critical batch", answer):
        return wrong(problem)
    points = [(batch, steps) for batch, _, each in swept.best() for steps in each if steps == steps]
    fit = critical_batch(*zip(*points, strict=True))
    if fit.interval[0] == 0 or math.isinf(fit.interval[1]):
        return wrong(f"Your runs do not settle it. {fit.caution}")
    low, high = fit.interval[0] / WIDER, fit.interval[1] * WIDER
    if low <= answer <= high:
        return right(
            f"The runs put it at {fit.critical_batch:.0f}, and anywhere from {fit.interval[0]:.0f} to "
            f"{fit.interval[1]:.0f} would fit them: one figure without its interval says too much."
        )
    saved = 1 - fit.steps(2 * answer) / fit.steps(answer)
    seen = f"From a batch of {answer:.4g} to twice that, your runs need {saved:.0%} fewer steps"
    if answer < low:
        return wrong(f"{seen}. That is nearly half: the critical batch is larger.")
    return wrong(f"{seen}. At the critical batch it would be 25%: it is smaller than that.")


@exercise
def mended(answer):
    """`answer(replicas)` trains 6 epochs with 32 examples a replica and step, and returns what fit returns."""
    losses = {}
    for replicas in (4, 1):
        history = called(answer, replicas)
        if not isinstance(history, keras.callbacks.History):
            return wrong(f"Return what fit returns, not {type(history).__name__}.")
        if problem := _another_job(history.model, replicas):
            return wrong(problem)
        losses[replicas] = _test_loss(history.model)
        if problem := _far(losses[replicas], replicas):
            return wrong(problem)
    return right(f"After {EPOCHS} epochs the test loss is {losses[1]:.2f} on 1 replica and {losses[4]:.2f} on 4.")


def _another_job(model, replicas):
    """What else than the rate was changed; empty where nothing was."""
    copies = model.distribute_strategy.num_replicas_in_sync
    if copies != replicas:
        return f"The model lives on {copies} replica(s), not {replicas}."
    steps, batch = int(model.optimizer.iterations.numpy()), BASE_BATCH * replicas
    expected = EPOCHS * len(data.digits().x_train) // batch
    if steps == expected:
        return ""
    return (
        f"On {replicas} replica(s) it took {steps} steps; {EPOCHS} epochs at a global batch of {batch} are {expected}. "
        "Keep batch and epochs, and change the rate."
    )


def _far(loss, replicas):
    """What is wrong with a loss that is not near that of the job as it was on one replica."""
    usual = _usual_loss()
    if loss <= usual * NEAR and (replicas > 1 or loss >= usual / NEAR):
        return ""
    seen = (
        f"On {replicas} replica(s) the test loss is {loss:.3g} after {EPOCHS} epochs; on one device it was {usual:.2f}"
    )
    if replicas == 1:
        return f"{seen}. On one replica the job must stay what it was."
    return f"{seen}. Its steps are too short, or so long that it diverges: which rate does your code arrive at?"


@functools.cache
def _usual_loss():
    settings = [sweep.Setting(BASE_BATCH, BASE_RATE, seed) for seed in range(3)]
    runs = sweep.train(settings, target=None, epochs=EPOCHS, cache=False).values()
    return float(np.median([run.losses[-1] for run in runs]))


def _test_loss(model):
    digits = data.digits()
    logits = model(digits.x_test, training=False)
    return float(np.mean(keras.losses.sparse_categorical_crossentropy(digits.y_test, logits, from_logits=True)))


@exercise
def schedule(answer):
    """`answer(total, warmup, highest)` is a schedule: a line up to `highest`, then a cosine to 0 at the last step."""
    for total, warmup, highest in ((100, 20, 0.5), (400, 200, 0.1), (60, 6, 2.0)):
        rate = called(answer, total, warmup, highest)
        if not callable(rate):
            return wrong(f"A schedule is called with a step; yours is {type(rate).__name__}.")
        rates = np.array([float(rate(step)) for step in range(total + 1)]) / highest
        if problem := _misshapen(rates, total, warmup):
            return wrong(f"With {total} steps, {warmup} of them warm-up, {problem}")
    return right("Up in a line, down in a cosine, and at 0 with the last step: every step of the run is used.")


def _misshapen(rates, total, warmup):
    """What is wrong with rates, given in parts of the highest, at the steps 0 to `total`."""
    if not np.isfinite(rates).all() or rates.min() < -1e-6:
        return "the rate is not a number from 0 at some step."
    if abs(rates[warmup] - 1) > 0.02:
        return f"the rate at step {warmup} is {rates[warmup]:.2f} of the highest. There warm-up should end."
    if rates[0] > 0.5 or abs(rates[warmup // 2] - (rates[0] + 1) / 2) > 0.1:
        return "the rate does not grow in a line from a small one to the highest."
    if rates[-2] > 0.02:
        return f"{rates[-2]:.0%} of the highest rate is left at the last step. From when does decay_steps count?"
    middle, late = (warmup + total) // 2, total - (total - warmup) // 10
    if np.any(np.diff(rates[warmup:]) > 1e-6):
        return "the rate grows again after warm-up."
    if rates[late] < 0.005:
        return f"the rate is at 0 by step {late}: the steps after it train nothing."
    if abs(rates[middle] - 0.5) > 0.1:
        return f"half-way down, at step {middle}, the rate is {rates[middle]:.2f} of the highest; a cosine has 0.5."
    return ""
