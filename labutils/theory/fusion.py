"""What fusing operators saves, and after how many steps compiling has paid for itself.

Operators on whole arrays that do little with each number wait for memory: what counts is the bytes they move (Williams,
Waterman, Patterson 2009, "Roofline"). Fused, a chain reads its input once and writes its output once.
"""

import math
from dataclasses import dataclass

from labutils.theory import checks


@dataclass(frozen=True)
class Chain:
    """A chain of `operators`, each with one array of `nbytes` in and one out."""

    operators: int
    nbytes: float

    @property
    def moved(self):
        """Bytes read and written by the operators one by one."""
        return 2 * self.operators * self.nbytes

    @property
    def moved_fused(self):
        """Bytes read and written where all are one kernel."""
        return 2 * self.nbytes

    def time(self, bandwidth, launch=0.0, fused=False):
        """Seconds at `bandwidth` bytes/s, with `launch` seconds for starting each kernel."""
        bandwidth = checks.number("bandwidth", bandwidth, "give the memory's bytes/s", positive=True)
        launch = checks.number("launch", launch, "give the seconds that starting a kernel takes")
        kernels = 1 if fused else self.operators
        return (self.moved_fused if fused else self.moved) / bandwidth + kernels * launch


def chain(operators, nbytes):
    """A Chain. ValueError for less than one operator, or an array of no bytes."""
    operators = checks.count("operators", operators, "count the operators of the chain", least=1)
    return Chain(operators, checks.number("nbytes", nbytes, "give the bytes of one array", positive=True))


def break_even(compile_time, before, after):
    """After how many steps compiling has paid for itself: a whole number, or inf where a step is not faster.

    `compile_time`, and the step times `before` and `after`, in seconds. ValueError for negative times.
    """
    compile_time = checks.number("compile_time", compile_time, "give the seconds that compiling takes")
    before = checks.number("before", before, "give the step time without compiling, in seconds", positive=True)
    after = checks.number("after", after, "give the step time once compiled, in seconds", positive=True)
    return math.ceil(compile_time / (before - after)) if after < before else math.inf


def padded(length, buckets):
    """The smallest of `buckets` that holds `length`. ValueError where none does."""
    length = checks.count("length", length, "give the length of a sequence", least=0)
    holding = [bucket for bucket in buckets if bucket >= length]
    if not holding:
        raise ValueError(f"no bucket holds a length of {length}: the largest is {max(buckets, default=0)}.")
    return min(holding)
