"""Copies of a pipeline that share its sources and functions and none of its state.

Reading a dataset moves the seeds of its shuffles on, writes its cache files and fills its memory. A copy runs the
operations that made the dataset once more, on the same inputs, from the first stage with a state to the last: with
seed generators and caches of its own. Nothing is traced, and no data are copied.
"""

import copy
import inspect

import tensorflow as tf
from tensorflow.python.data.ops.structured_function import StructuredFunctionWrapper
from tensorflow.python.data.util import nest
from tensorflow.python.ops import gen_dataset_ops, gen_experimental_dataset_ops

_OPERATIONS = {  # the class of a dataset, and the operation that makes it
    "_BatchDataset": "batch_dataset_v2",
    "_ConcatenateDataset": "concatenate_dataset",
    "_DirectedInterleaveDataset": "directed_interleave_dataset",
    "_FilterDataset": "filter_dataset",
    "_FlatMapDataset": "flat_map_dataset",
    "_GroupByWindowDataset": "group_by_window_dataset",
    "_IgnoreErrorsDataset": "ignore_errors_dataset",
    "_InterleaveDataset": "interleave_dataset",
    "_MapDataset": "map_dataset",
    "_PaddedBatchDataset": "padded_batch_dataset_v2",
    "_ParallelBatchDataset": "parallel_batch_dataset",
    "_ParallelInterleaveDataset": "parallel_interleave_dataset_v4",
    "_ParallelMapDataset": "parallel_map_dataset_v2",
    "_PrefetchDataset": "prefetch_dataset",
    "_RandomDataset": "random_dataset_v2",
    "_RebatchDataset": "rebatch_dataset_v2",
    "_RepeatDataset": "repeat_dataset",
    "_ScanDataset": "scan_dataset",
    "_ShardDataset": "shard_dataset",
    "_ShuffleDataset": "shuffle_dataset_v3",
    "_SkipDataset": "skip_dataset",
    "_TakeDataset": "take_dataset",
    "_TakeWhileDataset": "take_while_dataset",
    "_UnbatchDataset": "unbatch_dataset",
    "_UniqueDataset": "unique_dataset",
    "_WindowDataset": "window_dataset",
    "_ZipDataset": "zip_dataset",
    "CacheDataset": "cache_dataset_v2",
    "ParallelInterleaveDataset": "legacy_parallel_interleave_dataset_v2",
}
_STRUCTURES = ("padded_shapes", "padding_values", "initial_state")
_PASSED_ON = {"snapshot", "save"}  # they write files: a copy goes without


class NotCopied(Exception):
    """A stage of a kind that is not known here stands behind one with a state."""


def has_state(node):
    """Reading it changes what it gives the next time, or what lies on the disk."""
    if node.kind == "random":
        return bool(getattr(node.dataset, "_rerandomize", False))
    return node.kind in {"shuffle", "cache", *_PASSED_ON} and not is_written(node)


def is_written(node):
    """It is a file cache that is complete already: reading it changes nothing, and asks for nothing upstream."""
    return node.kind == "cache" and bool(node.cache_file) and tf.io.gfile.exists(f"{node.cache_file}.index")


def fresh(node, change=None):
    """A dataset that gives what `node` gives, with a state of its own and without the options of the original.

    A file cache becomes one in memory, and nothing is written to a snapshot. `change(node, inputs)`, where given, is
    asked for every stage first: `inputs` are the copies of what feeds it, and it returns the dataset to stand for
    the stage, or None to leave that to the rules. Raises NotCopied.
    """
    return _copied(node, change)[0]


def _copied(node, change):
    """The copy of a node, and whether it differs from the original."""
    if is_written(node):
        return node.dataset, False
    made = [_copied(each, change) for each in node.inputs]
    inputs = [dataset for dataset, _ in made]
    changed = change(node, inputs) if change else None
    if changed is not None:
        return changed, True
    if node.kind in _PASSED_ON:
        return inputs[0], True
    if has_state(node) or any(differs for _, differs in made):
        return remade(node, inputs), True
    return node.dataset, False


def remade(node, inputs, operation=None, **values):
    """The dataset of `node` made again on `inputs`, by another `operation` or with other `values` where given."""
    dataset = node.dataset
    operation = operation or _OPERATIONS.get(type(dataset).__name__)
    if operation is None:
        raise NotCopied(f"{node.label} is a {type(dataset).__name__}, which cannot be copied")
    make = getattr(gen_dataset_ops, operation, None) or getattr(gen_experimental_dataset_ops, operation)
    known = {**_arguments(dataset, inputs), **values}
    wanted = inspect.signature(make).parameters
    made = copy.copy(dataset)
    made._variant_tensor_attr = make(**{name: value for name, value in known.items() if name in wanted})
    made._original = dataset, inputs  # Python functions live no longer than the datasets that registered them
    if hasattr(made, "_input_dataset"):
        made._input_dataset = inputs[0]
    return made


def _arguments(dataset, inputs):
    """What the operations take, by the names of their parameters."""
    variants = [each._variant_tensor for each in inputs]
    own = {name.removeprefix("_"): value for name, value in vars(dataset).items() if value is not None}
    own |= {
        "input_dataset": variants[0] if variants else None,
        "another_dataset": variants[-1] if variants else None,
        "input_datasets": variants,
        "selector_input_dataset": variants[0] if variants else None,
        "data_input_datasets": variants[1:],
        "output_types": dataset._flat_types,
        "output_shapes": dataset._flat_shapes,
        "metadata": dataset._metadata.SerializeToString() if hasattr(dataset, "_name") else "",
        "filename": "",
        "seed_generator": gen_dataset_ops.dummy_seed_generator(),
        "cache": gen_dataset_ops.dummy_memory_cache(),
        "rerandomize_each_iteration": own.get("rerandomize", False),
        "legacy_autotune": int(own.get("buffer_size", -1)) == -1,
    }
    own.pop("name", None)
    for name, wrapper in list(own.items()):
        if isinstance(wrapper, StructuredFunctionWrapper):
            function = wrapper.function
            role = {"map_func": "f", "scan_func": "f"}.get(name, name)
            captured = f"{role}_other_arguments" if role.endswith("_func") else "other_arguments"
            own |= {role: function, captured: function.captured_inputs}
    own |= {name: nest.flatten(own[name]) for name in _STRUCTURES if name in own}
    return own
