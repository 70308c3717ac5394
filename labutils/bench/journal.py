"""The optimiser's notebook: one change at a time, each kept or rolled back by its measurement."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labutils.bench.compare import NOTHING, Comparison, check_pairs, check_threshold, compare_watches
from labutils.bench.measure import Measurement
from labutils.bench.sampling import FEWEST, Stopwatch, check_budget
from labutils.bench.table import Table
from labutils.bench.units import format_ratio, format_si

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Trial:
    """One change: what it was compared as, what came of it, and the speed-up over the baseline after it.

    rejected: why it is not kept whatever its speed; empty where speed decides
    """

    name: str
    comparison: Comparison
    kept: bool
    speedup: float
    rejected: str = ""

    @property
    def outcome(self) -> str:
        """What became of it: "kept", "rolled back", or "failed" with what it failed of."""
        if self.comparison.error:
            return f"failed, rolled back: {self.comparison.error}"
        if self.rejected:
            return f"rolled back: {self.rejected}"
        return "kept" if self.kept else "rolled back"


class Journal:
    """Start from `baseline`, try one change after another, keep what is faster.

    Each trial is a `compare` against the best so far, so a change is judged on top of the ones kept before it.
    `sync`, `budget` (seconds for each trial), `threshold`, `pairs`, `clock` and `seed` are those of `compare`.
    `timed` names what a call is, in table and picture: "step time", "time of an epoch".

    baseline, best: the function you started from and the fastest so far; `compare(journal.baseline,
    journal.best)` measures the whole gain afresh.
    trials: what was tried, in order (`Trial`)
    """

    def __init__(
        self,
        baseline: Callable[[], object],
        *,
        sync: Callable[[object], object] | None = None,
        budget: float = 4.0,
        threshold: float = 0.02,
        pairs: int = FEWEST,
        clock: Callable[[], float] = time.perf_counter,
        seed: int | None = None,
        timed: str = "step time",
    ):
        self._budget, self._threshold, self._seed = check_budget(budget), check_threshold(threshold), seed
        self._pairs, self.timed = check_pairs(pairs), timed
        self._watch = lambda fn: Stopwatch(fn, sync, clock)
        self._watch(baseline)  # says now, not at the first trial, that baseline, sync or clock is no function
        self.baseline = self.best = baseline
        self._trials: list[Trial] = []

    @property
    def trials(self) -> tuple[Trial, ...]:
        return tuple(self._trials)

    @property
    def speedup(self) -> float:
        """The product of the ratios kept so far: 2.0 means half the baseline's time. 1.0 before any is kept."""
        return self._trials[-1].speedup if self._trials else 1.0

    def trial(self, name: str, variant: Callable[[], object], *, reject: str = "") -> Comparison:
        """Compare `variant` with the best so far: faster becomes the new best, anything else is rolled back.

        `reject` says why a variant that is wrong is rolled back even if it is faster: "every epoch is the same".

        A variant that raises is recorded as failed with its message, rolled back, and its Comparison has
        `.error` and the verdict "no difference". An error of the best itself, and an interrupt from the keyboard,
        pass unchanged and record nothing. Raises ValueError for a name that is empty or taken.
        """
        self._check_name(name)
        best, candidate = self._watch(self.best), self._watch(variant)
        try:
            found = compare_watches(
                best,
                candidate,
                budget=self._budget,
                threshold=self._threshold,
                pairs=self._pairs,
                seed=self._next_seed(),
            )
        except Exception as error:
            if not candidate.failed:
                raise
            found = _failure(error, self._threshold)
        kept = found.verdict == "faster" and not reject
        self._trials.append(Trial(name, found, kept, self.speedup * (found.ratio if kept else 1.0), reject))
        if kept:
            self.best = variant
        return found

    def _next_seed(self) -> int | None:
        return None if self._seed is None else self._seed + len(self._trials)

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"A trial is named by a string; this name is {name!r}. Say what the change is.")
        if not name.strip():
            raise ValueError("A trial needs a name that says what the change is, such as 'prefetch'.")
        if any(name == trial.name for trial in self._trials):
            raise ValueError(
                f"There is a trial named {name!r} already. Give this one another name, or start a new Journal."
            )

    def baseline_measurement(self) -> Measurement:
        """The baseline as the first successful trial measured it; without values before that."""
        return next((t.comparison.baseline for t in self._trials if not t.comparison.error), NOTHING)

    def table(self) -> Table:
        """What was tried, in order: time, ratio to the best at the time (99% interval), speed-up so far.

        Times come from each trial's own run, so a machine that changed between two trials shows in them;
        the ratios, measured side by side, are what to believe.
        """
        start = self.baseline_measurement()
        step_time = format_si(start.median, "s") if start.values else "not measured yet"
        rows = [["baseline", step_time, "", format_ratio(1.0), ""], *map(_row, self._trials)]
        dim = [number for number, trial in enumerate(self._trials, start=1) if not trial.kept]
        header = ["change", self.timed, "ratio to the best", "speed-up so far", "outcome"]
        return Table(header, rows, right=(1, 2, 3), dim=dim)

    def plot(self) -> Figure:
        """The waterfall: from the baseline's time down to the best, one bar a change.

        Raises ValueError before the first trial that could be measured.
        """
        from labutils.bench.plot import waterfall  # Matplotlib only when a picture is asked for

        return waterfall(self)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def _failure(error: Exception, threshold: float) -> Comparison:
    first_line = next(iter(str(error).strip().splitlines()), "")
    message = f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
    nan = float("nan")
    return Comparison(NOTHING, NOTHING, nan, (nan, nan), threshold, error=message)


def _row(trial: Trial) -> list[str]:
    found = trial.comparison
    outcome = textwrap.shorten(trial.outcome, 80, placeholder=" ...")
    if found.error:
        return [trial.name, "-", "-", format_ratio(trial.speedup), outcome]
    low, high = map(format_ratio, found.interval)
    ratio = f"{format_ratio(found.ratio)} ({low} to {high})"
    return [
        trial.name,
        format_si(found.variant.median, "s"),
        ratio,
        format_ratio(trial.speedup),
        outcome + (" (doubtful)" if found.unstable else ""),
    ]
