"""Steps against examples: what a larger batch saves in time and costs in data, and where it stops paying.

McCandlish, Kaplan, Amodei et al. 2018, "An Empirical Model of Large-Batch Training", arXiv:1812.06162: to reach
a target takes S steps and E = S B examples, with (S/S_min - 1)(E/E_min - 1) = 1. So S = S_min (1 + B_crit/B) and
E = E_min (1 + B/B_crit), where B_crit = E_min/S_min: there both are twice the least that they can be.
"""

import math
from dataclasses import dataclass

import numpy as np

from labutils.theory import checks

# Student's t that leaves 2.5% above it, by degrees of freedom from 1; beyond the last the normal value is near.
_T = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_T_BEYOND = 2.1
_REACH = 1e4  # how far beyond the measured batches the critical one is looked for
_HUBER = 1.345  # in standard deviations: residuals beyond it are weighted down
_LEAST_ROBUST = 5  # points, below which an outlier cannot be told from the curve


@dataclass(frozen=True)
class CriticalBatch:
    """The fitted hyperbola: `critical_batch` and `least_examples` (E_min), in examples; `least_steps` is S_min.

    `interval`: 95% interval of the critical batch; 0 or infinity where the data set no end to it. `batches` are
    the smallest and largest measured. `caution` says what the data do not show, and is empty where they reach
    both ends of the curve.
    """

    critical_batch: float
    least_examples: float
    interval: tuple
    batches: tuple

    @property
    def least_steps(self):
        """S_min: steps to target that no batch, however large, gets below."""
        return self.least_examples / self.critical_batch

    def examples(self, batch):
        """Examples to target at `batch` (a number or an array): E_min (1 + batch/B_crit)."""
        return self.least_examples * (1 + _positive(batch) / self.critical_batch)

    def steps(self, batch):
        """Steps to target at `batch` (a number or an array): S_min (1 + B_crit/batch)."""
        return self.least_steps * (1 + self.critical_batch / _positive(batch))

    @property
    def caution(self):
        """What of the curve is extrapolated; empty where the data reach from half to twice the critical batch."""
        smallest, largest = self.batches
        low, high = self.interval
        if low == 0 and math.isinf(high):
            return "Any critical batch would fit these points: measure batches that are further apart."
        if math.isinf(high):
            return (
                f"The critical batch may lie far beyond the largest batch measured, {largest:,}: all that the data "
                f"say is at least {low:,.0f}. Measure larger batches."
            )
        if low == 0:
            return (
                f"The critical batch may lie far below the smallest batch measured, {smallest:,}: all that the data "
                f"say is at most {high:,.0f}. Measure smaller batches."
            )
        return _extrapolated(self.critical_batch, smallest, largest)


def _extrapolated(critical, smallest, largest):
    """Which ends of a well fitted curve no run has come near to, as a sentence."""
    if critical > largest:
        return f"The critical batch is extrapolated, the largest batch measured is {largest:,}: measure larger ones."
    if critical < smallest:
        return f"The critical batch is extrapolated, the smallest batch measured is {smallest:,}: measure smaller ones."
    if critical > largest / 2:
        return f"The least steps are extrapolated: measure batches up to {2 * critical:,.0f}."
    if critical < smallest * 2:
        return f"The least examples are extrapolated: measure batches down to {max(critical / 2, 1):,.0f}."
    return ""


def critical_batch(batches, steps=None, *, examples=None, dataset_size=None):
    """Fit the hyperbola to runs that reached one target, each at its best learning rate: a CriticalBatch.

    `batches` and either `steps` or `examples`, one per run; several runs at one batch are welcome. Epochs will
    do for examples, if epochs are wanted back. Least squares of the logarithms, since a run is off by a factor
    rather than by a number of steps, with Huber's weights against outliers. The interval holds every critical
    batch whose best fit is not significantly worse (profile likelihood). ValueError for fewer than three batch
    sizes, mixed lengths, batches that are not whole or exceed `dataset_size`, and runs that did not get there.
    """
    batches, examples = _runs(batches, steps, examples, dataset_size)
    logs = np.log(examples)
    grid = np.linspace(math.log(batches.min() / _REACH), math.log(batches.max() * _REACH), 1500)
    weights = np.ones(len(batches))
    for _ in range(20):
        best = _minimum(batches, logs, weights, grid)
        residuals = _residuals(best, batches, logs, weights)[0]
        spread = 1.4826 * np.median(np.abs(residuals))  # that of a normal distribution with this median
        if len(batches) < _LEAST_ROBUST or spread < 1e-9:
            break
        before, weights = weights, np.minimum(1, _HUBER * spread / np.maximum(np.abs(residuals), 1e-12))
        if np.allclose(before, weights, atol=1e-4):
            break
    mean = np.average(logs - np.log1p(batches / math.exp(best)), weights=weights)
    interval = _interval(best, batches, logs, weights, grid)
    return CriticalBatch(math.exp(best), math.exp(mean), interval, (int(batches.min()), int(batches.max())))


def held_out_errors(batches, steps=None, *, examples=None):
    """How far the curve misses each batch size when fitted without it: predicted / measured - 1, an array.

    One value per batch size, smallest first (the geometric mean of its runs is what counts as measured).
    ValueError as for critical_batch; four batch sizes at least.
    """
    batches, examples = _runs(batches, steps, examples, None)
    sizes = np.unique(batches)
    if len(sizes) < 4:
        raise ValueError(f"there are {len(sizes)} batch sizes: hold one out of at least 4, as 3 are needed to fit.")
    errors = []
    for size in sizes:
        held = batches == size
        fit = critical_batch(batches[~held], examples=examples[~held])
        errors.append(fit.examples(size) / np.exp(np.log(examples[held]).mean()) - 1)
    return np.array(errors)


def _runs(batches, steps, examples, dataset_size):
    """Checked arrays of batches and examples to target."""
    if (steps is None) == (examples is None):
        raise ValueError("steps or examples must be given, one of the two: pass for example steps=[900, 500, 300].")
    name, values = ("steps", steps) if examples is None else ("examples", examples)
    batches, values = np.asarray(batches).tolist(), np.asarray(values).tolist()
    if not isinstance(batches, list) or not isinstance(values, list) or len(batches) != len(values):
        raise ValueError(f"batches and {name} must be lists of one length: give both for each run.")
    whole = [int(batch) if isinstance(batch, float) and batch.is_integer() else batch for batch in batches]
    whole = [checks.count("batches", batch, "give the global batch of each run") for batch in whole]
    hint = "leave out runs that did not reach the target"
    values = [checks.number(name, value, hint, positive=True) for value in values]
    if len(set(whole)) < 3:
        raise ValueError(f"there are {len(set(whole))} batch sizes, but a curve needs at least 3: measure more sizes.")
    if dataset_size is not None and max(whole) > checks.count("dataset_size", dataset_size, "count the examples"):
        raise ValueError(
            f"a batch of {max(whole)} is larger than the data of {dataset_size} examples: leave that run out."
        )
    batches, values = np.array(whole, float), np.array(values)
    return batches, values if name == "examples" else values * batches


def _residuals(log_critical, batches, logs, weights):
    """Residuals of the logarithms, a row per critical batch, the least examples chosen best for each."""
    rest = logs - np.log1p(batches * np.exp(-np.atleast_1d(log_critical))[:, None])
    return rest - np.average(rest, axis=1, weights=weights)[:, None]


def _losses(log_critical, batches, logs, weights):
    return _residuals(log_critical, batches, logs, weights) ** 2 @ weights


def _minimum(batches, logs, weights, points):
    """The logarithm of the critical batch that fits best: the best of `points`, then ever finer around it."""
    for _ in range(5):
        place = int(np.argmin(_losses(points, batches, logs, weights)))
        points = np.linspace(points[max(place - 1, 0)], points[min(place + 1, len(points) - 1)], 21)
    return float(points[10])


def _interval(best, batches, logs, weights, grid):
    freedom = len(batches) - 2
    t = _T[freedom - 1] if freedom <= len(_T) else _T_BEYOND
    points = np.sort([*grid, best])
    losses = _losses(points, batches, logs, weights)
    limit = losses.min() * (1 + t**2 / freedom) + 1e-15  # the last: rounding, where the points lie on the curve
    inside = points[losses <= limit]
    low = 0.0 if inside[0] <= grid[0] else math.exp(inside[0])
    high = math.inf if inside[-1] >= grid[-1] else math.exp(inside[-1])
    return low, high


def _positive(batch):
    batch = np.asarray(batch, float)
    if not np.all(batch > 0):
        raise ValueError(f"batch must be above zero, but it is {batch}: give the global batch.")
    return batch if batch.ndim else float(batch)
