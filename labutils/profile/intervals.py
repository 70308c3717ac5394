"""Sets of moments as sorted, disjoint intervals: NumPy arrays of shape (n, 2), int64, each row [start, end)."""

import numpy as np

NONE = np.zeros((0, 2), np.int64)


def union(starts, ends):
    """The moments that lie in at least one of the intervals, given in any order and overlapping as they like."""
    starts, ends = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    kept = ends > starts
    starts, ends = starts[kept], ends[kept]
    if not len(starts):
        return NONE
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    first = np.concatenate(([True], starts[1:] > ends[:-1]))
    last = np.concatenate((first[1:], [True]))
    return np.stack((starts[first], ends[last]), axis=1)


def merge(*sets):
    """The moments of any of the sets."""
    every = np.concatenate([NONE, *sets])
    return union(every[:, 0], every[:, 1])


def without(moments, others):
    """The moments that are not among the others."""
    if not len(moments) or not len(others):
        return moments
    cuts = np.unique(np.concatenate((moments.ravel(), others.ravel())))
    pieces = np.stack((cuts[:-1], cuts[1:]), axis=1)
    inside = contains(moments, pieces[:, 0]) & ~contains(others, pieces[:, 0])
    return union(pieces[inside, 0], pieces[inside, 1])


def both(moments, others):
    """The moments that are in both sets."""
    return without(moments, without(moments, others))


def contains(moments, times):
    """Whether each of the times is one of the moments."""
    place = np.searchsorted(moments[:, 0], times, side="right") - 1
    return (place >= 0) & (times < moments[np.maximum(place, 0), 1]) if len(moments) else np.zeros(len(times), bool)


def covered(moments, times):
    """How much of the set lies before each of the times."""
    times = np.asarray(times, np.int64)
    if not len(moments):
        return np.zeros(len(times), np.int64)
    before = np.concatenate(([0], np.cumsum(moments[:, 1] - moments[:, 0])))
    place = np.searchsorted(moments[:, 0], times, side="right") - 1
    inside = np.clip(times - moments[np.maximum(place, 0), 0], 0, (moments[:, 1] - moments[:, 0])[np.maximum(place, 0)])
    return np.where(place < 0, 0, before[np.maximum(place, 0)] + inside)


def within(moments, windows):
    """How much of the set lies in each window, a row [start, end)."""
    windows = np.asarray(windows, np.int64).reshape(-1, 2)
    return covered(moments, windows[:, 1]) - covered(moments, windows[:, 0])


def total(moments):
    """How long the set is."""
    return int((moments[:, 1] - moments[:, 0]).sum())
