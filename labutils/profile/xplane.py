"""Reading an .xplane.pb with TensorFlow's own message types, but without TensorFlow, whose import alone takes seconds.

The file is walked plane by plane and line by line, so that memory holds one line's messages at a time. Of a huge file
the beginning of every line is read, and the Space says how much that was.
"""

import functools
import importlib.util
import itertools
import mmap
from pathlib import Path

import numpy as np

from labutils.profile.runs import BadCapture
from labutils.profile.space import PS, Line, Plane, Space

MOST_BYTES = 24 << 20  # of events: a million or more of them, a few seconds
CHUNK = 4 << 20  # bytes of a long line that are held as messages at once
MOST_PLANES, MOST_LINES = 10_000, 100_000  # of a file: thousands of hosts have no more
SMALL_LINE = 64 << 10  # bytes of a line that is always read whole
LONGEST = 86_400 * PS  # no capture takes a day
STATS = {"step_num", "tf_function_call", "eager_op", "is_func", "bytes", "group_id", "hlo_category", "memcpy_details"}
_TRIES = 16  # events of a name without a statistic that matters, after which the name is not asked again
_PLANES, _LINES, _TIMESTAMP, _EVENTS = 1, 3, 3, 4  # field numbers in xplane.proto
_AT_ONCE = 50_000  # events of a long line


@functools.cache
def messages():
    """The module of xplane.proto, loaded by its path from TensorFlow's folder."""
    spec = importlib.util.find_spec("tensorflow")
    path = Path(spec.origin).parent / "tsl" / "profiler" / "protobuf" / "xplane_pb2.py"
    spec = importlib.util.spec_from_file_location("labutils_xplane_pb2", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(path, most_bytes=MOST_BYTES):
    """The Space of a file. BadCapture for one that is empty, cut off or mangled."""
    from google.protobuf.message import DecodeError

    try:
        with open(path, "rb") as file, _mapped(file) as data:
            return _read_space(data, most_bytes)
    except DecodeError:
        raise BadCapture(f"{path.name} is mangled: it does not decode. {_AGAIN}") from None
    except _CutOff:
        raise BadCapture(f"{path.name} is cut off or mangled: it ends in the middle of a message. {_AGAIN}") from None
    except (OSError, ValueError) as error:
        raise BadCapture(f"{path.name} cannot be read: {error}. {_AGAIN}") from None


_TOO_MANY = "it holds more devices or threads than any machine has, so it was mangled on its way"
_AGAIN = "Copy it again from where it was written, or capture anew."


class _CutOff(Exception):
    """A field reaches beyond the end of what holds it."""


def _mapped(file):
    if not file.seek(0, 2):
        raise ValueError("it is empty")
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _read_space(data, most_bytes):
    fields = (field for field in _fields(data, 0, len(data)) if field[0] == _PLANES)
    parts = [_split(data, start, end) for _, start, end in itertools.islice(fields, MOST_PLANES + 1)]
    if not parts:
        raise ValueError("there is no plane in it")
    if len(parts) > MOST_PLANES:
        raise ValueError(_TOO_MANY)
    places = [place for _, lines in parts for place in lines]
    heavy = sum(end - start for start, end in places if end - start > SMALL_LINE)
    share = min(1.0, most_bytes / heavy) if heavy else 1.0
    # Seconds since 1970 in ps need more than 64 bits: times count from the first line's.
    zero = min((_timestamp(data, *place) for place in places), default=0)
    planes, until = [], []
    for meta, lines in parts:
        made = [_line(data, start, end, meta, share, zero) for start, end in lines]
        until += [int(line.ends.max()) for line, whole in made if not whole]
        planes.append(Plane(meta.name, [line for line, _ in made], _plane_stats(meta)))
    _check_span(planes)
    return Space(planes, share, min(until, default=None))


def _split(data, start, end):
    """A plane's message without its lines, and where its lines lie."""
    lines, rest, at = [], [], start
    for field, inner, stop in _fields(data, start, end):
        if field == _LINES:
            lines.append((inner, stop))
            if len(lines) > MOST_LINES:
                raise ValueError(_TOO_MANY)
        else:
            rest.append(data[at:stop])
        at = stop
    meta = messages().XPlane()
    meta.ParseFromString(b"".join(rest))
    return meta, lines


def _timestamp(data, start, end):
    """A line's begin in ns, which stands in front of its events."""
    for field, _, stop in _fields(data, start, end):
        if field == _TIMESTAMP:
            line = messages().XLine()
            line.ParseFromString(data[start:stop])
            return line.timestamp_ns
        if field == _EVENTS:
            break
    return 0


def _line(data, start, end, meta, share, zero):
    """A Line, and whether all of it was read."""
    share = share if end - start > SMALL_LINE else 1.0
    if end - start <= CHUNK:
        line = messages().XLine()
        line.ParseFromString(data[start:end])
        reader, count = _Reader(meta), len(line.events)
        kept = max(1, int(count * share)) if count else 0
        reader.add(line.events[:kept] if kept < count else line.events)
    else:
        line, reader, kept, count = _long_line(data, start, end, meta, share)
    name = line.display_name or line.name
    return reader.line(name, (line.timestamp_ns - zero) * 1000), kept == count


def _long_line(data, start, end, meta, share):
    """The same for a line whose messages would fill the memory: a chunk at a time."""
    line, rest, places, at = messages().XLine(), [], [], start
    for field, _, stop in _fields(data, start, end):
        if field == _EVENTS:
            places.append((at, stop))
        else:
            rest.append(data[at:stop])
        at = stop
    line.ParseFromString(b"".join(rest))
    reader, kept = _Reader(meta), max(1, int(len(places) * share))
    for first in range(0, kept, _AT_ONCE):
        some = messages().XLine()
        some.ParseFromString(b"".join(data[at:stop] for at, stop in places[first : min(first + _AT_ONCE, kept)]))
        reader.add(some.events)
    return line, reader, kept, len(places)


class _Reader:
    """Gathers a line's events as numbers, and the few statistics that matter."""

    def __init__(self, meta):
        self.meta, self.numbers, self.stats = meta, [], {}
        self.texts = {key: value.name for key, value in meta.stat_metadata.items()}
        self.wanted = {key: name for key, name in self.texts.items() if name in STATS}
        self.tries, self.count = {}, 0

    def add(self, events):
        flat = np.fromiter(
            (value for event in events for value in (event.metadata_id, event.offset_ps, event.duration_ps)),
            np.int64,
            3 * len(events),
        )
        self.numbers.append(flat.reshape(-1, 3))
        if self.wanted:
            self._add_stats(events)
        self.count += len(events)

    def _add_stats(self, events):
        tries, wanted = self.tries, self.wanted
        for place, event in enumerate(events, start=self.count):
            name = event.metadata_id
            if tries.get(name, 0) >= _TRIES:
                continue
            found = {
                wanted[stat.metadata_id]: _value(stat, self.texts) for stat in event.stats if stat.metadata_id in wanted
            }
            if found:
                self.stats[place] = found
                tries[name] = -(10**9)
            else:
                tries[name] = tries.get(name, 0) + 1

    def line(self, name, zero_ps):
        numbers = np.concatenate(self.numbers) if self.numbers else np.zeros((0, 3), np.int64)
        sound = not len(numbers) or (numbers[:, 1:].min() >= 0 and numbers[:, 1:].max() <= LONGEST)
        if not sound or not 0 <= zero_ps <= LONGEST:
            raise ValueError("it holds an event at a time that cannot be, so it was mangled on its way")
        known, names = np.unique(numbers[:, 0], return_inverse=True)
        labels = [
            self.meta.event_metadata[key].name if key in self.meta.event_metadata else "?" for key in known.tolist()
        ]
        return Line(name, labels, numbers[:, 1] + zero_ps, numbers[:, 2], names, self.stats)


def _value(stat, texts):
    kind = stat.WhichOneof("value")
    value = getattr(stat, kind) if kind else None
    return texts.get(value, "") if kind == "ref_value" else value


def _plane_stats(meta):
    names = {key: value.name for key, value in meta.stat_metadata.items()}
    return {names.get(stat.metadata_id, "?"): _value(stat, names) for stat in meta.stats}


def _check_span(planes):
    """The capture says itself how long it was: an event that is longer was not measured but mangled."""
    about = next((plane.stats for plane in planes if "profile_stop_time" in plane.stats), {})
    ends = [about.get(f"profile_{when}_time", 0) for when in ("start", "stop")]
    if not all(isinstance(end, int) for end in ends):
        raise ValueError("its begin and its end are no times, so it was mangled on its way")
    took = (ends[1] - ends[0]) * 1000
    if took <= 0:
        return
    for plane in planes:
        for line in plane.lines:
            if len(line) and int(line.durations.max()) > 2 * took + 10 * PS:
                raise ValueError("it holds an event that is longer than the capture, so it was mangled on its way")


def _fields(data, start, end):
    """(field number, start, end) of each field of a message; for numbers the two are alike. _CutOff beyond the end."""
    at = start
    while at < end:
        key, at = _varint(data, at, end)
        field, kind = key >> 3, key & 7
        if kind == 2:
            size, at = _varint(data, at, end)
            stop = at + size
        elif kind == 0:
            _, stop = _varint(data, at, end)
        else:
            stop = at + (8 if kind == 1 else 4)
        if stop > end or kind not in (0, 1, 2, 5) or not field:
            raise _CutOff
        yield field, (at if kind == 2 else stop), stop
        at = stop


def _varint(data, at, end):
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            break
    raise _CutOff
