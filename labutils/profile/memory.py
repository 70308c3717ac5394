"""What a training step keeps in memory for its backward pass, operator by operator, from a capture.

TensorFlow's allocators write every allocation into the profile: those of GPUs always, that of the CPU where
`devices.configure(count_memory=True)` asked for it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labutils.bench.table import Table
from labutils.bench.units import format_si
from labutils.profile import runs, xplane

MOST_BYTES = 64 << 20  # of a capture's file: this reader holds all of it
_NAMES = ("MemoryAllocation", "MemoryDeallocation")
_BACKWARD = "gradient_tape"
_MARKERS = "step_num"


@dataclass(frozen=True)
class Kept:
    """`operators`: {name: bytes} of what the forward pass of the usual step has left when the backward pass begins."""

    operators: dict

    @property
    def total(self):
        """Bytes in all."""
        return sum(self.operators.values())

    def of(self, *words):
        """Bytes of the operators whose names contain one of these words."""
        return sum(size for name, size in self.operators.items() if any(word in name for word in words))

    def table(self, most=8):
        """A Table of the operators, the largest first."""
        ordered = sorted(self.operators.items(), key=lambda each: -each[1])
        rows = [[name, format_si(size, "B")] for name, size in ordered[:most]]
        rest = sum(size for _, size in ordered[most:])
        rows += [[f"{len(ordered) - most} others", format_si(rest, "B")]] if rest else []
        return Table(["made by", "kept"], [*rows, ["in all", format_si(self.total, "B")]], right=(1,))


def kept_for_backward(logdir, run=None):
    """Read a capture's allocations: Kept, of the marked step whose total is the median.

    BadCapture where there is no capture, no marked step, no allocation, or no backward pass of a GradientTape.
    """
    chosen, _ = runs.choose(logdir, run)
    files, _ = runs.distinct(chosen.of("xplane"))
    if not files:
        raise runs.BadCapture(f"Run {chosen.name} holds no .xplane.pb, and so no allocations.")
    space = _parsed(files[0].path)
    events, steps = _events(space), _steps(space)
    if not events:
        raise runs.BadCapture(
            f"Run {chosen.name} holds no allocations. On a CPU they are counted only where the kernel began with "
            "devices.configure(count_memory=True)."
        )
    found = sorted((_kept_in(events, *step) for step in steps), key=lambda kept: kept.total)
    found = [kept for kept in found if kept.operators]
    if not found:
        raise runs.BadCapture(f"Run {chosen.name} shows no marked step with a backward pass in it.")
    return found[len(found) // 2]


def _parsed(path):
    from google.protobuf.message import DecodeError

    path = Path(path)
    if path.stat().st_size > MOST_BYTES:
        raise runs.BadCapture(f"{path.name} is larger than {format_si(MOST_BYTES, 'B')}: capture fewer steps.")
    space = xplane.messages().XSpace()
    try:
        space.ParseFromString(path.read_bytes())
    except DecodeError:
        raise runs.BadCapture(f"{path.name} is mangled: it does not decode. Capture anew.") from None
    return space


def _events(space):
    """[(time, whether it allocates, {statistic: value})] of all allocators, in order."""
    found = []
    for plane in space.planes:
        names = {key: value.name for key, value in plane.event_metadata.items() if value.name in _NAMES}
        texts = {key: value.name for key, value in plane.stat_metadata.items()}
        for line in plane.lines if names else ():
            for event in line.events:
                if event.metadata_id in names:
                    time = line.timestamp_ns * 1000 + event.offset_ps
                    found.append((time, names[event.metadata_id] == _NAMES[0], _stats(event, texts)))
    return sorted(found, key=lambda each: each[0])


def _stats(event, texts):
    found = {}
    for stat in event.stats:
        kind = stat.WhichOneof("value")
        value = getattr(stat, kind) if kind else None
        found[texts.get(stat.metadata_id)] = texts.get(value, "") if kind == "ref_value" else value
    return found


def _steps(space):
    """[(start, end)] of the marked steps, in ps."""
    found = []
    for plane in space.planes:
        keys = {key for key, value in plane.stat_metadata.items() if value.name == _MARKERS}
        for line in plane.lines if keys else ():
            for event in line.events:
                if any(stat.metadata_id in keys for stat in event.stats):
                    start = line.timestamp_ns * 1000 + event.offset_ps
                    found.append((start, start + event.duration_ps))
    return sorted(set(found))


def _kept_in(events, start, end):
    times = np.array([time for time, *_ in events])
    live = {}
    for _, allocates, stats in events[np.searchsorted(times, start) : np.searchsorted(times, end, "right")]:
        operator = str(stats.get("tf_op") or "")
        if allocates and _BACKWARD in operator:
            break
        if allocates:
            live[stats.get("addr")] = (operator, int(stats.get("requested_bytes") or 0))
        else:
            live.pop(stats.get("addr"), None)
    else:
        return Kept({})
    sums = {}
    for operator, size in live.values():
        name = re.sub(r"^[^/]*/", "", operator) or "(unnamed)"
        sums[name] = sums.get(name, 0) + size
    return Kept(sums)
