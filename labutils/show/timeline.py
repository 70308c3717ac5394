"""The lane-per-replica picture of a step: who does what when, predicted or measured."""

import math

from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from labutils.profile.lanes import lanes
from labutils.show import style

# The lane's main track goes to the first of these; what runs at the same time gets a track of its own.
_TRACK_ORDER = ("backward", "forward", "compute", "split", "update", "all-reduce", "input")
_LANE_HEIGHT = 0.8
_LABEL_INCHES = 0.11  # width that one letter of a label takes
_MOST_LABELS = 6  # with more bars the legend must do: a text takes longer to draw than all bars together


TITLE = "One step, replica by replica"


def draw_timeline(events, title=TITLE, width=11.0, step_time=None):
    """Draw events as bars, one lane per replica: a Figure.

    Each event begins with (lane, phase, start, end), in seconds of any clock; the axis starts at the first
    one. A predicted Timeline's `.events` fit, and so do measured tuples. Phases that run at the same time (an
    all-reduce behind the backward pass) share the lane, one above the other. `step_time`, in seconds: the axis
    goes from 0 to there, also where the step begins or ends with a gap. ValueError for no events, an unknown phase,
    or an event that ends before it starts.
    """
    events = [_checked(event) for event in events]
    if not events:
        raise ValueError("there are no events to draw: pass at least one (lane, phase, start, end).")
    zero = min(start for _, _, start, _ in events) if step_time is None else 0.0
    span = max(step_time or 0.0, *(end for _, _, _, end in events)) - zero
    factor, prefix = style.si_scale(span)
    lanes = list(dict.fromkeys(lane for lane, *_ in events))
    if all(isinstance(lane, int) for lane in lanes):
        lanes.sort()
    tracks = _tracks(events)

    with style.style():
        lane_inches = min(0.75, 7.5 / len(lanes))
        height = 1.7 + lane_inches * len(lanes)
        figure = style.picture(width, height)
        axes = figure.add_axes((1.5 / width, 0.7 / height, 1 - 1.75 / width, 1 - 1.7 / height))
        _draw_lanes(axes, len(lanes), span * factor)
        inches_per_unit = (width - 1.75) / (span * factor * 1.01 or 1)
        _draw_bars(axes, events, lanes, tracks, zero, factor, inches_per_unit, lane_inches)
        _label_axes(axes, lanes, span * factor, f"time since the step began ({prefix}s)")
        used = [phase for phase in style.ORDER if phase in tracks]
        handles = [Patch(color=style.color(phase), label=phase) for phase in used]
        figure.text(0.25 / width, 1 - 0.14 / height, title, fontsize=15, fontweight="bold", va="top")
        figure.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(1.4 / width, 1 - 0.42 / height),
            ncols=len(used),
            handlelength=1,
            columnspacing=1.4,
        )
    return figure


def draw_step(logdir, title=TITLE):
    """Draw the usual step of a capture, from its begin to the next one's: a Figure. BadCapture as `profile.lanes`."""
    found = lanes(logdir)
    return draw_timeline(found, title, step_time=found.step_time)


def _checked(event):
    try:
        lane, phase, start, end = tuple(event)[:4]
        start, end = float(start), float(end)
    except (TypeError, ValueError):
        raise ValueError(
            f"an event must begin with (lane, phase, start, end), but one is {event!r}: give times in seconds."
        ) from None
    style.color(phase)
    if not (math.isfinite(start) and math.isfinite(end)) or end < start:
        raise ValueError(
            f"{phase} of lane {lane} runs from {start} to {end} s, which is no span of time: "
            f"give a finite start and an end that does not come before it."
        )
    return lane, phase, start, end


def _tracks(events):
    """Give each phase a track, 0 the main one, so that in no lane two bars of one track overlap."""
    spans = {}
    for lane, phase, start, end in events:
        spans.setdefault(phase, []).append((lane, start, end))
    taken, tracks = [], {}
    for phase in sorted(spans, key=_TRACK_ORDER.index):
        track = next((t for t, others in enumerate(taken) if not _overlap(others + spans[phase])), len(taken))
        if track == len(taken):
            taken.append([])
        taken[track] = taken[track] + spans[phase]
        tracks[phase] = track
    return tracks


def _overlap(spans):
    # Two clocks read one after the other may cross by a few microseconds: that is no overlap to be seen.
    slack = 1e-3 * (max(end for *_, end in spans) - min(start for _, start, _ in spans))
    ends = {}
    for lane, start, end in sorted(spans, key=lambda span: span[1]):
        if start < ends.get(lane, -math.inf) - slack:
            return True
        ends[lane] = max(end, ends.get(lane, -math.inf))
    return False


def _draw_lanes(axes, lanes, span):
    bottoms = [row - _LANE_HEIGHT / 2 for row in range(lanes)]
    boxes = [style.box(0, span, bottom, bottom + _LANE_HEIGHT) for bottom in bottoms]
    axes.add_collection(PolyCollection(boxes, color=style.FAINT, zorder=1))


def _draw_bars(axes, events, lanes, tracks, zero, factor, inches_per_unit, lane_inches):
    rows = {lane: row for row, lane in enumerate(lanes)}
    track_height = _LANE_HEIGHT / (max(tracks.values()) + 1)
    labels_fit = track_height * lane_inches >= 0.2 and len(events) <= _MOST_LABELS
    for phase, track in tracks.items():
        color = style.color(phase)
        boxes = []  # one collection per phase: a patch for every bar would draw far slower
        for lane, _, start, end in (event for event in events if event[1] == phase):
            left, long = (start - zero) * factor, (end - start) * factor
            bottom = rows[lane] - _LANE_HEIGHT / 2 + track * track_height
            boxes.append(style.box(left, left + long, bottom, bottom + track_height))
            if labels_fit and long * inches_per_unit > _LABEL_INCHES * len(phase) + 0.1:
                middle = (left + long / 2, bottom + track_height / 2)
                ink = style.ink_on(color)
                axes.text(*middle, phase, ha="center", va="center", fontsize=12, color=ink, zorder=3)
        axes.add_collection(PolyCollection(boxes, facecolor=color, edgecolor="white", linewidth=0.6, zorder=2))


def _label_axes(axes, lanes, span, label):
    axes.set_xlim(0, span * 1.01 or 1)
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    every = -(-len(lanes) // 16)
    shown = range(0, len(lanes), every)
    for row in shown:  # as plain texts: ticks with their unseen marks would take most of the time of the picture
        name = f"replica {lanes[row]}" if isinstance(lanes[row], int) else str(lanes[row])
        where = axes.get_yaxis_transform()
        axes.text(-0.008, row, name, ha="right", va="center", fontsize=12, transform=where)
    axes.yaxis.set_visible(False)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(label)
