"""The stopwatch: one function, called in slots that are long enough for the clock to see.

A slot is a few consecutive calls timed together; its value is seconds per call. `sync` is applied to each call's
result inside the slot, so that work which was only queued is waited for and counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise, repeat
from statistics import median

FEWEST = 3  # timed slots, even where they outlast the budget
MOST = 5000  # values kept of one function
TICKS = 1000  # clock steps a slot should last: one step of error is then 0.1%
FEWEST_TICKS = 100  # below this the clock's steps are over 1% of a slot, and the figure says so
_MOST_CALLS = 1 << 20  # in a slot; also what ends calibration against a clock that stands still
_WINDOW = 5  # slots compared with the five before them to see whether calls still get faster
_SETTLED = 0.97  # under this ratio they do


class Stopwatch:
    """Times `fn` in slots of `calls` calls with `clock` (a function that returns seconds).

    `failed` turns True when an exception leaves `fn` or `sync`; the exception itself passes unchanged.
    """

    def __init__(self, fn: Callable, sync: Callable | None, clock: Callable[[], float]):
        for name, value in (("The function to time", fn), ("clock", clock), ("sync", sync)):
            if not callable(value) and not (name == "sync" and value is None):
                raise TypeError(
                    f"{name} must be callable; it is {value!r}. Pass the function itself, without calling it: "
                    "`step` or `lambda: step(batch)`."
                )
        self.fn, self.sync, self.clock = fn, sync, clock
        self.calls = 1
        self.typical = 0.0  # seconds per call, as the warm-up last saw it
        self.blind = False  # True when the clock shows nothing: no budget would ever be spent
        self.failed = False
        self.tick = clock_step(clock)

    def slot(self) -> float:
        """Seconds per call over one slot. The loop is a C iterator: tens of nanoseconds a call."""
        fn, sync, clock = self.fn, self.sync, self.clock
        try:
            if sync is None:
                start = clock()
                for _ in repeat(None, self.calls):
                    fn()
                stop = clock()
            else:
                start = clock()
                for _ in repeat(None, self.calls):
                    sync(fn())
                stop = clock()
        except Exception:
            self.failed = True
            raise
        if stop < start:
            raise ValueError(
                f"The clock ran backwards, from {start!r} to {stop!r}. Use one that never does, such as "
                "time.perf_counter."
            )
        return (stop - start) / self.calls

    def fit(self, shortest: float, longest: float) -> float:
        """Raise `calls` until a slot lasts `shortest` seconds and many steps of the clock; seconds per call then.

        A clock too coarse for that gets slots of about `longest` seconds.
        """
        blank = False
        while True:
            value = self.slot()
            seen = value * self.calls
            if blank and seen > 0 and self.tick == 0:
                self.tick = seen  # half as many calls did not show at all: this is about one step of the clock
            blank = seen == 0
            enough = min(max(shortest, TICKS * self.tick), longest)
            if seen >= enough or self.calls >= _MOST_CALLS:
                return value
            factor = min(max(1.2 * enough / seen, 2.0), 16.0) if seen > 0 else 2.0
            self.calls = min(int(self.calls * factor), _MOST_CALLS)

    def warm_up(self, shortest: float, seconds: float) -> tuple[list[float], str]:
        """Run slots of at least `shortest` seconds until they get no faster, for at most about `seconds`.

        Returns what is worth keeping (a call so long that warming up further would cost a repetition; else
        nothing) and, where calls were still getting faster at the end, a sentence that says so.
        """
        start = self.clock()
        slots = [self.fit(shortest, seconds / 10)]
        self.typical = slots[0]
        if slots[0] * self.calls >= seconds:
            return slots, ""
        if slots[0] == 0:
            self.blind = True
            return [], ""
        while (spent := self.clock() - start) < seconds and len(slots) < MOST:
            if spent >= seconds / 4 and _settled(slots):
                return [], ""
            slots.append(self.slot())
            self.typical = median(slots[-_WINDOW:])
        if len(slots) < 2 * _WINDOW or _settled(slots):
            return [], ""
        return [], "warm-up: calls were still getting faster when timing began; give a larger budget"

    def too_short(self, per_call: float) -> str:
        """A sentence where `per_call` seconds cannot be told from the clock's steps or the loop's own cost."""
        if per_call <= 0 or per_call * self.calls < FEWEST_TICKS * self.tick:
            return (
                f"too short: {self.calls} calls together last too few steps of the clock; put more work into one call"
            )
        if per_call > 5e-6:
            return ""
        nothing = Stopwatch(_nothing, None, self.clock)
        nothing.calls = self.calls
        own = min(nothing.slot() for _ in range(5))
        if own <= 0.1 * per_call:
            return ""
        return (
            f"too short: {per_call * 1e9:.0f} ns were measured, and calling a function that does nothing costs "
            f"about {own * 1e9:.0f} ns; put more work into one call"
        )


def _nothing():
    return None


def _settled(slots: list[float]) -> bool:
    if len(slots) < 2 * _WINDOW:
        return False
    return median(slots[-_WINDOW:]) >= _SETTLED * median(slots[-2 * _WINDOW : -_WINDOW])


def clock_step(clock: Callable[[], float]) -> float:
    """The smallest step `clock` shows when read again and again (s), its own cost included; 0.0 if it shows none."""
    readings = [clock() for _ in range(100)]
    steps = [b - a for a, b in pairwise(readings) if b > a]
    known = next((n for n in _CLOCKS if clock is getattr(time, n)), None)
    return max(min(steps, default=0.0), time.get_clock_info(known).resolution if known else 0.0)


_CLOCKS = ("perf_counter", "monotonic", "time", "process_time", "thread_time")


def check_budget(budget: float) -> float:
    """`budget` as a positive number of seconds, or a sentence about why it is none."""
    try:
        seconds = float(budget)
    except (TypeError, ValueError):
        raise TypeError(f"budget is a number of seconds; it was {budget!r}. Try budget=2.0.") from None
    if not 0 < seconds < float("inf"):
        raise ValueError(f"budget is a positive number of seconds; it was {budget!r}. Try budget=2.0.")
    return seconds
