"""What to change in a pipeline so that it gives more: each change with the rate that the arithmetic expects of it."""

from dataclasses import replace

from labutils.bench.units import format_si
from labutils.theory.pipeline import Stage
from labutils.train.pipelines.analysis.caching import cache
from labutils.train.pipelines.analysis.case import GAIN, SMALL_CALL, Remedy, call_of
from labutils.train.pipelines.analysis.chain import BATCHES, READS_NESTED

_WAITING_CALLS = 16  # calls at a time where they only wait
_ONE_BY_ONE = {"ReadFile", "ParseSingleExample", "ParseSingleSequenceExample"}  # and Decode...: take no batch
_AUTOTUNE = "num_parallel_calls=tf.data.AUTOTUNE"


def remedies(case):
    """(Remedies, those of the highest expected rate first; sentences about those that cannot be judged)."""
    cached, notes = cache(case)
    found = [*_parallel(case), *_wider(case), *_rewrite(case), *_batch_first(case), *_interleave(case), *cached]
    found = [each for each in found if each.rate >= GAIN * case.now]
    found += _prefetch(case)
    found.sort(key=lambda each: -each.rate)
    return (*found, *_any_order(case)), notes


def _costliest(case, nodes):
    nodes = [node for node in nodes if case.cost(node) > 0]
    return [max(nodes, key=case.cost)] if nodes else []


def _one_at_a_time(case, node):
    return (case.work.stage(node.label).threads or 1) == 1


def _parallel(case):
    maps = [n for n in case.nodes if n.kind == "map" and _one_at_a_time(case, n) and n.label not in case.work.python]
    for node in _costliest(case, maps):
        if node.label in case.look.waits:
            yield _overlap(case, node, "waits, and while one call waits others can")
            continue
        if case.call(node) < SMALL_CALL:
            continue  # to hand such calls to other threads costs as much as they do
        yield Remedy(
            "parallel",
            f"Run {node.label} in parallel.",
            call_of(node, _AUTOTUNE),
            case.rate(case.work.with_stage(node.label, threads=case.work.cores)),
            f"One thread does all of it now, {format_si(case.cost(node), 's')} for an element; "
            f"{case.work.cores} cores can share it.",
        )


def _wider(case):
    """Calls that wait, and are parallel: TensorFlow still runs no more of them than it has threads, one a core."""
    for node in case.nodes:
        threads = case.work.stage(node.label).threads
        if node.kind == "map" and node.label in case.look.waits and 1 < (threads or 1) < _WAITING_CALLS:
            yield _overlap(case, node, f"waits, and TensorFlow's pool lets {threads} calls wait at the same time")


def _overlap(case, node, because):
    return Remedy(
        "overlap-waiting",
        f"Let more calls of {node.label} wait at the same time.",
        call_of(node, f"num_parallel_calls={_WAITING_CALLS}", "use_unbounded_threadpool=True"),
        case.rate(case.work.with_stage(node.label, threads=_WAITING_CALLS)),
        f"It {because}.",
    )


def _rewrite(case):
    held = [node for node in case.nodes if node.label in case.work.python]
    for node in _costliest(case, held):
        if node.kind == "from_generator":
            change = f"Let TensorFlow read what {node.label} makes: the generator gives names or indexes at most."
            code = "tf.data.Dataset.from_tensor_slices(names).map(load, num_parallel_calls=tf.data.AUTOTUNE)"
        else:
            change = f"Write {node.function_name or node.label} in TensorFlow operations, without Python."
            code = call_of(node, _AUTOTUNE if node.kind == "map" else "")
        yield Remedy(
            "rewrite-python",
            change,
            code,
            case.rate(case.work.in_tensorflow(node.label)),
            "Python code runs on one core at a time, whatever num_parallel_calls says. The rate is that of the same "
            "cost on all cores; TensorFlow's operations usually cost less as well.",
        )


def _batch_first(case):
    costs = case.costs
    for node in _costliest(case, [n for n in case.nodes if n.kind == "map" and _takes_batches(n)]):
        batch = _batch_behind(case.nodes, node)
        calls = costs.elements.get(node.label, 0.0)
        if not batch or calls <= 1 or case.call(node) > SMALL_CALL:
            continue
        calling = costs.calling.get(node.label, 0.0)
        cost = max(case.cost(node) - calling * (1 - 1 / calls), case.cost(node) / calls)
        yield Remedy(
            "batch-first",
            f"Batch before {node.label}, if its function also works on a whole batch.",
            f".batch({batch.size}){call_of(node, _AUTOTUNE)}",
            case.rate(case.work.with_stage(node.label, cost=cost, threads=case.work.cores, handing=0.0)),
            f"A call does little: {format_si(case.call(node), 's')}, of which "
            f"{format_si(calling / calls, 's')} only for being called. One call a batch saves {calls - 1:.0f} of them, "
            "and often much of the operations' own overhead, which is not counted here.",
        )


def _takes_batches(node):
    """Nothing is known to speak against it: no Python, no decoding, inputs of one shape."""
    operations = set().union(*(function.operations for function in node.functions))
    single = any(name.startswith("Decode") and name != "DecodeRaw" for name in operations) or operations & _ONE_BY_ONE
    specs = node.inputs[0].dataset._flat_shapes
    return not (node.python or single) and all(shape.is_fully_defined() for shape in specs)


def _batch_behind(nodes, node):
    """The batch that follows a map with nothing but maps between; None for none."""
    for later in nodes[nodes.index(node) + 1 :]:
        if later.kind in BATCHES:
            return later if later.kind == "batch" else None
        if later.kind not in {"map", "prefetch", "take", "repeat"}:
            return None
    return None


def _interleave(case):
    reading = [
        node
        for node in case.nodes
        if node.kind in {"interleave", "flat_map"}
        and _one_at_a_time(case, node)
        and node.label not in case.work.python
        and node.inputs[0].cardinality not in (0, 1)  # one file has nothing to be interleaved with
    ]
    for node in _costliest(case, reading):
        reader = not node.label.startswith(node.kind)
        code = f"tf.data.{node.label}(files, num_parallel_reads=tf.data.AUTOTUNE)"
        waits = node.label in case.look.waits
        threads = _WAITING_CALLS if waits else case.work.cores
        calls = f"num_parallel_calls={threads}" if waits else _AUTOTUNE
        yield Remedy(
            "parallel-interleave",
            f"Read several at a time in {node.label}.",
            code if reader else f".interleave({node.function_name}, cycle_length={threads}, {calls})",
            case.rate(case.work.with_stage(node.label, threads=threads)),
            "It opens one after the other now, and reads them in one thread.",
        )


def _prefetch(case):
    last = case.nodes[-1]
    own_threads = case.work.stages[-1].threads is not None  # of the last stage, or of a prefetch that was added
    if last.kind == "prefetch" or own_threads:
        return
    work = replace(case.work, stages=(*case.work.stages, Stage("prefetch", 0.0, threads=1)))
    yield Remedy(
        "prefetch",
        "Put a prefetch at the end.",
        ".prefetch(tf.data.AUTOTUNE)",
        case.rate(work),
        "The input's own rate stays the same. But the next element is then made while a training step runs: a step "
        "takes the longer of the two instead of their sum, at best half of it.",
    )


def _any_order(case):
    parallel = [node for node in case.nodes if node.calls is not None and not _one_at_a_time(case, node)]
    if parallel and case.options.deterministic is not False and case.work.bound.why != "all cores":
        yield Remedy(
            "any-order",
            "Let elements come in any order, as a last step.",
            call_of(
                parallel[-1], _AUTOTUNE if parallel[-1].kind in {"map", *READS_NESTED} else "", "deterministic=False"
            ),
            case.now,
            "It helps only where some calls take much longer than others, which the rest then need not wait for. Runs "
            "are no longer repeatable.",
        )
