"""Known traps of tf.data, recognised in a pipeline: from its stages alone, or with what a look at it has shown."""

import math
import re

from labutils.bench.units import format_si
from labutils.train.lint.finding import Finding, listed
from labutils.train.pipelines.analysis.chain import ENDLESS, upstream
from labutils.train.pipelines.analysis.copies import is_written
from labutils.train.pipelines.analysis.threads import may_add_prefetch

_INTERNAL = re.compile(
    r"\{\{[^}]*\}\}\s*|\[Op:\w+\].*|name:\s*$|"
    r"Error in user-defined function passed to \S+ transformation with iterator: Iterator::\S+: "
)
_NOTICED = 0.05  # share of the work from which Python code matters
_LATE = 5.0  # times the steady time of an element that a filling buffer may add to the first one
_SOONEST = 0.02  # s that the first element may take to come in any case


def from_stages(nodes, steps=None):
    """The Findings that need no look at the data. `steps`: how many elements the training will ask for."""
    return [
        *(each for node in nodes if node.kind == "cache" for each in _cache(node, nodes, steps)),
        *_repeated_draws(nodes),
        *_ran_out(nodes[-1].cardinality, steps),
    ]


def from_look(nodes, work, look, options):
    """The Findings that rest on what the stages cost."""
    return [*_python(nodes, work, look), *_late_shuffle(nodes, work, look), *_no_prefetch(nodes, work, options)]


def served_by(nodes, steps=None):
    """The last cache that becomes full and serves later epochs; None for none."""
    caches = [node for node in nodes if node.kind == "cache"]
    return next(
        (each for each in reversed(caches) if not is_written(each) and not never_full(each, nodes, steps)), None
    )


def never_full(cache, nodes, steps=None):
    """Why a cache is never read to its end, in words; "" where it is, or where that cannot be told."""
    if cache.inputs[0].cardinality == ENDLESS:
        return "what feeds it never ends, so that it grows until the memory is full"
    whole = cache  # the stages behind it, up to the first that starts it again: there it has been read to its end
    for node in nodes[nodes.index(cache) + 1 :]:
        if cache not in upstream(node):
            continue
        if node.kind == "repeat":
            break
        if node.kind == "take" and node.size >= 0 and node.inputs[0].cardinality > node.size:
            return f"take({node.size}) behind it stops before the end of {node.inputs[0].cardinality} elements"
        whole = node
    if steps is not None and whole.cardinality > steps:
        return f"{steps} elements are asked for in all, and it takes {whole.cardinality} to read it to its end"
    return ""


def frozen(labels, seen=False):
    """The Finding of a cache behind the stages `labels`, which draw at random, `seen` where two passes showed it."""
    shown = " Two passes over what feeds it differ, and it keeps one of them." if seen else ""
    return Finding(
        "cache-after-augmentation",
        f"cache() stands behind {listed(labels)}, which draws at random: every epoch shows what the first one "
        f"drew.{shown}",
        f"Put the cache() before {labels[0]}.",
        "cache-after-augmentation",
    )


def ran_out(delivered, steps):
    """The Finding of a dataset that ends before the training does."""
    return Finding(
        "input-ran-out",
        f"The dataset delivers {delivered} elements, and {steps} are asked for. fit only warns, and shows its epochs "
        "as complete.",
        f"Add repeat(), or lower the steps to {delivered}.",
        "input-ran-out",
    )


def _ran_out(cardinality, steps):
    return [ran_out(cardinality, steps)] if steps is not None and 0 < cardinality < steps else []


def _cache(cache, nodes, steps):
    random = [node.label for node in upstream(cache) if node.draws]
    if random:
        yield frozen(random)
    shuffles = [node for node in upstream(cache) if node.kind == "shuffle"]
    if shuffles:
        yield Finding(
            "cache-after-shuffle",
            "cache() stands behind shuffle(): every epoch has the order of the first one.",
            "Put the shuffle() behind the cache().",
            None,
        )
    why = never_full(cache, nodes, steps)
    if why and not is_written(cache):
        yield Finding(
            "cache-never-filled",
            f"The cache() never serves an epoch: {why}.",
            "Put what limits the data (take, and no repeat) before the cache(), and let one epoch read all of it.",
            "cache-never-filled",
        )


def _repeated_draws(nodes):
    """Random numbers from a fixed seed, which start again with every pass over the dataset."""
    start_over = [node for node in nodes if any(function.repeats for function in node.functions)]
    for node in start_over:
        behind = [each for each in nodes if node in upstream(each)]
        if any(each.kind in {"repeat", "cache"} for each in behind):
            continue  # passes within one iterator go on drawing; and behind a cache it has been said
        yield Finding(
            "augmentation-repeats",
            f"{node.label} draws from a fixed seed (seed=..., or tf.random.set_seed), and every pass over the dataset "
            "starts from it again: each epoch shows the same random changes.",
            "End with repeat() and give steps_per_epoch, or draw from a tf.random.Generator that is made outside.",
            "augmentation-repeats",
        )


def _python(nodes, work, look):
    for node in nodes:
        stage = work.stage(node.label)
        if not node.python or stage.waits or stage.cost < _NOTICED * work.seconds:
            continue  # waiting calls let go of the lock
        generator = node.kind == "from_generator"
        yield Finding(
            "python-in-generator" if generator else "python-in-map",
            f"{node.label} runs Python code, {work.share([node.label]):.0%} of the work with all else in it, and "
            f"Python's lock (GIL) lets one thread at a time run it. {_turns(stage, node.label in work.python)}",
            "Write it in TensorFlow operations, or do the work once beforehand.",
            "python-in-map",
        )


def _turns(stage, bound_by_it):
    """What Python's lock means for the parallel calls of a stage."""
    calls = stage.threads or 1
    if not bound_by_it:
        return (
            "Most of that went on outside of the lock here, so the lock is not what bounds it; with more cores it may."
        )
    return f"Its {calls} parallel calls take turns." if calls > 1 else "Parallel calls would take turns."


def _late_shuffle(nodes, work, look):
    steady = 1 / look.rate if look.rate > 0 else 0.0
    costs = look.costs
    for node in nodes:
        if node.kind != "shuffle" or not costs or node.label not in costs.elements:
            continue
        per_output = costs.elements[node.label] or math.inf
        before = [each for each in upstream(node) if each.label not in look.stored]
        seconds = (
            sum(work.stage(each.label).cost / (work.stage(each.label).threads or 1) for each in before) / per_output
        )
        size = min(node.size, node.inputs[0].cardinality) if node.inputs[0].cardinality > 0 else node.size
        filling = size * seconds
        costly = [each.label for each in before if work.stage(each.label).cost > _NOTICED * work.seconds]
        if filling < max(_LATE * steady, _SOONEST) or not costly:
            continue
        yield Finding(
            "shuffle-after-decode",
            f"shuffle({node.size}) stands behind {listed(costly)} and fills its buffer before it gives anything: "
            f"about {format_si(filling, 's')}. The first element took {format_si(look.first, 's')}, a later one "
            f"takes {format_si(steady, 's')}.",
            "Shuffle what is small and cheap, file names or indexes, before that work.",
            "shuffle-after-decode",
        )


def _no_prefetch(nodes, work, options):
    last = nodes[-1]
    if last.kind == "prefetch" or not may_add_prefetch(options):
        return
    bound = work.bound
    by = "all cores" if bound.why == "all cores" else listed(bound.stages)
    yield Finding(
        "prefetch-injected",
        "There is no prefetch() at the end, and none is missed: tf.data puts one there, or the last stage has threads "
        f"of its own. No gain expected: the pipeline is bound by {by}, and to overlap with the training step at best "
        "halves the time, where both take equally long.",
        "To see what a prefetch is worth, switch experimental_optimization.inject_prefetch off on both sides.",
        "prefetch-injected",
    )


def troubles(look, nodes, deadline):
    """The Finding of a look that was ended by its `error`, a Blocked or a Failed of `reading`."""
    if hasattr(look.error, "error"):
        return _raises(look.error, nodes, look.failed_in)
    waits = [node.label for node in nodes if node.kind == "shuffle" and node.size > 1]
    hint = f" {waits[-1]} fills its buffer first, which may be what takes so long." if waits else ""
    return Finding(
        "blocked",
        f"No element came for {format_si(float(deadline), 's')}.{hint}",
        "Look at what the source waits for, or give a larger deadline.",
        None,
    )


def _raises(failed, nodes, stage):
    text = str(getattr(failed.error, "message", failed.error))
    named = [node.label for node in nodes if node.function_name and f"_{node.function_name}_" in text]
    where = f" in {stage or named[0]}" if stage or named else ""
    return Finding(
        "raises",
        f"Element {failed.elements + 1} raised {type(failed.error).__name__}{where}: {plain_words(text)}",
        "Mend what gives it, or leave such elements out with ignore_errors().",
        None,
    )


def plain_words(text):
    """The first line of TensorFlow's message, without the names of its internal nodes."""
    text = re.sub(_INTERNAL, "", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "it gave no message"


def empty(nodes):
    """The Finding of a dataset without elements: with the first stage that gives none, where that is known."""
    first = next((node.label for node in nodes if node.cardinality == 0), None)
    why = f" {first} gives none." if first else ""
    drops = any(bool(getattr(node.dataset, "_drop_remainder", False)) for node in nodes)
    return Finding(
        "empty",
        f"The dataset is empty: it ended before its first element.{why}",
        "Look at the files or the filter that it begins with"
        + (", and at drop_remainder, which drops a batch that is not full." if drops else "."),
        None,
    )
