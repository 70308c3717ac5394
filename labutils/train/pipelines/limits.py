"""What the machine could do at best: each stage alone on one core, and how fast memory can be copied."""

import statistics
import threading
import time

import numpy as np
import tensorflow as tf

from labutils.theory.pipeline import Stage
from labutils.train.devices import usable_cores
from labutils.train.pipelines.options import nothing_added
from labutils.train.pipelines.throughput import timed

_COPIED = 64 << 20  # bytes that each core copies: more than its caches hold


def one_core(dataset):
    """The dataset, all of it in the thread that reads it: no pool, no threads inside an operation, nothing added."""
    options = nothing_added()
    options.autotune.enabled = False
    options.threading.max_intra_op_parallelism = 1
    options.threading.private_threadpool_size = 1
    return dataset.with_options(options)


def stage_costs(prefixes, samples, rounds=5):
    """What each stage costs on one core: a list of `theory.pipeline.Stage`, their costs in s for a sample.

    `prefixes` maps each stage to the dataset that ends with it: {"read": read, "decode": read.map(decode), ...}. Each
    is read to its end on one core, in turns; what one takes longer than the one before is its stage's cost, the median
    of the `rounds`. Every dataset must hold the same `samples`, in batches or one by one. ValueError for no stages, no
    samples or no rounds.
    """
    if not prefixes or rounds < 1 or samples < 1:
        raise ValueError("Give at least one stage, one sample and one round to measure the stages with.")
    counts = [timed(one_core(dataset)).elements for dataset in prefixes.values()]  # this also warms each of them up
    datasets = [_emptied(dataset) for dataset in prefixes.values()]
    asking = _emptied(tf.data.Dataset.range(max(counts)))
    costs = []
    for _ in range(rounds):
        per_element = timed(asking).total / max(counts)
        times = [timed(data).total - per_element * n for data, n in zip(datasets, counts, strict=True)]
        costs.append([after - before for before, after in zip([0.0, *times], times, strict=False)])
    medians = [max(0.0, statistics.median(each)) / samples for each in zip(*costs, strict=True)]
    return [Stage(name, cost) for name, cost in zip(prefixes, medians, strict=True)]


def _emptied(dataset):
    """The dataset on one core, each element dropped where it was made.

    Handed on to Python, an element costs time and keeps its memory from the next one, which no stage is to blame for.
    What it takes to drop one is measured apart.
    """
    return one_core(dataset.filter(lambda *_: False))


def memory_bandwidth(cores=None, rounds=7):
    """Bytes/s that all cores together read from and write to memory while each copies an array: the best of `rounds`.

    The kernel of STREAM's "copy" (McCalpin 1995), with NumPy, which lets the threads run at the same time.
    """
    cores = cores or usable_cores()
    pairs = [(np.ones(_COPIED // 8), np.ones(_COPIED // 8)) for _ in range(cores)]
    return max(2 * _COPIED * cores / _together(pairs) for _ in range(rounds))


def _together(pairs):
    """Seconds until every pair is copied, each by a thread of its own."""
    threads = [threading.Thread(target=np.copyto, args=pair) for pair in pairs]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start
