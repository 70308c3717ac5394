"""How fast an input pipeline can be: what its stages cost, which threads run them, and the machine's limit.

read = Stage("read", 20e-6)
decode = Stage("decode", 900e-6, threads=2)
rate([read, decode], cores=2), limit([read, decode], cores=2)      # samples/s

The model is that of Kuchnik et al. 2022, "Plumber: Diagnosing and Removing Performance Bottlenecks in Machine
Learning Data Pipelines" (MLSys, arXiv:2111.04131), section 4: every stage has a cost in core-seconds and a number
of threads, and the slowest one sets the rate.
"""

import math
from dataclasses import dataclass, replace

from labutils.theory import checks


@dataclass(frozen=True)
class Stage:
    """One stage of a pipeline, in the order in which data pass it.

    cost: seconds that one thread spends in it for a sample
    threads: how many threads of its own run it, as with `num_parallel_calls`; None where it runs in the thread
        that asks for its result, as `map` and `batch` do. A prefetch is a stage that costs nothing and has one.
    waits: its cost is waiting (for a disk, a server), which takes no core
    ValueError for a name that is no word, a negative cost or fewer than one thread.
    """

    name: str
    cost: float
    threads: int | None = None
    waits: bool = False

    def __post_init__(self):
        if not isinstance(self.name, str):
            raise ValueError(f"a stage's name must be a word, but it is {self.name!r}: write Stage('decode', 900e-6).")
        checks.number("cost", self.cost, "give the seconds of one thread for a sample")
        checks.flag("waits", self.waits)
        if self.threads is not None:
            checks.count("threads", self.threads, "count the threads of its own, or None where it has none")


@dataclass(frozen=True)
class Bound:
    """What sets the rate: `stages` by name, and why: "one thread", "its threads", "all cores" or "memory"."""

    rate: float
    stages: tuple[str, ...]
    why: str


def bound(stages, cores, *, bytes_per_sample=0.0, memory_bandwidth=math.inf):
    """The Bound of a pipeline on `cores` cores, its rate in samples/s; inf where nothing costs anything.

    Stages without threads of their own share one with the stages that they feed, up to the next that has some:
    their costs add up. A stage with n threads takes 1/n of its cost. All of them together cannot use more than
    the cores, nor move more bytes than the memory (as for `limit`). ValueError for no stages or fewer than one core.
    """
    stages = _checked(stages)
    found = [Bound(_per_second(seconds), names, why) for names, seconds, why in _threads(stages)]
    everything = tuple(stage.name for stage in stages if stage.cost and not stage.waits)
    found.append(Bound(limit(stages, cores), everything, "all cores"))
    found.append(Bound(_memory_rate(bytes_per_sample, memory_bandwidth), everything, "memory"))
    return min(found, key=lambda each: each.rate)


def rate(stages, cores, **memory):
    """Samples/s that a pipeline gives at most on `cores` cores, its threads being what they are; as `bound`."""
    return bound(stages, cores, **memory).rate


def limit(stages, cores, *, bytes_per_sample=0.0, memory_bandwidth=math.inf):
    """Samples/s that no arrangement of these stages can pass: all cores at work, or the memory.

    `cores` over the core-seconds of a sample; at most `memory_bandwidth` (bytes/s) over the bytes that a sample
    moves through memory (the roofline: Williams et al. 2009). ValueError as for `bound`.
    """
    cores = checks.count("cores", cores, "count the cores that the pipeline may use")
    work = sum(stage.cost for stage in _checked(stages) if not stage.waits)
    return min(cores * _per_second(work), _memory_rate(bytes_per_sample, memory_bandwidth))


def parallel(stages, name, threads):
    """The same stages, with the one called `name` run by `threads` threads of its own; ValueError for no such stage."""
    stages = _checked(stages)
    if name not in [stage.name for stage in stages]:
        raise ValueError(f"no stage is called {name!r}: there are {', '.join(stage.name for stage in stages)}.")
    return [replace(stage, threads=threads) if stage.name == name else stage for stage in stages]


def _threads(stages):
    """(names, seconds per sample, why) of each thread that runs several stages, and of each stage with its own."""
    shared, found = [], []
    for stage in stages:
        if stage.threads is None:
            shared.append(stage)
            continue
        found += [_one_thread(shared), ((stage.name,), stage.cost / stage.threads, "its threads")]
        shared = []
    return [*found, _one_thread(shared)]


def _one_thread(stages):
    return tuple(stage.name for stage in stages), sum(stage.cost for stage in stages), "one thread"


def _memory_rate(bytes_per_sample, memory_bandwidth):
    moved = checks.number("bytes_per_sample", bytes_per_sample, "count the bytes read from and written to memory")
    hint = "give bytes/s, inf to leave the memory out"
    bandwidth = checks.number("memory_bandwidth", memory_bandwidth, hint, positive=True, infinite=True)
    return bandwidth * _per_second(moved)


def _per_second(seconds):
    return 1 / seconds if seconds else math.inf


def _checked(stages):
    stages = list(stages)
    if not stages or not all(isinstance(stage, Stage) for stage in stages):
        raise ValueError(f"a pipeline is a list of at least one Stage, but this is {stages!r}.")
    return stages
