"""How close to the machine's limit several variants of a pipeline come, all measured in turns."""

import math
import statistics
from dataclasses import dataclass

from labutils.bench import stats
from labutils.train.devices import usable_cores
from labutils.train.pipelines.limits import one_core
from labutils.train.pipelines.throughput import as_written, timed


@dataclass(frozen=True)
class Standing:
    """Samples/s: `limit` is the work on one core times the `cores`, `rates` are {variant: (rate, low, high)}."""

    cores: int
    seconds: float  # of one core for a sample
    rates: dict

    @property
    def limit(self):
        """Samples/s that all cores give at most for this work."""
        return self.cores / self.seconds

    @property
    def reason(self):
        """Why the limit is what it is: "2 cores / 1.06 ms"."""
        return f"{self.cores} core{'s' if self.cores > 1 else ''} / {self.seconds * 1e3:.3g} ms"

    def efficiency(self, variant):
        """The share of the limit that a variant achieves; above 1 it skips work that the others do."""
        return self.rates[variant][0] / self.limit


def standing(work, variants, samples, *, rounds=8, cores=None):
    """Measure `variants`, {name: dataset}, beside `work`, the plain chain that says what has to be done: a Standing.

    In each round `work` is read once on one core and every variant once as it is written, so what the machine does
    meanwhile meets all. Rates are those after the first element, as speed-ups over that one core with their 99%
    interval (`bench.stats`). Each dataset gives the same `samples` in an epoch, in two elements or more. ValueError for
    no variants, one element, or too few rounds for an interval.
    """
    if not variants or samples < 1 or rounds < 3:
        raise ValueError("Give at least one variant, one sample and three rounds: fewer give no interval.")
    datasets = [one_core(work), *map(as_written, variants.values())]
    for dataset in datasets:
        _seconds(dataset)  # first epochs start threads, and fill caches
    alone, *others = zip(*([_seconds(dataset) for dataset in datasets] for _ in range(rounds)), strict=True)
    per_sample = statistics.median(alone) / samples
    rates = {name: _rate(alone, times, per_sample) for name, times in zip(variants, others, strict=True)}
    return Standing(cores or usable_cores(), per_sample, rates)


def _rate(alone, times, per_sample):
    """(rate, low, high) of a variant from its speed-up over one core, round by round."""
    speedups = [math.log(one / other) for one, other in zip(alone, times, strict=True)]
    return tuple(math.exp(value) / per_sample for value in stats.centre_and_interval(speedups))


def _seconds(dataset):
    """Seconds of an epoch at the rate after its first element, which alone waits for threads to start."""
    reading = timed(dataset)
    if reading.elements < 2:
        raise ValueError(
            f"An epoch has {reading.elements} elements: the rate after the first one needs two. Use smaller batches."
        )
    return reading.elements / reading.rate
