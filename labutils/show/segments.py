"""The four segments of a step, one bar a job: what the device did, or what it waited for."""

import math

from matplotlib.patches import Patch

from labutils.bench.units import format_si
from labutils.show import style

#: {segment of a step: its colour}. Those that are phases of a step have the phase's colour; a gap is nobody's work.
COLORS = {
    "input": style.COLORS["input"],
    "gaps": "#CC79A7",
    "communication": style.COLORS["all-reduce"],
    "compute": style.COLORS["compute"],
}
LABELS = {
    "input": "waits for input",
    "gaps": "gaps between operators",
    "communication": "communication",
    "compute": "compute",
}
_LEAST_LABELLED = 0.07  # of the widest bar; a label in less would not fit


def draw_segments(jobs, title="Where the time of a step goes", width=11.0):
    """Draw {job: {segment: seconds}} as stacked bars with the step time behind each: a Figure.

    The segments are "input", "gaps", "communication" and "compute"; one that is left out took no time. ValueError for
    no job, another segment, or a time that is none.
    """
    jobs = {name: _checked(name, segments) for name, segments in dict(jobs).items()}
    if not jobs:
        raise ValueError("There are no jobs to draw: pass at least one {segment: seconds}.")
    longest = max(sum(segments.values()) for segments in jobs.values())
    factor, prefix = style.si_scale(longest)
    with style.style():
        height = 1.75 + 0.62 * len(jobs)
        left = min(0.3, 0.03 + 0.0095 * max(len(name) for name in jobs))
        figure = style.picture(width, height)
        axes = figure.add_axes((left, 0.72 / height, 0.97 - left, 1 - 1.72 / height))
        for row, segments in enumerate(jobs.values()):
            _draw_bar(axes, row, segments, factor, longest * factor)
            total = sum(segments.values())
            axes.text(total * factor + 0.01 * longest * factor, row, format_si(total, "s"), va="center", size=12)
        axes.set_xlim(0, longest * factor * 1.12 or 1)
        axes.set_ylim(len(jobs) - 0.5, -0.5)
        axes.set_yticks(range(len(jobs)), list(jobs))
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"time of a step ({prefix}s)")
        figure.text(0.02, 1 - 0.13 / height, title, size=15, weight="bold", va="top")
        handles = [Patch(color=COLORS[segment], label=LABELS[segment]) for segment in COLORS]
        figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.01, 1 - 0.42 / height), ncols=4)
    return figure


def _checked(name, segments):
    unknown = [segment for segment in segments if segment not in COLORS]
    if unknown:
        raise ValueError(f"{name} has a segment {unknown[0]!r}: a step is split into {', '.join(COLORS)}.")
    for segment, seconds in segments.items():
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"The {segment} of {name} is {seconds} s: give a time from 0 up.")
    return {segment: float(segments.get(segment, 0.0)) for segment in COLORS}


def _draw_bar(axes, row, segments, factor, widest):
    start, total = 0.0, sum(segments.values())
    for segment, seconds in segments.items():
        wide = seconds * factor
        axes.barh(row, wide, left=start, height=0.62, color=COLORS[segment])
        if wide >= _LEAST_LABELLED * widest:
            ink = style.ink_on(COLORS[segment])
            share = f"{seconds / total:.0%}"
            axes.text(start + wide / 2, row, share, ha="center", va="center", color=ink, size=12)
        start += wide
