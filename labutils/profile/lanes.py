"""One usual step of a capture as bars: a lane for each replica, device or host, and what it did when."""

import numpy as np

from labutils.profile import intervals, reading, runs
from labutils.profile.evidence import PS
from labutils.profile.job import host_of
from labutils.profile.segments import steps_of

_SEEN = 1 / 300  # of the step: a gap that is shorter than this would not be seen in a picture


class Lanes(list):
    """(lane, phase, start, end) of one step, in seconds from its begin; `step_time`, in seconds, is its length."""

    step_time = 0.0


def lanes(logdir, run=None):
    """The Lanes of the step whose length is the usual one.

    Phases are "input" (while the step waits for it), "compute", "all-reduce" and, on a CPU, "update"; lanes are
    replicas, devices or hosts. BadCapture as `diagnose`, and where no operator ran in any step.
    """
    chosen, _ = runs.choose(logdir, run)
    spaces, _ = reading.read(chosen)
    found = Lanes()
    for name, space in (spaces or {}).items():
        host = host_of(space, name)
        steps = steps_of(host, space.span)
        if len(steps):
            window = _usual(steps)
            found += _of_host(host, window, f"{name} " if len(spaces) > 1 else "")
            found.step_time = max(found.step_time, (window[1] - window[0]) / PS)
    if not found:
        raise runs.BadCapture(f"Run {chosen.name} shows no step with an operator in it: there is nothing to draw.")
    return found


def _usual(steps):
    lengths = steps.windows[:, 1] - steps.windows[:, 0]
    return steps.windows[np.argmin(np.abs(lengths - np.median(lengths)))]


def _of_host(host, window, prefix):
    busy = {}
    for device in host.active:
        for lane, compute, update, communication in _parts(device, host.on_cpu):
            exposed = intervals.without(communication, intervals.merge(compute, update))
            busy[prefix + lane] = {"compute": compute, "all-reduce": exposed, "update": update}
    works = [moments for each in busy.values() for moments in (each["compute"], each["update"])]
    waits = intervals.without(host.waiting, intervals.merge(*works))
    bars = []
    for lane, phases in busy.items():
        for phase, moments in {"input": waits, **phases}.items():
            bars += [(lane, phase, start, end) for start, end in _bars(moments, window)]
    return bars


def _parts(device, on_cpu):
    """(lane, compute, update, communication): a lane for each replica of one process, or for the device."""
    operators = device.operators
    if not on_cpu:
        return [(device.name, device.compute, intervals.NONE, device.communication)]
    replicas = np.unique(operators.replicas).tolist()
    if len(replicas) < 2:
        update = _update(operators, operators.replicas == replicas[0])
        return [(device.name, intervals.without(device.compute, update), update, device.communication)]
    parts = []
    for replica in replicas:
        own = operators.replicas == replica
        update = _update(operators, own)
        compute = intervals.without(operators.busy(own), intervals.merge(device.communication, update))
        parts.append((f"replica {replica}", compute, update, device.communication))
    return parts


def _update(operators, own):
    """When the operators of one replica updated variables and did nothing else."""
    return intervals.without(operators.busy(own & operators.updates), operators.busy(own & ~operators.updates))


def _bars(moments, window):
    """The moments within the window, in seconds from its begin; what lies closer than can be seen is one bar."""
    start, end = window
    inside = intervals.both(moments, np.array([[start, end]], np.int64))
    if not len(inside):
        return []
    least = max(1, int((end - start) * _SEEN))
    widened = intervals.union(inside[:, 0], np.minimum(inside[:, 1] + least, end))
    ends = np.minimum(np.maximum(widened[:, 1] - least, widened[:, 0]), end)
    # What reaches to the window's end was cut there, and not widened beyond it.
    ends = np.where(widened[:, 1] == end, inside[-1, 1], ends)
    return [((left - start) / PS, (right - start) / PS) for left, right in zip(widened[:, 0], ends, strict=True)]
