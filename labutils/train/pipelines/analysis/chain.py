"""The chain of stages of a tf.data pipeline, read from the Python objects of its datasets without running any."""

import re
from collections import Counter
from dataclasses import dataclass, field

import tensorflow as tf

from labutils.train.pipelines.analysis import functions
from labutils.train.pipelines.analysis.functions import Function

AUTOTUNE, UNKNOWN, ENDLESS = -1, -2, -1  # as TensorFlow counts parallel calls and elements

_TRANSPARENT = {"_OptionsDataset", "_RestructuredDataset"}
_KINDS = {
    "ParallelMap": "map",
    "ParallelBatch": "batch",
    "ParallelInterleave": "interleave",
    "TensorSlice": "from_tensor_slices",
    "Tensor": "from_tensors",
    "DirectedInterleave": "sample_from_datasets",
}
BATCHES = {"batch", "padded_batch"}
READS_NESTED = {"flat_map", "interleave", "from_generator"}  # each element opens a dataset of its own


@dataclass(frozen=True, eq=False)
class Node:
    """One stage: `label` is unique in its chain ("map(decode)"), `inputs` are the stages that it asks for elements.

    calls: parallel calls as written, AUTOTUNE (-1) or None where it is sequential
    size: of its buffer, of its batches, or its count, by its kind; None where it has none
    """

    dataset: object = field(repr=False)
    kind: str
    label: str
    inputs: tuple = field(default=(), repr=False)
    functions: tuple[Function, ...] = field(default=(), repr=False)
    calls: int | None = None
    size: int | None = None

    @property
    def python(self):
        """It runs Python code."""
        return any(function.python for function in self.functions)

    @property
    def draws(self):
        """Its function draws at random."""
        return any(function.draws for function in self.functions)

    @property
    def function_name(self):
        """The name of the first of its functions, as the user wrote it; "" without any."""
        return self.functions[0].name if self.functions else ""

    @property
    def cardinality(self):
        """Elements that it gives, ENDLESS (-1) or UNKNOWN (-2)."""
        try:
            return int(self.dataset.cardinality())
        except Exception:  # a dataset of somebody's own may not know
            return UNKNOWN

    @property
    def cache_file(self):
        """Where a `cache` writes; "" for memory."""
        return self.dataset._filename.numpy().decode() if self.kind == "cache" else ""


def chain(dataset):
    """The stages of a dataset, each behind those that feed it, the last one giving the dataset's elements."""
    found, counts = [], Counter()
    _node(dataset, found, counts)
    return found


def upstream(node):
    """The stages that feed `node`, itself excluded, in the order of `chain`."""
    found = []
    for each in node.inputs:
        found += [*upstream(each), each]
    return found


def unwrap(dataset):
    """The dataset within one that only wraps another: readers of files, ragged batches, options."""
    while True:
        if hasattr(dataset, "_impl"):
            dataset = dataset._impl
        elif hasattr(dataset, "_mapped_dataset"):
            dataset = dataset._mapped_dataset
        elif type(dataset).__name__ == "DatasetV1Adapter":
            dataset = dataset._dataset
        elif type(dataset).__name__ in _TRANSPARENT:
            dataset = dataset._input_dataset
        else:
            return dataset


def samples_per_element(nodes):
    """Samples in one element of the output, from the sizes of its batches; 1 where there is none."""
    samples = 1
    node = nodes[-1]
    while node is not None:
        if node.kind == "unbatch":
            break
        if node.kind in BATCHES and node.size:
            samples *= node.size
        node = node.inputs[0] if node.inputs else None
    return samples


def _node(dataset, found, counts):
    outer, dataset = dataset, unwrap(dataset)
    reader = _reader_name(outer)
    inputs = tuple(_node(each, found, counts) for each in dataset._inputs())
    wrappers = dataset._functions()
    described = tuple(functions.describe(wrapper) for wrapper in wrappers)
    kind = _kind(dataset)
    label = reader or kind
    if not reader and any("GeneratorDataset" in each.operations for each in described):
        kind = "from_generator"
        label = f"{kind}({functions.generator_name(wrappers[0])})"
    elif not reader and described:
        label = f"{kind}({described[0].name})"
    counts[label] += 1
    if counts[label] > 1:
        label += f" #{counts[label]}"
    node = Node(dataset, kind, label, inputs, described, _calls(dataset), _size(dataset))
    found.append(node)
    return node


def _reader_name(dataset):
    """ "TFRecordDataset" where that is what the user wrote, and a flat_map over files what it is made of."""
    while type(dataset).__name__ in _TRANSPARENT:
        dataset = dataset._input_dataset
    return re.sub(r"V\d$", "", type(dataset).__name__) if hasattr(dataset, "_impl") else ""


def _kind(dataset):
    name = re.sub(r"(Dataset)?(V\d)?$", "", type(dataset).__name__.lstrip("_"))
    return _KINDS.get(name) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _calls(dataset):
    if type(dataset).__name__ == "ParallelInterleaveDataset":  # of the older readers
        return _number(dataset, "_cycle_length")
    return _number(dataset, "_num_parallel_calls")


def _size(dataset):
    names = ("_buffer_size", "_batch_size", "_count")
    return next((size for name in names if (size := _number(dataset, name)) is not None), None)


def _number(dataset, name):
    value = getattr(dataset, name, None)
    if value is None:
        return None
    value = tf.get_static_value(value) if isinstance(value, tf.Tensor) else value
    return int(value) if getattr(value, "ndim", 0) == 0 else None
