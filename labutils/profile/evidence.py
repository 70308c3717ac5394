"""A job with its steps and their split, as the looks for symptoms ask for it; and what such a look finds."""

from dataclasses import dataclass

import numpy as np

from labutils.bench.units import format_si
from labutils.profile import intervals
from labutils.profile.segments import SEGMENTS, split, steps_of

PS = 1e12
NOTICED = 0.1  # of a step: what takes less is nobody's bottleneck
MOST_STEPS = 0.6  # of the steps in which something must happen to be a habit
FEW_STEPS = 3
UNEVEN, FEWEST_UNEVEN = 1.2, 5  # mean over median of the step times; and steps it takes to say so


@dataclass(frozen=True)
class Found:
    """A symptom with the share of the step it explains, from 0 to 1, and its evidence in one sentence."""

    name: str
    share: float
    evidence: str


class Job:
    """A host with its steps and their split, and the few figures that several symptoms ask for. Times in seconds."""

    def __init__(self, host, span):
        self.host, self.steps = host, steps_of(host, span)
        self.windows = self.steps.windows
        self.split = split(host, self.steps)
        lengths = (self.windows[:, 1] - self.windows[:, 0]) / PS
        #: Whether a few steps cost so much that the usual one does not stand for the job: then the mean does.
        self.uneven = len(lengths) >= FEWEST_UNEVEN and float(lengths.mean()) > UNEVEN * float(np.median(lengths))
        figures = self.split.means if self.uneven else self.split.medians
        self.segments = figures() if len(self.steps) else dict.fromkeys(SEGMENTS, 0.0)
        self.step_time = sum(self.segments.values())

    def share(self, segment):
        return self.segments[segment] / self.step_time if self.step_time else 0.0

    def usual(self, moments):
        """Seconds of these moments in the usual step."""
        return float(np.median(intervals.within(moments, self.windows))) / PS if len(self.windows) else 0.0

    def often(self, moments, least=0.0):
        """In how many of the steps these moments take more than `least` seconds."""
        return int((intervals.within(moments, self.windows) > least * PS).sum())

    def count(self, starts):
        """How many of these begin in the usual step."""
        starts = np.sort(np.asarray(starts))
        return float(np.median(np.diff(np.searchsorted(starts, self.windows), axis=1))) if len(self.windows) else 0.0

    @property
    def spread(self):
        """Interquartile range of the step times over their median."""
        times = self.windows[:, 1] - self.windows[:, 0]
        low, middle, high = np.percentile(times, [25, 50, 75])
        return float((high - low) / middle)


def s(seconds):
    return format_si(seconds, "s")
