"""How much of a stretch of time was work of this process, how much waiting for a core, and how much mere waiting."""

import glob
import os
import time
from dataclasses import astuple, dataclass

import psutil

_IDLE = 0.5  # cores that must stand idle for time without work to count as waiting, where Linux does not tell


@dataclass(frozen=True)
class Spent:
    """Seconds: on the `wall`, of processor time (`cpu`), and ready to run but without a core (`delay`).

    `delay` and `cpu` are of all threads of the process together, `others` is the processor time of other processes.
    """

    wall: float = 0.0
    cpu: float = 0.0
    delay: float = 0.0
    others: float = 0.0

    @property
    def undisturbed(self):
        """The wall time that it would have taken with the cores to itself, were one thread at work at a time."""
        return max(self.wall - self.delay, min(self.cpu, self.wall))

    @property
    def waiting(self):
        """Seconds of `undisturbed` in which no core was at work: for a disk, a server, a sleep."""
        return max(0.0, self.undisturbed - self.cpu)

    def __add__(self, other):
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Spent(*(mine + its for mine, its in pairs))


class Meter:
    """Runs from its creation; `spent(wall)` gives the Spent since, for `wall` seconds that the caller has timed."""

    def __init__(self):
        self._start = self._read()

    def spent(self, wall):
        """The Spent since the meter was made."""
        passed, cpu, delay, busy, idle, stolen = (
            None if now is None else now - then for now, then in zip(self._read(), self._start, strict=True)
        )
        others = max(0.0, busy - cpu)
        if delay is None:
            delay = 0.0 if idle > _IDLE * passed else wall - cpu
        return Spent(wall, cpu, max(0.0, delay + stolen), others)

    @staticmethod
    def _read():
        machine = psutil.cpu_times()
        busy = machine.user + machine.system + getattr(machine, "nice", 0.0)
        stolen = getattr(machine, "steal", 0.0)  # a virtual machine's cores, taken by its host while they had work
        return time.perf_counter(), time.process_time(), _run_delay(), busy, machine.idle, stolen


def _run_delay():
    """Seconds that the threads of this process were ready and had no core, by Linux's account; None elsewhere."""
    files = glob.glob(f"/proc/{os.getpid()}/task/*/schedstat")
    total = 0
    for file in files:
        try:
            with open(file, encoding="ascii") as stat:
                total += int(stat.read().split()[1])
        except (OSError, IndexError, ValueError):  # a thread that has just ended
            continue
    return total / 1e9 if files else None
