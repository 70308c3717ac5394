"""The gradient noise scale: from how large a batch on the gradient is hardly noise any more.

McCandlish, Kaplan, Amodei et al. 2018, "An Empirical Model of Large-Batch Training", arXiv:1812.06162. A batch
of B examples gives the true gradient G plus noise, so that E|G_B|² = |G|² + tr(Σ)/B, with Σ the covariance of
one example's gradient. The simple noise scale tr(Σ)/|G|² is the batch at which both parts are equal.
"""

import math
from dataclasses import dataclass

import numpy as np

from labutils.theory import checks


@dataclass(frozen=True)
class NoiseScale:
    """An estimate of the simple noise scale: `noise_scale` in examples, nan where there is none to be had.

    `gradient_norm_squared` estimates |G|² and `variance` tr(Σ), without bias; `error` is one standard error of
    the noise scale, nan where it cannot be told. `caution` says why the estimate is not to be trusted, and is
    empty where it is.
    """

    gradient_norm_squared: float
    variance: float
    error: float
    measurements: int
    caution: str

    @property
    def noise_scale(self):
        """tr(Σ)/|G|², in examples."""
        return _ratio(self.variance, self.gradient_norm_squared)

    @property
    def trusted(self):
        """Whether there is nothing to be cautious of."""
        return not self.caution


def noise_scale(small_norms_squared, big_norms_squared, small_batch, big_batch):
    """Estimate the simple noise scale from squared gradient norms at two batch sizes: a NoiseScale.

    Each argument of norms is a number or a list, one per measurement with the weights as they were: |G|² of
    the mean gradient over `small_batch` and over `big_batch` examples. In data parallelism both are at hand:
    before the all-reduce and after it. (McCandlish et al. 2018, appendix A.1.)

        |G|²  = (B_big |G_big|² - B_small |G_small|²) / (B_big - B_small)
        tr(Σ) = (|G_small|² - |G_big|²) / (1/B_small - 1/B_big)

    Each is averaged over the measurements before they are divided: a mean of ratios would be biased. ValueError
    for norms that are negative or differ in number, and unless small_batch is below big_batch.
    """
    small_batch = checks.count("small_batch", small_batch, "give the examples behind each small gradient")
    big_batch = checks.count("big_batch", big_batch, "give the examples behind each big gradient")
    if small_batch >= big_batch:
        raise ValueError(
            f"small_batch is {small_batch} and big_batch {big_batch}: give two sizes, the smaller one first, for "
            f"example one replica's batch and the global one."
        )
    small, big = _norms("small_norms_squared", small_norms_squared), _norms("big_norms_squared", big_norms_squared)
    if len(small) != len(big):
        raise ValueError(
            f"there are {len(small)} small norms and {len(big)} big ones: give one of each per measurement, "
            f"averaging the replicas' small ones."
        )
    signal = (big_batch * big - small_batch * small) / (big_batch - small_batch)
    variance = (small - big) / (1 / small_batch - 1 / big_batch)
    error = _jackknife(variance, signal)
    caution = _caution(signal, variance)
    return NoiseScale(float(signal.mean()), float(variance.mean()), error, len(signal), caution)


def _norms(name, values):
    hint = "give squared norms of gradients"
    return np.array([checks.number(name, value, hint) for value in np.atleast_1d(np.asarray(values, object))])


def _ratio(variance, signal):
    return variance / signal if signal > 0 and variance >= 0 else math.nan


def _jackknife(variance, signal):
    """Standard error of a ratio of means, from leaving one measurement out at a time."""
    count = len(signal)
    if count < 2:
        return math.nan
    others = signal.sum() - signal
    if not np.all(others > 0):
        return math.nan
    rest = (variance.sum() - variance) / others
    return float(np.sqrt((count - 1) / count * ((rest - rest.mean()) ** 2).sum()))


def _caution(signal, variance):
    mean = signal.mean()
    if not mean > 0:
        return (
            f"The estimate of |G|² is {mean:.3g}, not above zero, so there is no noise scale: the gradient drowns in "
            f"noise at these batches. Average over more measurements or take a larger big batch."
        )
    if variance.mean() < 0:
        return (
            f"The estimate of tr(Σ) is {variance.mean():.3g}, below zero, so there is no noise scale: the two batches "
            f"are too alike. Average over more measurements or take a smaller small batch."
        )
    if len(signal) < 2:
        return "One measurement has no spread to judge it by: average over several."
    error = signal.std(ddof=1) / math.sqrt(len(signal))
    if mean < 2 * error:
        return (
            f"|G|² is {mean:.3g} with a standard error of {error:.2g}, so it may as well be zero and the noise scale "
            f"anything: average over more measurements."
        )
    return ""
