"""Input and compute of a few steps: one after the other without prefetch, one below the other with it."""

from itertools import pairwise
from math import inf
from statistics import median
from typing import NamedTuple

from matplotlib.collections import PolyCollection

from labutils.bench.units import format_si
from labutils.show import style
from labutils.theory import checks
from labutils.theory.timeline import StepSpec, predict_step

PHASES = ("input", "compute")
_LANES = {"without prefetch": False, "with prefetch": True}
_HEIGHT = 0.86  # of a row
_BLOCK = 3.0  # rows that a lane takes: its name, input, compute
_NUMBER_INCHES = 0.26  # width of a bar that holds a batch's number


class _Span(NamedTuple):
    phase: str
    start: float
    end: float
    batch: int | None = None


class _Lane(NamedTuple):
    name: str
    spans: list
    step_time: float
    rows: tuple = PHASES


def draw_overlap(input_time, compute_time, steps=4, axis=None, width=10.0):
    """Draw `steps` predicted steps without and with prefetch, from the first batch on: a Figure.

    Times are seconds of one step; `axis` is how many seconds the axis shows, all of them without it (a slider keeps
    its bars comparable with a fixed one). ValueError for negative times, or where neither takes any.
    """
    times = _times(input_time, compute_time, steps)
    lanes = [_predicted(*times, prefetch, steps, name, first=True) for name, prefetch in _LANES.items()]
    title = _saving(*times, lanes[0].step_time, lanes[1].step_time)
    return _draw(lanes, title, "time since the first batch was asked for (ms)", axis, width)


def draw_measured_overlap(input_time, compute_time, without, with_prefetch, width=10.0):
    """Draw measured steps below the predicted ones, on one axis, without and with prefetch: a Figure.

    `without` and `with_prefetch` are measured spans, each (phase, start, end) in seconds of any clock, phase "input"
    (while the step waits for it) or "compute". As many steps are predicted as were measured, and each lane begins with
    a step that finds the pipeline running. ValueError for times as in `draw_overlap`, or fewer than two steps.
    """
    measured = [_measured(spans, name) for spans, name in zip((without, with_prefetch), _LANES, strict=True)]
    steps = max(sum(span.phase == "compute" for span in lane.spans) for lane in measured)
    times = _times(input_time, compute_time, steps)
    predicted = [_predicted(*times, prefetch, steps, f"{name}: predicted") for name, prefetch in _LANES.items()]
    starts = times[0], 0.0  # of the first compute: after its input, or with it there already
    measured = [_moved(lane, start) for lane, start in zip(measured, starts, strict=True)]
    shares = [1 - after.step_time / before.step_time for before, after in (predicted, measured)]
    change = "shortens" if shares[1] >= 0 else "lengthens"
    title = f"Prefetch {change} the step by {abs(shares[1]):.0%} here (predicted: {shares[0]:.0%} shorter)"
    lanes = [lane for pair in zip(predicted, measured, strict=True) for lane in pair]
    return _draw(lanes, title, "time (ms); waiting: for the input", None, width)


def _times(input_time, compute_time, steps):
    checks.count("steps", steps, "count the steps to draw")
    times = [
        checks.number(name, value, "give the seconds that it takes for one batch")
        for name, value in (("input_time", input_time), ("compute_time", compute_time))
    ]
    if not any(times):
        raise ValueError("There is nothing to draw: neither input nor compute takes any time. Give one of them some.")
    return times


def _predicted(input_time, compute_time, prefetch, steps, name, first=False):
    """`steps` steps as predicted; with `first`, they begin with the batch that prefetch cannot hide."""
    times = {"input_time": input_time, "forward_time": compute_time, "backward_time": 0.0}
    timeline = predict_step(StepSpec(replicas=1, prefetch=prefetch, **times))
    zero = input_time if prefetch and first else 0.0
    spans = [_Span("input", 0.0, zero, 1)] if zero else []
    for step in range(steps):
        begin = zero + step * timeline.step_time
        for event in timeline.events:
            phase = "input" if event.phase == "input" else "compute"
            batch = step + 1 + (phase == "input" and prefetch)  # with prefetch the next step's input runs
            if batch <= steps:
                spans.append(_Span(phase, begin + event.start, begin + event.end, batch if first else None))
    return _Lane(name, spans, timeline.step_time)


def _measured(spans, name):
    try:
        spans = [_Span(phase, float(start), float(end)) for phase, start, end in spans]
    except (TypeError, ValueError):
        raise ValueError(f"a span {name} is not (phase, start, end), in seconds: {spans!r}.") from None
    wrong = [span for span in spans if span.phase not in PHASES or not -inf < span.start <= span.end < inf]
    if wrong:
        raise ValueError(
            f"a span {name} is {tuple(wrong[0][:3])}: give (phase, start, end), the phase input or compute, "
            f"and an end that does not come before the start."
        )
    starts = sorted(span.start for span in spans if span.phase == "compute")
    if len(starts) < 2:
        raise ValueError(f"{len(starts)} steps were measured {name}: give two or more, so that a step has a length.")
    step_time = median(after - before for before, after in pairwise(starts))
    if step_time <= 0:
        raise ValueError(f"the steps measured {name} all start at once: give the start of each.")
    return _Lane(f"{name}: measured", spans, step_time, ("waiting", "compute"))


def _moved(lane, start):
    """The lane with its first compute at `start`, without what lies before 0: both lanes then begin alike."""
    move = start - min(span.start for span in lane.spans if span.phase == "compute")
    spans = [_Span(span.phase, max(span.start + move, 0.0), span.end + move) for span in lane.spans]
    return lane._replace(spans=[span for span in spans if span.end > 0])


def _saving(input_time, compute_time, without, with_prefetch):
    share = 1 - with_prefetch / without
    if input_time == 0:
        return "Prefetch saves nothing: there is no input to wait for"
    if compute_time == 0:
        return "Prefetch saves nothing: there is no compute to hide the input behind"
    left = "both alike" if input_time == compute_time else "input" if input_time > compute_time else "compute"
    return f"Prefetch saves {share:.0%}: the longer of the two is left ({left})"


def _draw(lanes, title, label, axis, width):
    end = max(span.end for lane in lanes for span in lane.spans)
    shown = (checks.number("axis", axis, "give the seconds that the axis shows", positive=True) if axis else end) * 1e3
    with style.style():
        height = 1.35 + 0.36 * _BLOCK * len(lanes)
        figure = style.picture(width, height)
        axes = figure.add_axes((0.95 / width, 0.68 / height, 1 - 2.65 / width, 1 - 1.2 / height))
        inches_per_ms = (width - 2.65) / shown
        for phase in PHASES:
            _draw_phase(axes, lanes, phase, inches_per_ms, shown)
        for number, lane in enumerate(lanes):
            _label_lane(axes, number * _BLOCK, lane, shown)
        axes.set_xlim(0, shown)
        axes.set_ylim(len(lanes) * _BLOCK - 0.3, -0.45)
        axes.yaxis.set_visible(False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(label)
        figure.text(0.15 / width, 1 - 0.12 / height, title, size=15, weight="bold", va="top")
    return figure


def _draw_phase(axes, lanes, phase, inches_per_ms, shown):
    row = 1 + PHASES.index(phase)
    color, boxes = style.color(phase), []
    ink = style.ink_on(color)
    for number, lane in enumerate(lanes):
        middle = number * _BLOCK + row
        top, bottom = middle - _HEIGHT / 2, middle + _HEIGHT / 2
        for _, start, end, batch in (span for span in lane.spans if span.phase == phase):
            left, right = start * 1e3, end * 1e3
            boxes.append(style.box(left, right, bottom, top))
            if batch and (right - left) * inches_per_ms > _NUMBER_INCHES and (left + right) / 2 < shown:
                axes.text((left + right) / 2, middle, str(batch), ha="center", va="center", size=12, color=ink)
    axes.add_collection(PolyCollection(boxes, facecolor=color, edgecolor="white", linewidth=0.8))


def _label_lane(axes, top, lane, shown):
    end = min(max(span.end for span in lane.spans) * 1e3, shown)
    rows = [(top + row - _HEIGHT / 2, top + row + _HEIGHT / 2) for row in (1, 2)]
    boxes = [style.box(0, end, low, high) for high, low in rows]
    axes.add_collection(PolyCollection(boxes, color=style.FAINT, zorder=0))
    where = axes.get_yaxis_transform()
    axes.text(0, top + 0.1, lane.name, weight="bold", va="center", transform=where)
    names = "\n".join(lane.rows)  # few texts: each takes longer to draw than all bars together
    axes.text(-0.01, top + 1.5, names, ha="right", va="center", size=12, linespacing=2.3, transform=where)
    axes.text(end, top + 1.5, f" {format_si(lane.step_time, 's')}\n a step", size=14, weight="bold", va="center")
