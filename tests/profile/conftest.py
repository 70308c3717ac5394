"""Captures made by hand: events of known times, so that every figure of a diagnosis is known beforehand."""

import pytest
from hypothesis import HealthCheck, settings

from labutils.profile import xplane

settings.register_profile(
    "course", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("course")

MS = 10**9  # ps
PYTHON, COMPUTE, INPUT = ("/host:CPU", "python"), ("/host:CPU", "tf_Compute/1"), ("/host:CPU", "tf_data_private/1")


class Made:
    """A capture in the making: `event(place, name, start, length)` with times in ms, then `write(path)`."""

    PYTHON, COMPUTE, INPUT = PYTHON, COMPUTE, INPUT

    def __init__(self):
        self.lines = {}

    def event(self, place, name, start, length, **stats):
        self.lines.setdefault(place, []).append((name, start, length, stats))
        return self

    def steps(self, number, length, first=0, marked=None, rest=()):
        """Marked steps one behind the other; `rest` are (place, name, start, length, stats) within each."""
        for step in range(number):
            begin = first + step * length
            self.event(PYTHON, "train", begin, marked or length, step_num=step)
            for place, name, start, took, stats in rest:
                self.event(place, name, begin + start, took, **stats)
        return self

    def space(self, timestamp_ns=1_700_000_000_000_000_000):
        made = xplane.messages().XSpace(hostnames=["made"])
        planes, ids = {}, {}
        for (plane_name, line_name), events in self.lines.items():
            if plane_name not in planes:
                planes[plane_name] = made.planes.add(name=plane_name)
            plane = planes[plane_name]
            line = plane.lines.add(id=len(plane.lines) + 1, name=line_name, timestamp_ns=timestamp_ns)
            for name, start, length, stats in events:
                number = ids.setdefault((plane_name, name), len(ids) + 1)
                plane.event_metadata[number].id, plane.event_metadata[number].name = number, name
                event = line.events.add(metadata_id=number, offset_ps=int(start * MS), duration_ps=int(length * MS))
                for key, value in stats.items():
                    stat = ids.setdefault((plane_name, "stat", key), len(ids) + 1)
                    plane.stat_metadata[stat].id, plane.stat_metadata[stat].name = stat, key
                    if isinstance(value, int):
                        event.stats.add(metadata_id=stat, int64_value=value)
                    else:
                        event.stats.add(metadata_id=stat, str_value=value)
        return made

    def write(self, logdir, run="2026_01_02_03_04_05", host="host"):
        path = logdir / "plugins" / "profile" / run / f"{host}.xplane.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.space().SerializeToString())
        return path


@pytest.fixture
def made():
    return Made


@pytest.fixture
def usual():
    """Steps of 10 ms: 2 wait for input, 5 compute, 1 communicates, and 2 are gaps."""
    rest = [
        (PYTHON, "IteratorGetNextOp::DoCompute", 0, 2, {}),
        (COMPUTE, "model/dense/MatMul:MatMul", 3, 4, {}),
        (COMPUTE, "model/dense/Relu:Relu", 6, 2, {}),  # overlaps with the product
        (COMPUTE, "CollectiveReduceV2:CollectiveReduceV2", 7.5, 1.5, {}),  # half a ms of it is hidden
        (INPUT, "map/MatMul:MatMul", 0, 9, {}),  # work of the input's own threads is no compute
    ]
    return lambda number=8: Made().steps(number, 10, rest=rest)
