"""Which threads run the stages of a pipeline, as TensorFlow has arranged them: it does not keep to what is written."""

from dataclasses import dataclass

from labutils.train.pipelines.analysis.chain import AUTOTUNE, READS_NESTED

_FUSED = {"MapAndBatch": ("batch", "map"), "ShuffleAndRepeat": ("repeat", "shuffle")}
_REMOVED = {"cache", "take", "skip", "repeat"}  # left out: by TensorFlow where they change nothing, and by us
_BEHIND = {"ForeverRepeat", "FiniteRepeat", "Shard", "Prefetch"}  # what may stand between, unwritten


@dataclass(frozen=True)
class Threads:
    """By the label of each stage: how many threads of its own run it; labels without any are missing.

    added: the stages that TensorFlow runs in parallel although it is not written so
    prefetch_added: it has put a prefetch at the end
    """

    count: dict
    added: frozenset = frozenset()
    prefetch_added: bool = False


def arranged(nodes, model, options, cores):
    """The Threads of the stages `nodes`; from TensorFlow's `model` of the running pipeline, where that is at hand."""
    pool = options.threading.private_threadpool_size or cores
    if model is not None:
        found = {}
        try:
            root = model.nodes[model.output]
            top = root.inputs[0] if root.name == "Root" else model.output
            added = _prefetch_added(nodes[-1], model.nodes[top])
            _walk(nodes[-1], model.nodes[top].inputs[0] if added else top, model.nodes, found)
            return _threads(nodes, found, pool, added)
        except (LookupError, ValueError):  # it has arranged the stages in a way that is not known here
            pass
    return _threads(nodes, {}, pool, may_add_prefetch(options) and nodes[-1].kind != "prefetch")


def _threads(nodes, found, pool, prefetch_added):
    count, added = {}, set()
    for node in nodes:
        calls = found.get(node.label, node.calls)
        if node.kind == "prefetch":
            count[node.label] = 1
        elif calls is not None:
            calls = pool if calls == AUTOTUNE else calls
            unbounded = node.kind in READS_NESTED or getattr(node.dataset, "_use_unbounded_threadpool", False)
            # More calls than the pool has threads wait for one: they do not even sleep at the same time.
            count[node.label] = max(1, calls if unbounded else min(calls, pool))
            if node.calls is None and node.kind != "batch" and count[node.label] > 1:
                added.add(node.label)
    return Threads(count, frozenset(added), prefetch_added)


def _prefetch_added(last, figures):
    return figures.name == "Prefetch" and last.kind != "prefetch"


def may_add_prefetch(options):
    """TensorFlow adds a prefetch unless told otherwise."""
    chosen = options.experimental_optimization
    tuned = options.autotune.enabled is not False
    return tuned and chosen.inject_prefetch is not False and chosen.apply_default_optimizations is not False


def _walk(node, number, running, found):
    """Note the parallel calls of `node`, which TensorFlow runs as its stage `number`, and of what feeds it."""
    figures = running[number]
    if figures.name in _BEHIND and node.kind not in figures.name.lower():
        return _walk(node, figures.inputs[0], running, found)
    if figures.name in _FUSED and node.kind == _FUSED[figures.name][0]:
        parallel = _parallelism(figures)
        for kind in _FUSED[figures.name]:
            while node.kind != kind:  # what was between them has been removed
                (node,) = node.inputs
            if parallel:
                found[node.label] = parallel
            above, (node,) = node, node.inputs or (None,)
        node = above
    elif node.kind in _REMOVED and node.kind not in figures.name.lower():
        return _walk(*node.inputs, number, running, found)
    elif node.kind in {"map", "batch"} and node.kind not in figures.name.lower():
        raise ValueError(node.label)
    elif parallel := _parallelism(figures):
        found[node.label] = parallel
    nested = node.kind in READS_NESTED
    for below, its in zip(node.inputs, figures.inputs[:1] if nested else figures.inputs, strict=False):
        if its in running:
            _walk(below, its, running, found)
    return None


def _parallelism(figures):
    """Calls at a time, as tuned until now; None for a stage that has no such parameter."""
    return next((round(each.state_value) for each in figures.parameters if each.name == "parallelism"), None)
