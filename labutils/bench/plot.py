"""The journal's waterfall picture. Imported only when one is asked for, because Matplotlib takes its time."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt

from labutils.bench.units import format_ratio, format_si, unit_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from labutils.bench.journal import Journal, Trial

# Okabe and Ito's colours: told apart by every kind of colour vision, and in grey.
BLUE, GREEN, GREY, RED = "#0072B2", "#009E73", "#999999", "#D55E00"
FONT = 13  # points; read from the back of a room
_BEYOND = 1.45  # in baselines: a slower variant's bar stops here, and its label tells the rest


def waterfall(journal: Journal) -> Figure:
    """The journal as a picture: the bars that were kept lead from the baseline's step time to the best's.

    Lengths are the ratios' share of the baseline's step time, because the ratios were measured side by side
    and the step times of different trials were not. A change rolled back is drawn hollow, from the step time it
    was tried at to the one it would have given; in red where it was refused whatever its speed.
    """
    start = journal.baseline_measurement().median
    if not start > 0:
        raise ValueError("There is nothing to draw yet: run journal.trial(name, variant) first.")
    rows = len(journal.trials) + 2
    names = [
        "baseline",
        *(textwrap.fill(textwrap.shorten(t.name, 60, placeholder=" ..."), 28) for t in journal.trials),
        "best",
    ]
    figure, axes = plt.subplots(figsize=(10, 1.3 + 0.62 * rows), layout="constrained")
    _total(axes, 0, start, format_si(start, "s"))
    level = start
    for row, trial in enumerate(journal.trials, start=1):
        level = _change(axes, row, trial, start, level)
    _total(axes, rows - 1, level, f"{format_si(level, 's')}: {format_ratio(journal.speedup)} as fast")
    axes.set_yticks(range(rows), names, fontsize=FONT)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_xlim(0, start * _BEYOND)
    _seconds_axis(axes, start, journal.timed)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_title(
        "One change at a time: filled is time saved, hatched was tried and not kept", fontsize=FONT + 2, loc="left"
    )
    figure.draw_without_rendering()  # the layout takes two passes to make room for labels beside the axes
    plt.close(figure)  # a notebook shows the returned figure; left open it would show twice
    return figure


def _total(axes, row: int, seconds: float, label: str) -> None:
    axes.barh(row, seconds, color=BLUE, height=0.62)
    _label(axes, row, seconds, label, "black")


def _change(axes, row: int, trial: Trial, start: float, level: float) -> float:
    """Draw one trial that began at step time `level`; return the step time after it."""
    axes.plot([level, level], [row - 1 + 0.31, row + 0.31], color="black", linewidth=1)
    if trial.comparison.error:
        reason = textwrap.shorten(trial.comparison.error, 44, placeholder="...")
        _label(axes, row, level, f"failed: {reason}", "#555555")
        return level
    after = level / trial.comparison.ratio
    label = format_ratio(trial.comparison.ratio)
    if trial.kept:
        axes.barh(row, level - after, left=after, color=GREEN, height=0.62)
        _label(axes, row, level, f"{label} kept", GREEN)
        axes.plot([after, after], [row - 0.31, row + 0.31], color="black", linewidth=1)
        return after
    end = min(after, start * _BEYOND)
    edge, ink, why = (RED, RED, f"but {trial.rejected}") if trial.rejected else (GREY, "#555555", "rolled back")
    axes.barh(row, end - level, left=level, color="white", edgecolor=edge, hatch="///", height=0.62, linewidth=1.5)
    why = textwrap.shorten(why, 48, placeholder="...") if trial.rejected else why
    beyond = ", off this scale" if after > end else ""
    _label(axes, row, max(level, end), f"{label}{',' if trial.rejected else ''} {why}{beyond}", ink)
    return level


def _label(axes, row: int, x: float, text: str, colour: str) -> None:
    axes.annotate(text, (x, row), xytext=(8, 0), textcoords="offset points", va="center", fontsize=FONT, color=colour)


def _seconds_axis(axes, start: float, timed: str) -> None:
    """Label the axis in the unit that suits the baseline."""
    unit = unit_of(start, "s")
    factor = {"ns": 1e9, "µs": 1e6, "ms": 1e3, "s": 1.0}[unit]
    axes.xaxis.set_major_formatter(lambda seconds, _: f"{seconds * factor:g}")
    axes.set_xlabel(f"{timed} ({unit})", fontsize=FONT)
    axes.tick_params(axis="x", labelsize=FONT - 1)
