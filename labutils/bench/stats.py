"""The statistics behind a verdict: medians, their intervals, drift, and the ratio of paired timings.

Timings are skewed, spiky and drift, so nothing here assumes a normal distribution where the sample is large
enough to do without one. NumPy and the standard library only.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

# Two-sided 99% points of Student's t for 2 to 8 degrees of freedom.
_T99 = {2: 9.925, 3: 5.841, 4: 4.604, 5: 4.032, 6: 3.707, 7: 3.499, 8: 3.355}
FEWEST_FOR_RANKS = 10


def median_interval(values, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of the median from order statistics, in the unit of `values` (shape (n,), n >= 1).

    Free of any distribution: Le Boudec, *Performance Evaluation of Computer and Communication Systems* (2010),
    theorem 2.1. Where neighbours resemble each other the n values tell less than n independent ones would, and
    the interval widens accordingly (`_inflation`). Below six values no interval reaches 95%: it is the range.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    n = len(ordered)
    outside = _outside(n, confidence)
    outside = max(0, math.floor(n / 2 - (n / 2 - outside) * math.sqrt(_inflation(values))))
    return float(ordered[outside]), float(ordered[n - 1 - outside])


@lru_cache(maxsize=256)
def _outside(n: int, confidence: float) -> int:
    """How many order statistics may be left off at each end: the largest j with 2 P(Bin(n, 1/2) <= j) <= alpha."""
    alpha = 1 - confidence
    if n > 200:
        return math.floor(n / 2 - NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt(n) / 2) - 1
    tail, j = 0, 0
    while True:
        tail += math.comb(n, j)
        if 2 * tail > alpha * 2**n:
            return max(j - 1, 0)
        j += 1


def _inflation(values) -> float:
    """How much wider the squared interval grows for runs: 1 + 2 (r1 + r2 + ...), r_k the correlations of the signs.

    The median's variance depends on how the signs about it correlate (Gastwirth and Rubin 1971). The sum ends
    at the first lag that does not stand clear of chance, in the manner of Geyer's initial sequence (*Practical
    Markov chain Monte Carlo*, 1992), so that independent values pay nothing.
    """
    x = np.asarray(values, dtype=float)
    n = len(x)
    signs = np.sign(x - np.median(x))
    power = float(np.dot(signs, signs))
    total = 1.0
    if n < 20 or power == 0:
        return total
    for lag in range(1, n // 4):
        r = float(np.dot(signs[lag:], signs[:-lag])) / power
        if r < 1.64 / math.sqrt(n):
            break
        total += 2 * r
    return total


def spread(values) -> float:
    """Interquartile range over the median, without unit; inf where the median is 0."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    return float((high - low) / middle) if middle > 0 else math.inf


def drift(values, significance: float = 0.01) -> float:
    """Change from first to last as a share of the median, 0 where no trend stands clear of chance.

    Mann-Kendall test for a trend (Mann 1945) with the Theil-Sen slope (Sen 1968), on the medians of up to 32
    consecutive chunks, so that spikes do not pass for a trend. Fewer than 8 values show none.
    """
    chunks = np.array_split(np.asarray(values, dtype=float), min(32, len(values)))
    y = np.array([np.median(chunk) for chunk in chunks])
    k = len(y)
    middle = float(np.median(y))
    if k < 8 or middle <= 0:
        return 0.0
    i, j = np.triu_indices(k, 1)
    score = float(np.sign(y[j] - y[i]).sum())
    deviation = math.sqrt(k * (k - 1) * (2 * k + 5) / 18)
    if abs(score) / deviation < NormalDist().inv_cdf(1 - significance / 2):
        return 0.0
    return float(np.median((y[j] - y[i]) / (j - i))) * (k - 1) / middle


def centre_and_interval(differences) -> tuple[float, float, float]:
    """Centre of paired differences (shape (n,)) and its 99% interval: (centre, low, high).

    The centre is the Hodges-Lehmann estimate, the median of all pairwise means; the interval inverts Wilcoxon's
    signed-rank test (Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, 3.2 and 3.3). It needs
    differences symmetric about their centre, which drawing by lot who goes first provides, and shrugs off
    spikes. Below ten pairs ranks are too coarse for 99% and Student's t takes over: under spikes it errs
    towards a wide interval. Below three the interval is unbounded.
    """
    d = np.asarray(differences, dtype=float)
    n = len(d)
    if n < 3:
        return (float(np.median(d)) if n else math.nan), -math.inf, math.inf
    i, j = np.triu_indices(n)
    means = (d[i] + d[j]) / 2
    centre = float(np.median(means))
    if n < FEWEST_FOR_RANKS:
        half = _T99[n - 1] * float(np.std(d, ddof=1)) / math.sqrt(n)
        return centre, min(centre, float(np.mean(d)) - half), max(centre, float(np.mean(d)) + half)
    k = signed_rank_cut(n, 0.01)
    ends = np.partition(means, [k, len(means) - 1 - k])
    return centre, float(ends[k]), float(ends[len(means) - 1 - k])


@lru_cache(maxsize=2048)
def signed_rank_cut(n: int, alpha: float) -> int:
    """The largest k with 2 P(T <= k) <= alpha, where T is Wilcoxon's signed-rank statistic of n pairs."""
    if n > 50:
        deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return math.floor(n * (n + 1) / 4 - NormalDist().inv_cdf(1 - alpha / 2) * deviation - 0.5)
    # Exact: the number of subsets of {1..n} by their sum, rank after rank.
    ways = np.zeros(n * (n + 1) // 2 + 1)
    ways[0] = 1
    for rank in range(1, n + 1):
        ways[rank:] += ways[:-rank].copy()
    return int(np.searchsorted(np.cumsum(ways) / 2.0**n, alpha / 2, side="right")) - 1
