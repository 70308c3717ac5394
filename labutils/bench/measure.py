"""One function, measured: warmed up, repeated within a budget, with an interval and its own doubts."""

from __future__ import annotations

import gc
import html
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from numbers import Real

from labutils.bench import stats
from labutils.bench.sampling import FEWEST, MOST, Stopwatch, check_budget
from labutils.bench.units import format_si, format_si_together, unit_of

WIDEST_SPREAD = 0.20  # interquartile range over median
WIDEST_INTERVAL = 0.05  # half the interval over median
LARGEST_DRIFT = 0.05  # change from first to last over median
FEWEST_FOR_MEDIAN = 6  # below it no order-statistics interval reaches 95%


@dataclass(frozen=True, repr=False)
class Measurement:
    """What `measure` found. Truth is `values`; everything else is read from them.

    values: seconds per call, one for each timed slot, in order, none left out (or samples/s after `throughput`)
    unit: "s" or "samples/s"
    median, interval: the median and its 95% interval, from order statistics (`stats.median_interval`)
    unstable: sentences that say why not to trust the figure; empty when nothing speaks against it
    first: the first call of all, apart from `values`, because tracing, compiling and cold caches show there
    calls: calls timed together for each value; 1 unless the function is too short for the clock
    """

    values: tuple[float, ...] = field(repr=False)
    unit: str
    median: float
    interval: tuple[float, float]
    unstable: tuple[str, ...] = ()
    first: float = math.nan
    calls: int = 1

    @property
    def n(self) -> int:
        """How many values stand behind the median."""
        return len(self.values)

    def throughput(self, samples: int) -> Measurement:
        """The same measurement in samples/s, given how many samples one call processes.

        Raises ValueError for fewer than one sample, or where this measurement is a throughput already.
        """
        if isinstance(samples, bool) or not isinstance(samples, Real):
            raise TypeError(f"samples is how many samples one call processes; it was {samples!r}.")
        if not 0 < samples < math.inf:
            raise ValueError(f"samples is how many samples one call processes, 1 or more; it was {samples!r}.")
        if self.unit != "s":
            raise ValueError(f"This measurement is in {self.unit} already. Call throughput on one in seconds.")
        low, high = self.interval
        rates = tuple(_rate(samples, value) for value in self.values)
        return replace(
            self,
            values=rates,
            unit="samples/s",
            median=_rate(samples, self.median),
            interval=(_rate(samples, high), _rate(samples, low)),
            first=_rate(samples, self.first),
        )

    def __str__(self) -> str:
        return f"{self._middle()} ({self._fine_print()})" if self.values else "nothing measured"

    def __repr__(self) -> str:
        return "\n".join([str(self), *(f"  not to be trusted - {reason}" for reason in self.unstable)])

    def _repr_html_(self) -> str:
        if not self.values:
            return "<div>nothing measured</div>"
        first = "" if math.isnan(self.first) else f"; first call {format_si(self.first, self.unit)}"
        headline = f"<b>{html.escape(self._middle())}</b> ({html.escape(self._fine_print() + first)})"
        return f"<div>{headline}{doubts_html(self.unstable)}</div>"

    def _middle(self) -> str:
        return format_si(self.median, self.unit)

    def _fine_print(self) -> str:
        _, low, high = format_si_together([self.median, *self.interval], self.unit)
        grouped = f" x {self.calls:,} calls" if self.calls > 1 else ""
        return f"95% {low} to {high} {unit_of(self.median, self.unit)}, n = {self.n:,}{grouped}"


def doubts_html(reasons: Iterable[str]) -> str:
    """The reasons not to trust a figure, a line each, for a notebook."""
    return "".join(
        f'<div style="color:#a33c00">&#9888; Not to be trusted: {html.escape(reason)}.</div>' for reason in reasons
    )


def measure(
    fn: Callable[[], object],
    *,
    sync: Callable[[object], object] | None = None,
    budget: float = 2.0,
    clock: Callable[[], float] = time.perf_counter,
) -> Measurement:
    """Measure how long `fn()` takes, in seconds per call, and say how far to trust the figure.

    `sync` is applied to each result and counted with it: `lambda r: r.numpy()` waits for work that TensorFlow
    only queued. The first call is reported apart as `.first`. Then come a warm-up, until calls get no faster
    (at most a fifth of `budget`), and timed slots until `budget` seconds have passed since the first call; a
    function too slow for that still gets three. Functions shorter than a slot are called several times in each.

    Python's garbage collector runs once before the first slot, so that `fn` does not pay for garbage made
    earlier, and is then left as you have it: a function that makes garbage pays for its collection, as it would
    in your training loop. Exceptions from `fn` and `sync`, and an interrupt from the keyboard, pass unchanged;
    nothing needs cleaning up after either. Raises TypeError or ValueError for arguments that make no sense.
    """
    budget = check_budget(budget)
    watch = Stopwatch(fn, sync, clock)
    gc.collect()
    first = watch.slot()
    start = clock()
    kept, unsettled = watch.warm_up(shortest=budget / MOST, seconds=budget / 5)
    values = kept
    while len(values) < MOST:
        spent = clock() - start
        if len(values) >= FEWEST and (watch.blind or spent + values[-1] * watch.calls > budget):
            break
        values.append(watch.slot())
    return describe(values, first=first, watch=watch, unsettled=unsettled)


def describe(values: Iterable[float], *, first: float, watch: Stopwatch, unsettled: str = "") -> Measurement:
    """The Measurement of raw `values` (seconds per call) that `watch` took."""
    values = tuple(map(float, values))  # an injected clock may count in NumPy's numbers
    median, interval = _median(values), stats.median_interval(values)
    reasons = [watch.too_short(median), unsettled, *_doubts(values, median, interval)]
    return Measurement(values, "s", median, interval, tuple(r for r in reasons if r), float(first), watch.calls)


def _median(values: tuple[float, ...]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _doubts(values: tuple[float, ...], median: float, interval: tuple[float, float]) -> list[str]:
    if median <= 0:
        return []  # the clock saw nothing, which has been said
    reasons = []
    if len(values) < FEWEST_FOR_MEDIAN:
        reasons.append(
            f"too few: {len(values)} calls filled the budget, and a 95% interval needs {FEWEST_FOR_MEDIAN}; "
            "give a larger budget"
        )
    half = (interval[1] - interval[0]) / 2 / median
    if (spread := stats.spread(values)) > WIDEST_SPREAD:
        reasons.append(f"spread: the middle half of the calls spans {spread:.0%} of the median")
    elif half > WIDEST_INTERVAL:
        reasons.append(f"spread: the median is known only to {half:.0%} either way; give a larger budget")
    change = stats.drift(values)
    if abs(change) > LARGEST_DRIFT:
        way = "slower" if change > 0 else "faster"
        reasons.append(f"drift: calls got {abs(change):.0%} {way} from first to last")
    return reasons


def _rate(samples: float, seconds: float) -> float:
    return samples / seconds if seconds else math.inf
