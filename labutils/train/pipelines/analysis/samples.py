"""Looks at the data themselves: runs of equal labels before a shuffle, and what two passes over a random map give."""

import time

import numpy as np
import tensorflow as tf

from labutils.train.lint.finding import Finding
from labutils.train.pipelines.analysis import accounting, copies
from labutils.train.pipelines.analysis.chain import upstream
from labutils.train.pipelines.analysis.reading import Blocked, Failed, patiently

_AT_ONCE = 256  # labels that Python gets with each call
_COMPARED = 3  # elements of each of two passes
_UNREADABLE = (Blocked, Failed, copies.NotCopied, tf.errors.OpError)  # said elsewhere, or not to be known


def small_buffers(nodes, seconds, deadline):
    """A Finding for each shuffle whose buffer is smaller than a run of equal labels; looks for `seconds` at most."""
    shuffles = [node for node in nodes if node.kind == "shuffle" and _label(node.inputs[0]) is not None]
    found = []
    for node in shuffles:
        try:
            run, label, several = longest_run(node.inputs[0], seconds / len(shuffles), deadline)
        except _UNREADABLE:
            continue
        if run > node.size and several:
            found.append(
                Finding(
                    "shuffle-buffer-too-small",
                    f"shuffle({node.size}) holds fewer elements than the {run:,} or more that follow each other with "
                    f"the label {label}: whole batches will be of one class.",
                    f"Shuffle the list of files or indexes as a whole, or take a buffer of well over {run:,}.",
                    "shuffle-buffer-too-small",
                )
            )
    return found


def longest_run(node, seconds, deadline):
    """(length, label, whether there are others) of the longest run of equal labels in a bounded look at a stage."""
    seen, whole = _in_memory(node), True
    if seen is None:
        seen, whole = _labels(node, seconds, deadline)
    if not len(seen):
        return 0, None, False
    starts = np.flatnonzero(np.r_[True, seen[1:] != seen[:-1]])
    lengths = np.diff(np.r_[starts, len(seen)])
    most = int(lengths.argmax())
    # Where all of the data have one label there is nothing to mix; a look cut short cannot tell.
    return int(lengths[most]), int(seen[starts[most]]), len(starts) > 1 or not whole


def _in_memory(node):
    """The labels, where the stage does nothing but hand out rows of arrays; None elsewhere."""
    if node.kind == "zip":
        return _in_memory(node.inputs[-1])
    return np.asarray(node.dataset._tensors[-1]) if node.kind == "from_tensor_slices" else None


def _labels(node, seconds, deadline):
    """The labels that come within `seconds`, and whether these are all."""
    place = _label(node)
    dataset = copies.fresh(node, lambda each, inputs: inputs[0] if each.kind == "cache" else None)
    take_label = tf.autograph.experimental.do_not_convert(
        lambda *element: tf.cast(tf.nest.flatten(element)[place], tf.int64)
    )
    labels = dataset.map(take_label).batch(_AT_ONCE)

    def look(beat):
        seen, until = [], time.perf_counter() + seconds
        for some in labels:
            seen.append(some.numpy())
            beat()
            if time.perf_counter() > until:
                return np.concatenate(seen), False
        return np.concatenate(seen) if seen else np.zeros(0, np.int64), True

    return patiently(look, deadline)


def random_caches(nodes, seconds, deadline):
    """The caches whose input differs from pass to pass although no operation of TensorFlow draws: by Python code."""
    hidden = []
    for node in nodes:
        before = upstream(node)
        if node.kind == "cache" and any(each.python for each in before) and not any(each.draws for each in before):
            hidden += [node] if passes_differ(node.inputs[0], seconds, deadline) else []
    return hidden


def passes_differ(node, seconds, deadline):
    """Whether the first elements of two passes over a stage differ, unshuffled; False where that cannot be seen."""
    try:
        dataset, _ = accounting.one_thread(node)
        until = time.perf_counter() + seconds

        def first(beat):
            seen = []
            for element in dataset.take(_COMPARED):
                beat()
                seen.append([each.numpy() for each in tf.nest.flatten(element) if isinstance(each, tf.Tensor)])
                if time.perf_counter() > until:
                    break
            return seen

        passes = [patiently(first, deadline) for _ in range(2)]
    except _UNREADABLE:
        return False
    pairs = zip(*passes, strict=False)
    return any(not np.array_equal(a, b) for one, other in pairs for a, b in zip(one, other, strict=True))


def _label(node):
    """The place of the scalar integer that ends an element; None where there is no such label."""
    specs = tf.nest.flatten(node.dataset.element_spec)
    last = specs[-1]
    if isinstance(last, tf.TensorSpec) and last.shape.rank == 0 and last.dtype.is_integer:
        return len(specs) - 1
    return None
