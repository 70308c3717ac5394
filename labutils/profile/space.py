"""What a capture holds, whatever file it came in: planes (hosts and devices) of lines (threads, streams) of events."""

from dataclasses import dataclass, field

import numpy as np

PS = 10**12  # picoseconds in a second: the profiler's own unit


@dataclass
class Line:
    """Events of one thread or stream. Times are in ps from the capture's zero; `names[n]` indexes `labels`.

    stats: {place of an event: {statistic: value}}, for the few events and statistics that the analysis asks for
    """

    name: str
    labels: list
    starts: np.ndarray
    durations: np.ndarray
    names: np.ndarray
    stats: dict = field(default_factory=dict)

    @property
    def ends(self):
        return self.starts + self.durations

    def __len__(self):
        return len(self.starts)

    def where(self, wanted):
        """A mask of the events whose name `wanted` accepts; each different name is asked for once."""
        known = np.unique(self.names)
        accepted = [number for number in known.tolist() if wanted(self.labels[number])]
        return np.isin(self.names, accepted)

    def label(self, place):
        return self.labels[self.names[place]]


@dataclass
class Plane:
    """A host ("/host:CPU"), a device ("/device:GPU:0"), or something about the capture."""

    name: str
    lines: list
    stats: dict = field(default_factory=dict)

    def __len__(self):
        return sum(map(len, self.lines))


@dataclass
class Space:
    """One host's capture. `until` is the last moment that every line was read to (ps); `share` how much was read."""

    planes: list
    share: float = 1.0
    until: int | None = None

    @property
    def hosts(self):
        return [plane for plane in self.planes if plane.name.startswith("/host:") and len(plane)]

    @property
    def devices(self):
        return [plane for plane in self.planes if plane.name.startswith("/device:")]

    @property
    def events(self):
        return sum(map(len, self.planes))

    @property
    def span(self):
        """From the first event's start to the last one's end (ps); (0, 0) without events."""
        lines = [line for plane in self.planes for line in plane.lines if len(line)]
        if not lines:
            return 0, 0
        first = min(int(line.starts.min()) for line in lines)
        last = max(int(line.ends.max()) for line in lines)
        return first, last if self.until is None else min(last, self.until)
