"""A pipeline's steady state in the theory's terms, from what a look at it has shown."""

from dataclasses import replace

from labutils.theory.pipeline import Stage
from labutils.train.pipelines.analysis.case import SMALL_CALL
from labutils.train.pipelines.analysis.work import THE_LOCK, Work

_CORES_WITHOUT, _MUCH = 1.4, 1.25  # cores in use, and rate over that of the lock, from which nothing can have held it
_MORE = 0.15  # of the work, from which what threads need in addition counts


def steady_work(nodes, look, costs, cores):
    """The steady state in the theory's terms: what a full cache spares costs nothing."""
    stages = [
        Stage(
            node.label,
            0.0 if node.label in look.stored else costs.seconds.get(node.label, 0.0),
            look.threads.count.get(node.label),
            node.label in look.waits,
        )
        for node in nodes
    ]
    if look.threads.prefetch_added:
        stages.append(Stage("prefetch (added by tf.data)", 0.0, threads=1))
    held = {node.label for node in nodes if node.python and node.label not in look.waits}
    work = _in_parallel(Work(tuple(stages), cores, frozenset(held)), nodes, look, costs)
    if work.bound.why == THE_LOCK and look.used > _CORES_WITHOUT and look.rate > _MUCH * work.bound.rate:
        return replace(work, python=frozenset())  # large operations of NumPy and files let go of the lock
    return work


def _in_parallel(work, nodes, look, costs):
    """The Work with what the running pipeline needs more of the cores than the one thread that was accounted.

    For short calls that is handing them to other threads, which a batch may save; long ones rather slow each other
    down, as cores share their caches and their memory, and nothing saves that.
    """
    more = look.cpu - (costs.total - costs.waiting)
    handed = [
        node.label
        for node in nodes
        if node.functions and node.label in look.threads.count and node.label not in look.stored
    ]
    calls = {label: costs.elements.get(label, 0.0) for label in handed}
    seconds = {label: work.stage(label).cost for label in handed}
    if not more > _MORE * costs.total or not sum(calls.values()) or not sum(seconds.values()):
        return work
    if sum(seconds.values()) < SMALL_CALL * sum(calls.values()):
        return replace(work, handing={label: more * calls[label] / sum(calls.values()) for label in handed})
    slower = 1 + more / sum(seconds.values())
    for label in handed:
        work = work.with_stage(label, cost=seconds[label] * slower)
    return work
