"""Reading a trace.json of the trace viewer, where it is all that is left: the same Space, from other events."""

import numpy as np

from labutils.profile.runs import BadCapture, load_trace
from labutils.profile.space import PS, Line, Plane, Space

MOST_EVENTS = 1_000_000  # the viewer itself keeps no more
_STATS = {"step_num", "tf_function_call", "eager_op", "is_func", "group_id"}
LONGEST = 86_400 * PS  # no capture takes a day
_US = 10**6  # ps in a microsecond, the trace's unit


def read(path):
    """The Space of a trace. BadCapture for one that is none, or has no events."""
    events = load_trace(path)["traceEvents"]
    processes, threads, found = {}, {}, {}
    for event in events[:MOST_EVENTS]:
        if not isinstance(event, dict):
            continue
        kind, arguments = event.get("ph"), event.get("args")
        arguments = arguments if isinstance(arguments, dict) else {}
        if isinstance(event.get("pid"), (list, dict)) or isinstance(event.get("tid"), (list, dict)):
            continue
        if kind == "M" and event.get("name") == "process_name":
            processes[event.get("pid")] = str(arguments.get("name", ""))
        elif kind == "M" and event.get("name") == "thread_name":
            threads[event.get("pid"), event.get("tid")] = str(arguments.get("name", ""))
        elif kind == "X":
            found.setdefault((event.get("pid"), event.get("tid")), []).append(event)
    if not found:
        raise BadCapture(f"{path.name} holds no events. Capture again, over some steps.")
    try:
        zero = min(float(event["ts"]) for each in found.values() for event in each)
        lines = {place: _line(threads.get(place, ""), each, zero) for place, each in found.items()}
    except (KeyError, TypeError, ValueError, OverflowError):
        raise BadCapture(f"{path.name} is mangled: an event has no time. Copy it again, or capture anew.") from None
    planes = {}
    for (process, _), line in lines.items():
        planes.setdefault(_plane_name(processes.get(process, "")), []).append(line)
    return Space([Plane(name, each) for name, each in planes.items()], min(1.0, MOST_EVENTS / len(events)))


def _plane_name(process):
    """ "/host:CPU" out of "/host:CPU (pid 7)" or "/job:worker/.../host:CPU"."""
    for kind in ("/device:", "/host:"):
        if kind in process:
            return kind + process.split(kind, 1)[1].split(" ")[0]
    return process or "/host:CPU"


def _line(name, events, zero):
    names = [str(event.get("name", "?")) for event in events]
    labels, places = np.unique(np.array(names, object).astype(str), return_inverse=True)
    starts = np.array([(float(event["ts"]) - zero) * _US for event in events])
    durations = np.array([float(event.get("dur", 0)) * _US for event in events])
    if not (
        np.isfinite(starts).all() and np.isfinite(durations).all() and max(starts.max(), durations.max()) < LONGEST
    ):
        raise ValueError("an event is at no time, or longer than any capture")
    starts, durations = starts.astype(np.int64), durations.astype(np.int64)
    if durations.min() < 0:
        raise ValueError("an event is shorter than nothing")
    stats = {}
    for place, event in enumerate(events):
        arguments = event.get("args")
        kept = {key: value for key, value in arguments.items() if key in _STATS} if isinstance(arguments, dict) else {}
        if kept:
            stats[place] = kept
    return Line(name, labels.tolist(), starts, durations, places, stats)
