"""The four segments of a step: every moment of it is compute, communication, waiting for input, or a gap."""

from dataclasses import dataclass

import numpy as np

from labutils.profile import intervals

SEGMENTS = ("input", "gaps", "communication", "compute")
ENOUGH = 4  # steps from which on the first and the last one can be left out


@dataclass(frozen=True)
class Steps:
    """The steps that are judged: `windows` (n, 2) in ps, each to the next one's begin.

    markers: the same steps as they were marked, without what lies between two; source: where they come from
    left_out: how many were not judged, being the first, the last, or not whole
    """

    windows: np.ndarray
    markers: np.ndarray
    source: str
    left_out: int = 0

    def __len__(self):
        return len(self.windows)


def steps_of(host, span):
    """The Steps of a host: those that are marked; else the calls of its main function; else the capture as one."""
    for marks, source in ((host.steps, "markers"), (host.calls, "calls")):
        marks = marks[marks[:, 1] <= span[1]] if len(marks) else marks
        if len(marks) > (0 if source == "markers" else 2):
            steps = _whole_steps(marks, source)
            if source == "markers" or _regular(host, steps):
                return steps
    busy = [device.operators.busy() for device in host.active]
    if not busy:
        return Steps(intervals.NONE, intervals.NONE, "nothing")
    every = intervals.merge(*busy)
    window = np.array([[every[0, 0], every[-1, 1]]])
    return Steps(window, window, "capture")


def _regular(host, steps):
    """Whether these calls are the steps of a training: alike in length, and each with work for a device."""
    lengths = steps.windows[:, 1] - steps.windows[:, 0]
    busy = [intervals.within(device.operators.busy(), steps.windows) > 0 for device in host.active]
    working = np.mean(np.any(busy, axis=0)) if busy else 0.0
    return bool(np.median(lengths) >= 0.5 * lengths.mean() and working >= 0.8)


def _whole_steps(marks, source):
    """From each begin to the next: what lies between two steps belongs to the first. The last one ends with its mark.

    The first step of a capture pays for the profiler's own start. The last one has no successor, so it is not known
    what follows it.
    """
    nexts = np.append(marks[1:, 0], marks[-1, 1])
    windows = np.stack((marks[:, 0], np.maximum(nexts, marks[:, 0] + 1)), axis=1)
    if len(marks) < ENOUGH:
        return Steps(windows, marks, source)
    return Steps(windows[1:-1], marks[1:-1], source, 2)


@dataclass(frozen=True)
class Split:
    """Each step's time, split: ps by step for every one of SEGMENTS; and the moments of every segment."""

    times: dict
    moments: dict

    def medians(self):
        """{segment: seconds} of the usual step: medians, brought to the sum that the median step time is."""
        medians = {segment: float(np.median(times)) for segment, times in self.times.items()}
        whole, parts = float(np.median(sum(self.times.values()))), sum(medians.values())
        return {segment: median / 1e12 * (whole / parts if parts else 0.0) for segment, median in medians.items()}

    def means(self):
        """{segment: seconds} of the mean step."""
        return {segment: float(np.mean(times)) / 1e12 for segment, times in self.times.items()}


def split(host, steps):
    """Split the steps of a host: a Split, the mean over its devices that ran anything.

    A moment in which a device computes is compute. Of the rest, one in which it communicates is communication; of the
    rest, one in which the host waits for the next batch is input; what is left is a gap. So the four add up to the step
    exactly, and work that is hidden behind compute costs nothing.
    """
    splits = [_split_device(device, host.waiting, steps.windows) for device in host.active]
    if not splits:
        waits = intervals.within(host.waiting, steps.windows)
        whole = steps.windows[:, 1] - steps.windows[:, 0]
        zero = np.zeros(len(steps))
        return Split({"input": waits, "gaps": whole - waits, "communication": zero, "compute": zero}, {})
    times = {segment: np.mean([part.times[segment] for part in splits], axis=0) for segment in SEGMENTS}
    return Split(times, splits[0].moments)


def _split_device(device, waiting, windows):
    compute = device.compute
    # A copy that nothing hides is the device's time, too; which way it goes is a matter of symptoms.
    communication = intervals.without(device.communication, compute)
    compute = intervals.merge(compute, intervals.without(device.copies, communication))
    communication = intervals.without(communication, compute)
    busy = intervals.merge(compute, communication)
    waits = intervals.without(waiting, busy)
    moments = {"compute": compute, "communication": communication, "input": waits}
    times = {segment: intervals.within(found, windows) for segment, found in moments.items()}
    times["gaps"] = windows[:, 1] - windows[:, 0] - sum(times.values())
    windows_as_moments = intervals.union(windows[:, 0], windows[:, 1])
    moments["gaps"] = intervals.without(windows_as_moments, intervals.merge(busy, waits))
    return Split({segment: times[segment] for segment in SEGMENTS}, moments)
