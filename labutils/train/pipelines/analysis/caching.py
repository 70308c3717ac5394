"""Where in a pipeline a cache would pay: behind what is costly and the same in every epoch, if memory holds it."""

import psutil

from labutils.bench.units import format_si
from labutils.train.pipelines.analysis.case import GAIN, Remedy, call_of
from labutils.train.pipelines.analysis.chain import BATCHES, upstream

_CACHE_READ, _ASKING = 1.5e-6, 50e-6  # s to take an element from a cache in memory, and for an output to be asked for
_KEPT = {"map", "filter", "flat_map", "interleave", "from_generator", "batch", "padded_batch"}  # worth a cache
_KEPT_SHARE = 0.05  # of the work, below which a stage is not
_MEMORY_SHARE = 3  # of the memory that is free, a cache gets at most one part in so many


def cache(case):
    """The remedy to keep what is the same in every epoch, in a list; and sentences where that cannot be judged."""
    prefix, python = _same_each_epoch(case.nodes)
    unseen = [_not_seen(case, python)] if python and case.work.share([python.label]) > _KEPT_SHARE else []
    costly = [node for node in prefix if node.kind in _KEPT and case.work.share([node.label]) > _KEPT_SHARE]
    if not costly:
        return [], unseen
    found, notes = _behind(case, costly[-1])
    return found, notes + unseen


def _not_seen(case, python):
    """What Python does cannot be seen, and a cache behind what it draws would keep the first epoch's."""
    share = case.work.share([python.label])
    return (
        f"{python.label} calls Python, and whether that draws at random cannot be seen. Compare two epochs: only if "
        f"they are alike may a cache() stand behind it, which would spare {share:.0%} of the work."
    )


def _behind(case, last):
    """The same for a cache behind the stage `last`."""
    kept = {each.label for each in (*upstream(last), last)}
    reading = _CACHE_READ * case.costs.elements.get(last.label, 1.0) + _ASKING
    rate = case.rate(case.work.without(kept, reading))
    if rate < GAIN * case.now:
        return [], []
    size = (case.look.costs.bytes if case.look.costs else {}).get(last.label, 0.0)
    if last.cardinality < 0 or not size:
        return [], [
            f"cache() behind {last.label} would spare later epochs {case.work.share(kept):.0%} of the work. Whether it "
            "fits in memory cannot be told, as the number of elements is not known: count them once."
        ]
    needed, free = size * last.cardinality, psutil.virtual_memory().available
    if needed > free / _MEMORY_SHARE:
        return [], [
            f"cache() behind {last.label} would spare later epochs {case.work.share(kept):.0%} of the work, but takes "
            f"{format_si(needed, 'bytes')} of memory, of which {format_si(float(free), 'bytes')} are free."
        ]
    existing = next((node for node in upstream(last) if node.kind == "cache"), None)
    shuffled = any(node.kind == "shuffle" for node in upstream(last))
    return [
        Remedy(
            "cache",
            f"{'Move the cache()' if existing else 'Keep the result in a cache()'} behind {last.label}"
            f"{', and the shuffle() behind the cache' if shuffled else ''}.",
            f"{_made(last)}.cache(){'.shuffle(buffer)' if shuffled else ''}",
            rate,
            f"It seems the same in every epoch. From the second epoch on {case.work.share(kept):.0%} of the work is "
            f"spared, for {format_si(needed, 'bytes')} of memory.",
        )
    ], []


def _made(node):
    """The line that makes a stage, or its name where a function of TensorFlow makes it."""
    return call_of(node) if node.label.startswith(node.kind) else node.label


def _same_each_epoch(nodes):
    """The stages before the first that differs in every epoch, or is endless; and the one whose Python may differ."""
    prefix, shuffled = [], False
    main = [*_main_path(nodes[-1])]
    for node in main:
        shuffled = shuffled or node.kind == "shuffle"
        if any(each.draws for each in (*upstream(node), node)) or node.kind in {"repeat", "sample_from_datasets"}:
            break
        if node.kind in BATCHES and shuffled:
            break  # its batches are put together anew in every epoch
        if node.python:
            return prefix, node
        prefix.append(node)
    return prefix, None


def _main_path(node):
    """From the source to `node`, by the first input of each stage."""
    if node.inputs:
        yield from _main_path(node.inputs[0])
    yield node
