"""Seconds to a target: steps that the batch calls for, times the seconds that a step is predicted to take.

More replicas make steps of a larger batch, of which fewer are needed, but never less than the least; and
each step exchanges gradients. The one is statistics, the other hardware: both must pay for the time to fall.
"""

import numpy as np

from labutils.theory import checks
from labutils.theory.critical_batch import CriticalBatch
from labutils.theory.efficiency import weak_scaling
from labutils.theory.timeline import predict_step


def time_to_target(fit, spec):
    """Seconds until training reaches the target: fit.steps(spec's global batch) * predicted step time.

    `fit` is a CriticalBatch, `spec` a StepSpec. ValueError for anything else.
    """
    return _checked(fit).steps(spec.global_batch) * predict_step(spec).step_time


def times_to_target(fit, spec, replica_counts):
    """Seconds to the target for each number of replicas, the batch per replica kept: a list.

    ValueError for a bad number of replicas, or a `fit` that is no CriticalBatch.
    """
    steps = _checked(fit).steps
    return [steps(timeline.spec.global_batch) * timeline.step_time for timeline in weak_scaling(spec, replica_counts)]


def epochs_to_target(fit, batch, dataset_size):
    """Passes over the data until the target: the examples that `batch` calls for over `dataset_size`.

    `fit` must be in examples. ValueError for a batch that is not whole or larger than the data.
    """
    batch = checks.count("batch", batch, "give the global batch")
    dataset_size = checks.count("dataset_size", dataset_size, "count the examples in the training data")
    if batch > dataset_size:
        raise ValueError(f"batch is {batch}, but there are {dataset_size} examples: choose a smaller batch.")
    return _checked(fit).examples(batch) / dataset_size


def typical(to_target):
    """The median over seeds, the last axis, of steps or examples to the target; nan is a run that did not get there.

    It is nan where half of the runs or more did not get there: a median of the others would hide them.
    """
    middle = np.median(np.where(np.isnan(to_target), np.inf, to_target), axis=-1)
    return np.where(np.isinf(middle), np.nan, middle)


def _checked(fit):
    if not isinstance(fit, CriticalBatch):
        raise ValueError(f"fit must be a CriticalBatch, but it is {fit!r}: write critical_batch(batches, steps).")
    return fit
