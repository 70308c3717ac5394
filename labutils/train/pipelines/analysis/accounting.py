"""What each stage of a pipeline costs: TensorFlow's own figures, read from a copy that one thread runs.

TensorFlow counts for every stage how long it was at work (`get_model_proto`), but on the wall, and for a function
only its operations: neither what calling it takes, nor nested datasets that have ended. Run by one thread, all the
time that an element takes belongs to some stage, and what TensorFlow leaves out can be shared out.
"""

from dataclasses import dataclass, field

import tensorflow as tf

from labutils.train.pipelines.analysis import copies
from labutils.train.pipelines.analysis.chain import READS_NESTED
from labutils.train.pipelines.options import nothing_added

_SEQUENTIAL = {
    "_ParallelMapDataset": "map_dataset",
    "_ParallelBatchDataset": "batch_dataset_v2",
    "_ParallelInterleaveDataset": "interleave_dataset",
    "ParallelInterleaveDataset": "interleave_dataset",
}
_CALL = 8  # operations whose scheduling takes as long as the call of a function itself
_SHORT = 64  # elements up to which a pass is repeated as written
_CALLING = {"MapDataset", "ParallelMapDatasetV2", "GeneratorDataset"}
_CHECKED = {"map", "batch", "shuffle", "filter", "take", "zip", "flat_map", "interleave", "range", "unbatch"}


class Unclear(Exception):
    """TensorFlow's figures do not fit the stages as they were written."""


@dataclass(frozen=True)
class Costs:
    """By the label of each stage, for one element of the output.

    seconds: of one thread, others' use of the cores taken out
    elements: that the stage gives; bytes: of one of these
    waiting: seconds in all of it that took no core
    calling: of `seconds`, those that it takes to call functions and to schedule their operations
    """

    seconds: dict
    elements: dict
    bytes: dict
    waiting: float = 0.0
    calling: dict = field(default_factory=dict)

    @property
    def total(self):
        """Seconds of one thread for an element of the output."""
        return sum(self.seconds.values())


def one_thread(node, *, sequential=True, cached=None):
    """A copy of the pipeline up to `node` to be accounted, and the stages that it goes without.

    One pass unless it is short, shuffled by buffers of one element, and where `sequential` without threads of its own.
    `cached` is a dataset that stands for the stage whose label it is given with: (label, dataset). Raises NotCopied.
    """
    left_out = set()

    def change(each, inputs):
        if cached and each.label == cached[0]:
            return cached[1]
        if each.kind == "repeat" and 0 < each.inputs[0].cardinality < _SHORT:
            return None  # so few elements in a pass would tell nothing
        if each.kind in {"prefetch", "repeat"} or (each.kind == "cache" and not copies.is_written(each)):
            left_out.add(each.label)
            return inputs[0]
        if each.kind == "shuffle":
            return copies.remade(each, inputs, buffer_size=tf.constant(1, tf.int64))
        operation = _SEQUENTIAL.get(type(each.dataset).__name__)
        return copies.remade(each, inputs, operation) if sequential and operation else None

    dataset = copies.fresh(node, change)
    options = nothing_added()
    options.autotune.enabled = True  # it is what keeps the figures
    if sequential:
        options.threading.private_threadpool_size = 1
        options.threading.max_intra_op_parallelism = 1
    return dataset.with_options(options), left_out


def costs(node, reader, left_out, sequential=True):
    """The Costs of the stages up to `node`, from a Reader of what `one_thread` made of them. Raises Unclear."""
    counted, spent, figures = {}, reader.spent, _since_begun(reader) if reader.model else {}
    given = figures[_top(reader)].num_elements if figures else 0
    if not given or not reader.count:
        raise Unclear("TensorFlow keeps no figures of this pipeline, or too few elements came")
    _assign(node, _top(reader), figures, left_out, counted)
    share = spent.undisturbed / spent.wall if spent.wall else 1.0
    elements = {label: each.elements / given for label, each in counted.items()}
    seconds = {label: each.own / given * share for label, each in counted.items()}
    nested = {label: each.nested * elements[label] * share for label, each in counted.items() if each.nested}
    calling = {}
    if sequential:
        total = spent.undisturbed / reader.count
        fits = min(
            1.0, total / (sum(seconds.values()) or 1.0)
        )  # they count the start of a pass too, the Reader does not
        seconds = {label: own * fits for label, own in seconds.items()}
        rest = max(0.0, total - sum(seconds.values()))
        calling = _share_out(rest, seconds, nested, _weights(counted, elements))
        waiting = spent.waiting / reader.count
    else:  # several threads were at work: what neither a core nor other processes account for
        seconds = {label: own + nested.get(label, 0.0) for label, own in seconds.items()}
        waiting = max(0.0, sum(seconds.values()) - (spent.cpu + spent.delay) / reader.count)
    return Costs(seconds, elements, {label: each.bytes for label, each in counted.items()}, waiting, calling)


@dataclass
class _Counted:
    node: object
    own: float  # s in all
    elements: float
    bytes: float  # of an element
    nested: float = 0.0  # s of the datasets that it opens, for one of its own elements


def _top(reader):
    """TensorFlow's number of the last stage."""
    nodes = reader.model.nodes
    root = nodes[reader.model.output]
    top = root.inputs[0] if root.name == "Root" else reader.model.output
    return nodes[top].inputs[0] if reader.each > 1 and nodes[top].name == "Shard" else top


def _since_begun(reader):
    """TensorFlow's figures of the stages by number, less what stood there after the first element of the pass."""
    last, before = reader.model.nodes, reader.begun.nodes
    figures = {}
    for number, each in last.items():
        own, elements, size = each.processing_time, each.num_elements, each.bytes_produced
        if number in before:
            own -= before[number].processing_time
            elements -= before[number].num_elements
            size -= before[number].bytes_produced
        figures[number] = _Figures(each.name, own, elements, size, tuple(k for k in each.inputs if k in last))
    return figures


@dataclass(frozen=True)
class _Figures:
    name: str
    processing_time: int  # ns
    num_elements: int
    bytes_produced: int
    inputs: tuple


def _assign(node, number, nodes, left_out, counted, scale=1.0):
    """Give the figures of TensorFlow's stage `number`, times `scale`, to `node`, and so on upstream."""
    if node.label in left_out:
        return _assign(node.inputs[0], number, nodes, left_out, counted, scale)
    figures = nodes[number]
    if node.kind in _CHECKED and node.kind.replace("_", "") not in figures.name.lower():
        raise Unclear(f"{node.label} does not fit {figures.name}")
    inputs, elements = list(figures.inputs), figures.num_elements * scale
    own = figures.processing_time * scale
    while node.kind == "cache" and inputs:  # one within the other, counted since the last repeat
        inner = nodes[inputs[0]]
        own += inner.processing_time * elements / max(1, inner.num_elements)
        inputs = list(inner.inputs) if "Cache" in inner.name else []
    each = _Counted(node, own / 1e9, elements, figures.bytes_produced / (figures.num_elements or 1))
    counted[node.label] = each
    if node.kind in READS_NESTED:
        open_now = [nodes[k] for k in inputs[1:]]
        given = sum(one.num_elements for one in open_now)
        each.nested = sum(_tree(one, nodes) for one in open_now) / 1e9 / given if given else 0.0
        inputs = inputs[:1]
    for below, its in zip(node.inputs, inputs, strict=False):
        if node.kind == "repeat":  # its input is counted since it last began
            scale = elements / max(1, nodes[its].num_elements)
        _assign(below, its, nodes, left_out, counted, scale)


def _tree(figures, nodes):
    return figures.processing_time + sum(_tree(nodes[k], nodes) for k in figures.inputs)


def _weights(counted, elements):
    """What each stage has of what TensorFlow does not count: calls of functions, and scheduling their operations."""
    weights = {}
    for label, each in counted.items():
        if not each.node.functions:
            continue
        given = elements[label]
        taken = sum(elements.get(below.label, 0.0) for below in each.node.inputs)
        nested = set().union(*(function.operations for function in each.node.functions))
        per_element = each.node.kind not in READS_NESTED or nested & _CALLING
        calls = max(given if per_element else 0.0, taken)
        weights[label] = calls * (_CALL + sum(function.size for function in each.node.functions))
    return weights


def _share_out(rest, seconds, nested, weights):
    """Add what TensorFlow does not count: nested datasets first, then the calls of functions, which it returns."""
    known = sum(nested.values())
    fits = min(1.0, rest / known) if known else 0.0
    for label, own in nested.items():
        seconds[label] += own * fits
    weights = weights if sum(weights.values()) else dict.fromkeys(seconds, 1.0)
    unit = (rest - known * fits) / sum(weights.values())
    calling = {label: unit * weight for label, weight in weights.items()}
    for label, more in calling.items():
        seconds[label] += more
    return calling
