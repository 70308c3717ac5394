"""The learning rate when the batch changes, and where the rules for it stop.

A batch k times as large takes 1/k as many steps over the same examples. The linear rule makes each step k times
as long to get as far (Goyal et al. 2017, "Accurate, Large Minibatch SGD", arXiv:1706.02677, for SGD); the
square-root rule keeps the noise of an adaptive optimizer's updates as it was (Malladi et al. 2022, "On the SDEs
and Scaling Rules for Adaptive Gradient Algorithms", NeurIPS, for Adam and RMSprop). The noise scale and the
critical batch stand in modules of their own and can be had from here too.
"""

import math

import numpy as np

from labutils.theory import checks
from labutils.theory.accumulation import Accumulation, accumulation, mean_of_means
from labutils.theory.critical_batch import CriticalBatch, critical_batch, held_out_errors
from labutils.theory.noise import NoiseScale, noise_scale

__all__ = [
    "RULES",
    "Accumulation",
    "CriticalBatch",
    "NoiseScale",
    "accumulation",
    "critical_batch",
    "held_out_errors",
    "mean_of_means",
    "noise_scale",
    "rule_breaks_at",
    "scale_learning_rate",
    "steps_per_epoch",
    "warmup_schedule",
]

RULES = {"linear": 1.0, "sqrt": 0.5, "none": 0.0}  # the power of new_batch / batch that the rate grows by


def scale_learning_rate(lr, batch, new_batch, rule="linear"):
    """The learning rate for `new_batch`, given `lr` that works at `batch`: both are global batches.

    linear  lr * new_batch / batch           SGD         (Goyal et al. 2017)
    sqrt    lr * sqrt(new_batch / batch)     Adam        (Malladi et al. 2022)
    none    lr                               for comparison

    `batch` is the one that `lr` was tuned with, on however many devices: counting devices instead scales twice
    when there were several already. ValueError for a rate not above zero, batches that are not whole, or an
    unknown rule.
    """
    lr = checks.number("lr", lr, "give the learning rate that works at the old batch", positive=True)
    batch = checks.count("batch", batch, "give the global batch that lr was tuned with")
    new_batch = checks.count("new_batch", new_batch, "give the global batch that you will train with")
    return lr * (new_batch / batch) ** RULES[checks.one_of("rule", rule, RULES)]


def warmup_schedule(lr, new_lr, warmup_steps):
    """A function of the step: gradual warm-up from `lr` at step 0 to `new_lr` at `warmup_steps`, then constant.

    The rate grows by the same amount each step (Goyal et al. 2017, who warm up over 5 epochs: warmup_steps =
    5 * steps_per_epoch(...)). The function takes a step or an array of them. ValueError for negative rates or
    steps that are not whole; 0 steps mean no warm-up.
    """
    lr = checks.number("lr", lr, "give the rate to start from, often the one of the small batch")
    new_lr = checks.number("new_lr", new_lr, "give the scaled rate to arrive at", positive=True)
    hint = "give the steps that warm-up lasts, for example 5 epochs' worth"
    warmup_steps = checks.count("warmup_steps", warmup_steps, hint, least=0)

    def rate(step):
        steps = np.asarray(step, float)
        if not np.all(steps >= 0):
            raise ValueError(f"step must be zero or more, but it is {step}: count steps from 0.")
        done = np.minimum(steps / warmup_steps, 1.0) if warmup_steps else np.ones_like(steps)
        rates = lr + (new_lr - lr) * done
        return rates if rates.ndim else float(rates)

    return rate


def steps_per_epoch(dataset_size, batch, drop_remainder=True):
    """Steps that one pass over the data takes; the last, smaller batch counts unless `drop_remainder`.

    ValueError where the batch is larger than the data, or either is no whole number from 1.
    """
    dataset_size = checks.count("dataset_size", dataset_size, "count the examples in the training data")
    batch = checks.count("batch", batch, "give the global batch")
    if batch > dataset_size:
        raise ValueError(
            f"batch is {batch}, but there are {dataset_size} examples: choose a batch of at most {dataset_size}."
        )
    return dataset_size // batch if checks.flag("drop_remainder", drop_remainder) else -(-dataset_size // batch)


def rule_breaks_at(batches, errors, stds, baseline, deviations=2.0):
    """The smallest batch above `baseline` from which on the error stays above the baseline's, or None.

    `errors` are means over runs, `stds` the runs' standard deviations. An error counts as above where it
    exceeds the baseline's by more than `deviations` times the standard deviation of a difference of two runs,
    sqrt(std**2 + baseline_std**2). ValueError for mixed lengths or a baseline that is not among the batches.
    """
    if not len(batches) == len(errors) == len(stds):
        raise ValueError(
            f"batches, errors and stds must be equally long, but they have {len(batches)}, {len(errors)} and "
            f"{len(stds)} values: give one of each per batch."
        )
    deviations = checks.number("deviations", deviations, "2 is usual, 3 is strict")
    rows = {batch: (error, std) for batch, error, std in zip(batches, errors, stds, strict=True)}
    if baseline not in rows:
        raise ValueError(f"baseline is {baseline}, which is not measured: choose one of {', '.join(map(str, rows))}.")
    base_error, base_std = rows[baseline]
    found = None
    for batch in sorted((batch for batch in rows if batch > baseline), reverse=True):
        error, std = rows[batch]
        if not error - base_error > deviations * math.hypot(std, base_std):
            break
        found = batch
    return found
