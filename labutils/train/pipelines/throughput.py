"""Reading a pipeline with a clock beside it: as it is written, its first batch apart from the later ones."""

import contextlib
import ctypes
import gc
import sys
import time
from dataclasses import dataclass, replace

import psutil
import tensorflow as tf

from labutils.train.pipelines.options import nothing_added

_POLL = 4  # elements between two looks at the memory


def as_written(dataset):
    """The dataset without what TensorFlow adds by itself: a prefetch at its end, threads for `map`, fusions, tuning.

    To measure what a change is worth, the side without it must really be without it. AUTOTUNE as a number of calls then
    means one for each core. Where the dataset's own options switch autotuning on, it stays on.
    """
    options = nothing_added()
    if dataset.options().autotune.enabled is None:
        # In short epochs the tuner often leaves one of two cores idle, by chance: no verdict would come out twice.
        options.autotune.enabled = False
    return dataset.with_options(options)


def epoch(dataset):
    """A function that reads the dataset once, to its end: to be given to `compare`, `measure` or a Journal."""

    def read():
        for _ in dataset:
            pass

    return read


@dataclass(frozen=True)
class Reading:
    """One pass over a pipeline: `elements` read, seconds until the `first` came and for all of them, `memory` in bytes.

    `memory` is how much this process grew at most while it read, where that was watched; a cache that was full before
    does not show in it.
    """

    elements: int
    first: float
    total: float
    memory: int = 0

    @property
    def rate(self):
        """Elements/s after the first one; nan for fewer than two."""
        later = self.total - self.first
        return (self.elements - 1) / later if self.elements > 1 and later > 0 else float("nan")


def read_once(dataset):
    """Read the dataset to its end, once, with an eye on the memory: a Reading."""
    _give_back_memory()
    process = psutil.Process()
    seen = [(process.memory_info().rss, _allocated())]
    reading = timed(dataset, watch=lambda: seen.append((process.memory_info().rss, _allocated())))
    return replace(reading, memory=max(max(each) - each[0] for each in zip(*seen, strict=True)))


def timed(dataset, watch=None):
    """Read the dataset to its end, once, and call `watch` now and then: a Reading without memory."""
    elements, first, start = 0, 0.0, time.perf_counter()
    for _ in dataset:
        elements += 1
        if elements == 1:
            first = time.perf_counter() - start
        if watch and elements % _POLL == 1:
            watch()
    return Reading(elements, first, time.perf_counter() - start)


def _allocated():
    """Bytes in use of TensorFlow's pool on the CPU, 0 where it has none.

    Where oneDNN is on, as it is by default on newer CPUs, TensorFlow keeps what was freed in a pool, and a second pass
    takes it from there: the process does not grow, whatever the pipeline holds.
    """
    try:
        return tf.config.experimental.get_memory_info("CPU:0")["current"]
    except ValueError:  # the system's own allocator: it counts nothing
        return 0


def _give_back_memory():
    """Let the system have what is free inside this process, so that growth is seen and not served from there."""
    gc.collect()
    if sys.platform.startswith("linux"):
        with contextlib.suppress(AttributeError, OSError):  # only glibc has it
            ctypes.CDLL(None).malloc_trim(0)


def spans(dataset, step_time, steps=4, skip=2):
    """What a loop over the dataset does when: (phase, start, end) in s, "input" while it waits and "compute" after.

    `compute` waits for `step_time` seconds, as for another device. The first `skip` steps, when the pipeline starts,
    are left out. ValueError for a dataset of fewer elements.
    """
    found, elements = [], iter(dataset)
    for _ in range(skip + steps):
        start = time.perf_counter()
        if next(elements, None) is None:
            raise ValueError(f"The dataset has fewer than the {skip + steps} elements that {steps} steps need.")
        ready = time.perf_counter()
        time.sleep(step_time)
        found += [("input", start, ready), ("compute", ready, time.perf_counter())]
    zero = found[2 * skip][1]
    return [(phase, start - zero, end - zero) for phase, start, end in found[2 * skip :]]
