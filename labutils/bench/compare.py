"""Two functions, compared in turns, so that whatever the machine does meets both alike."""

from __future__ import annotations

import gc
import html
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import numpy as np

from labutils.bench import stats
from labutils.bench.measure import Measurement, describe, doubts_html
from labutils.bench.sampling import FEWEST, FEWEST_TICKS, Stopwatch, check_budget
from labutils.bench.units import format_ratio

MOST_PAIRS = 2000
MOST_OF_BUDGET = 1 / 30  # that one pair may take, when a side is so short that it needs many calls a turn
NOTHING = Measurement((), "s", math.nan, (math.nan, math.nan))
_COLOURS = {"faster": "#00785a", "slower": "#a33c00", "no difference": "#555555"}


@dataclass(frozen=True, repr=False)
class Comparison:
    """What `compare` found.

    baseline, variant: the Measurement of each side, in seconds; their values are paired, turn by turn
    ratio: speed-up, baseline time over variant time; above 1 the variant is faster
    interval: its 99% interval; (0, inf) where too few pairs were timed to say
    threshold: the smallest speed-up or slow-down of interest, 0.02 for 2%
    unstable: sentences that say why not to trust the ratio
    error: what the variant died of, in a Journal; empty otherwise
    """

    baseline: Measurement
    variant: Measurement
    ratio: float
    interval: tuple[float, float]
    threshold: float = 0.02
    unstable: tuple[str, ...] = ()
    error: str = ""

    @property
    def verdict(self) -> str:
        """The variant is "faster" or "slower" where the whole interval and the threshold say so.

        Everything else is "no difference": none, or none that this run could show.
        """
        low, high = self.interval
        if low > 1 and self.ratio >= 1 + self.threshold:
            return "faster"
        if high < 1 and self.ratio <= 1 / (1 + self.threshold):
            return "slower"
        return "no difference"

    @property
    def resolution(self) -> float:
        """The smallest difference this run could have told from none, as a share: 0.03 for 3%; inf for none.

        Half the interval, or the threshold where that is larger.
        """
        low, high = self.interval
        if not 0 < low <= high < math.inf:
            return math.inf
        return max(self.threshold, math.sqrt(high / low) - 1)

    def __str__(self) -> str:
        if self.error:
            return f"failed: {self.error}"
        low, high = self.interval
        return f"{self.verdict}: {format_ratio(self.ratio)} (99% {format_ratio(low)} to {format_ratio(high)})"

    def _explained(self) -> str:
        """What "no difference" means here; empty for any other outcome."""
        if self.error or self.verdict != "no difference":
            return ""
        if math.isinf(self.resolution):
            return "This run could not have shown any difference."
        low, high = self.interval
        if low > 1 or high < 1:
            return f"What difference there is stays below the {self.threshold:.1%} that would matter here."
        return f"This run could have shown a difference of {self.resolution:.1%} or more."

    def _sides(self) -> list[tuple[str, str]]:
        return [] if self.error else [("baseline", str(self.baseline)), ("variant", str(self.variant))]

    def __repr__(self) -> str:
        lines = [f"{self}. {self._explained()}".removesuffix(" ").removesuffix(".")]
        lines += [f"  {name:8}  {text}" for name, text in self._sides()]
        return "\n".join([*lines, *(f"  not to be trusted - {reason}" for reason in self.unstable)])

    def _repr_html_(self) -> str:
        colour = _COLOURS["slower" if self.error else self.verdict]
        head, _, rest = str(self).partition(": ")
        rows = "".join(
            f'<tr><td style="text-align:left">{name}</td><td style="text-align:left">{html.escape(text)}</td></tr>'
            for name, text in self._sides()
        )
        table = f"<table>{rows}</table>" if rows else ""
        return (
            f'<div><b style="color:{colour}">{head}</b>: {html.escape(rest)}. {html.escape(self._explained())}'
            f"{doubts_html(self.unstable)}{table}</div>"
        )


def compare(
    baseline: Callable[[], object],
    variant: Callable[[], object],
    *,
    sync: Callable[[object], object] | None = None,
    budget: float = 4.0,
    threshold: float = 0.02,
    pairs: int = FEWEST,
    clock: Callable[[], float] = time.perf_counter,
    seed: int | None = None,
) -> Comparison:
    """Compare how long `baseline()` and `variant()` take; `.ratio` above 1 means the variant is faster.

    The two take turns in pairs, so a machine that slows down slows both; in two pairs of every four, drawn by
    lot, the variant goes first. Each pair gives one ratio, and the verdict rests on the logarithms of these
    (Hodges-Lehmann centre, Wilcoxon's 99% interval: `stats.centre_and_interval`), which neither drift nor a few
    very slow calls can sway. A difference below `threshold` (0.02 for 2%) is never reported as one.

    `budget` is in seconds, for both sides together, after the first call of each; at least `pairs` are timed
    whatever they cost: ask for ten where a verdict must stand on a slow machine, too. `sync`, the garbage
    collector, exceptions and interrupts: as in `measure`. `seed` repeats a run's order. Raises TypeError or
    ValueError for arguments that make no sense.
    """
    watches = Stopwatch(baseline, sync, clock), Stopwatch(variant, sync, clock)
    return compare_watches(*watches, budget=budget, threshold=threshold, pairs=pairs, seed=seed)


def compare_watches(
    a: Stopwatch, b: Stopwatch, *, budget: float, threshold: float, pairs: int, seed: int | None
) -> Comparison:
    """`compare` for stopwatches already made; the Journal asks them afterwards which side failed."""
    budget, threshold, pairs = check_budget(budget), check_threshold(threshold), check_pairs(pairs)
    gc.collect()
    firsts = a.slot(), b.slot()
    start = a.clock()
    shortest = budget / MOST_PAIRS / 2
    unsettled = [watch.warm_up(shortest, seconds=budget / 10)[1] for watch in (a, b)]
    _share_calls(a, b, budget * MOST_OF_BUDGET)
    left, right = _take_turns(a, b, start + budget, pairs, random.Random(seed))
    sides = [
        describe(values, first=first, watch=watch, unsettled=late)
        for values, first, watch, late in zip((left, right), firsts, (a, b), unsettled, strict=True)
    ]
    centre, low, high = stats.centre_and_interval(_log_ratios(left, right))
    ratio, interval = math.exp(centre), (math.exp(low), math.exp(high))
    return Comparison(*sides, ratio, interval, threshold, _doubts(sides))


def _share_calls(a: Stopwatch, b: Stopwatch, longest: float) -> None:
    """Give both sides the same number of calls a turn, so that a pair lasts about `longest` seconds at most.

    Time per call depends on how long a turn is: on a busy machine a short one often slips in between two
    interruptions and a long one never does. With unequal turns a function would differ from itself.
    """
    calls = max(a.calls, b.calls)
    affordable = int(longest / (a.typical + b.typical)) if a.typical + b.typical > 0 else calls
    calls = max(1, min(calls, affordable))
    if all(watch.typical * calls >= FEWEST_TICKS * watch.tick for watch in (a, b)):
        a.calls = b.calls = calls
    # Otherwise one side is thousands of times the other's length, and nothing subtle is left to decide.


def _take_turns(a: Stopwatch, b: Stopwatch, deadline: float, fewest: int, lots: random.Random) -> tuple[list, list]:
    """Seconds per call of each side, pair by pair, until the deadline, and for `fewest` pairs at least."""
    left, right, order = [], [], []
    while len(left) < MOST_PAIRS:
        if len(left) >= fewest:
            next_pair = left[-1] * a.calls + right[-1] * b.calls
            if (a.blind and b.blind) or a.clock() + next_pair > deadline:
                break
        # Each side goes first in two pairs of every four, which cancels a steady drift; which two is drawn by
        # lot, so that a machine with a rhythm of its own does not fall into step with the turns.
        order = order or lots.sample([True, True, False, False], 4)
        if order.pop():
            left.append(a.slot())
            right.append(b.slot())
        else:
            right.append(b.slot())
            left.append(a.slot())
    return left, right


def _log_ratios(left: list[float], right: list[float]) -> np.ndarray:
    """Logarithms of baseline over variant; a slot that a coarse clock saw as 0 counts as half the smallest seen."""
    pairs = np.array([left, right], dtype=float)
    seen = pairs[pairs > 0]
    if not len(seen):
        return np.zeros(0)
    a, b = np.log(np.maximum(pairs, seen.min() / 2))
    return a - b


def _doubts(sides: list[Measurement]) -> tuple[str, ...]:
    """What speaks against a ratio: drift and spread do not, for they meet both sides and widen the interval."""
    reasons = []
    if sides[0].n < stats.FEWEST_FOR_RANKS:
        reasons.append(
            f"too few: {sides[0].n} pairs filled the budget, and {stats.FEWEST_FOR_RANKS} make a verdict that "
            "odd calls cannot sway; give a larger budget"
        )
    for name, side in zip(("baseline", "variant"), sides, strict=True):
        reasons += [f"{name} {reason}" for reason in side.unstable if reason.startswith(("too short", "warm-up"))]
    return tuple(reasons)


def check_threshold(threshold: float) -> float:
    """`threshold` as a share from 0 up, or a sentence about why it is none."""
    if isinstance(threshold, bool) or not isinstance(threshold, Real):
        raise TypeError(f"threshold is a share, such as 0.02 for 2%; it was {threshold!r}.")
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold is a share from 0 to 1, such as 0.02 for 2%; it was {threshold!r}.")
    return float(threshold)


def check_pairs(pairs: int) -> int:
    """`pairs` as a whole number from 3 to 2000, or a sentence about why it is none."""
    if isinstance(pairs, bool) or not isinstance(pairs, int):
        raise TypeError(f"pairs is a whole number, such as 10; it was {pairs!r}.")
    if not FEWEST <= pairs <= MOST_PAIRS:
        raise ValueError(f"pairs is a number from {FEWEST} to {MOST_PAIRS}; it was {pairs}.")
    return pairs
