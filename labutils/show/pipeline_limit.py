"""A pipeline beside what the machine could do at best: the efficiency of each variant, the cost of each stage."""

import textwrap
from typing import NamedTuple

from matplotlib.patches import Patch

from labutils.bench.units import format_si
from labutils.show import style
from labutils.show.measured import MEASURED
from labutils.theory import checks, pipeline

_LIMIT = "#D55E00"
_DROPPED = "#C9C9C9"
_PALE = "#5E5E5E"  # ink of what was rolled back
_NAME_LETTERS = 32  # of a variant's name in one line
_LETTER_INCHES = 0.105
_LONGEST_IN_TITLE = 36
_BEYOND = 1.1  # times the limit: no error of measurement any more
_RIGHT = 2.35  # inches for the two columns of numbers
_TINTS = ("#B4B4B4", "#D2D2D2")  # of input's colour, in turns; the costliest stage is darker than both
_COSTLIEST = "#7F7F7F"


def draw_efficiency(variants, limit, reason="", dropped=(), title="", width=11.0):
    """Draw what each variant of a pipeline achieves as a bar, beside the machine's limit: a Figure.

    `variants`: {name: (rate, low, high)} in samples/s, `low` and `high` the ends of its interval; `limit` in samples/s,
    and the `reason` for it: "2 cores / 1.1 ms". Names in `dropped` were rolled back: their bars are grey. Efficiency
    is rate over limit. ValueError for no variants, values that are no rates, or a name in `dropped` that is no variant.
    """
    rates = {str(name): _checked(name, values) for name, values in variants.items()}
    limit = checks.number("limit", limit, "give the samples/s that the machine can do at best", positive=True)
    if not rates:
        raise ValueError("There is nothing to draw: give at least one variant, as {name: (rate, low, high)}.")
    unknown = [name for name in dropped if name not in rates]
    if unknown:
        raise ValueError(f"{unknown[0]!r} was dropped, but it is no variant: choose among {', '.join(rates)}.")
    names = [textwrap.fill(name, _NAME_LETTERS, max_lines=2, placeholder=" …") for name in rates]
    left = 0.3 + _LETTER_INCHES * max(len(line) for name in names for line in name.splitlines())
    above = 1.3 if dropped else 0.95  # inches for the title, the legend and the heads of the columns
    height = 0.7 + above + 0.5 * len(rates)
    with style.style():
        figure = style.picture(width, height)
        axes = figure.add_axes((left / width, 0.7 / height, 1 - (left + _RIGHT) / width, 1 - (0.7 + above) / height))
        _draw_bars(axes, rates, dropped)
        end = max(limit, *(high for _, _, high in rates.values())) * 1.03
        axes.set_xlim(0, end)
        axes.set_ylim(len(rates) - 0.5, -0.5)
        axes.axvline(limit, color=_LIMIT, ls="--")
        _write_numbers(axes, names, rates, limit, dropped, width - left - _RIGHT)
        _write_limit(axes, limit, reason, end)
        axes.yaxis.set_visible(False)
        axes.xaxis.set_major_formatter(lambda rate, _: f"{rate:,.10g}")
        axes.set_xlabel("samples/s; the thin line is the 99% interval")
        figure.text(
            0.02, 1 - 0.12 / height, title or _headline(rates, limit, dropped), size=15, weight="bold", va="top"
        )
        if dropped:
            handles = [Patch(color=MEASURED, label="kept"), Patch(color=_DROPPED, label="not kept")]
            place = (0.25 / width, 1 - 0.42 / height)
            figure.legend(handles=handles, loc="upper left", bbox_to_anchor=place, ncols=2, handlelength=1)
    return figure


def draw_costs(stages, cores, width=11.0):
    """Draw what a sample costs, stage by stage, as one bar, and say what limit follows on `cores` cores: a Figure.

    `stages` are those of `labutils.theory.pipeline`. A stage that waits is hatched: it takes no core. ValueError as
    for `pipeline.limit`, or where no stage costs anything.
    """
    stages = list(stages)
    most = pipeline.limit(stages, cores)
    drawn = [stage for stage in stages if stage.cost > 0]
    if not drawn:
        raise ValueError("There is nothing to draw: no stage costs anything. Measure them with more samples.")
    total = sum(stage.cost for stage in drawn)
    busy = sum(stage.cost for stage in drawn if not stage.waits)
    labels = _labels(drawn, total / (0.94 * width))
    outside = [label for label in labels if label.needs > label.room]
    crowded = sum(label.needs for label in outside) > total  # then every second one stands above the bar
    with style.style():
        height = 3.65 if crowded else 2.9
        figure = style.picture(width, height)
        axes = figure.add_axes((0.03, 0.64 / height, 0.94, 1 - 1.22 / height))
        axes.set_xlim(0, total * 1e6)
        axes.set_ylim(-1.5, 1.35 if crowded else 0.42)
        _draw_stack(axes, drawn, labels)
        _write_outside(axes, outside[::2] if crowded else outside, total, -1)
        _write_outside(axes, outside[1::2] if crowded else [], total, 1)
        axes.yaxis.set_visible(False)
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_formatter(lambda cost, _: f"{cost:,.10g}")
        axes.set_xlabel("time of one core for a sample (µs)" + ("; hatched: waiting" if busy < total else ""))
        figure.text(0.02, 1 - 0.12 / height, _limit_sentence(busy, cores, most), size=15, weight="bold", va="top")
    return figure


def _checked(name, values):
    try:
        rate, low, high = (float(value) for value in values)
    except (TypeError, ValueError):
        rate = low = high = float("nan")
    if not 0 <= low <= rate <= high < float("inf"):
        raise ValueError(
            f"{name!r} must have (rate, low, high) with low <= rate <= high, not {values!r}: see measure()."
        )
    return rate, low, high


def _draw_bars(axes, rates, dropped):
    rows = range(len(rates))
    colors = [_DROPPED if name in dropped else MEASURED for name in rates]
    errors = [[rate - low for rate, low, _ in rates.values()], [high - rate for rate, _, high in rates.values()]]
    ends = [rate for rate, _, _ in rates.values()]
    axes.barh(
        rows, ends, 0.66, color=colors, xerr=errors, error_kw={"ecolor": style.INK, "elinewidth": 2, "capsize": 4}
    )


def _write_numbers(axes, names, rates, limit, dropped, inches):
    """The names to the left of the bars, rate and efficiency in two columns to the right of them."""
    where = axes.get_yaxis_transform()
    columns = 1 + 1.1 / inches, 1 + (_RIGHT - 0.2) / inches
    for column, head in zip(columns, ("samples/s", "of limit"), strict=True):
        axes.text(column, -0.62, head, ha="right", va="bottom", size=12, transform=where)
    for row, (shown, (name, (rate, _, _))) in enumerate(zip(names, rates.items(), strict=True)):
        ink = _PALE if name in dropped else style.INK
        axes.text(-0.1 / inches, row, shown, ha="right", va="center", size=12, color=ink, transform=where)
        axes.text(columns[0], row, format_si(rate, ""), ha="right", va="center", color=ink, transform=where)
        share = f"{rate / limit:.0%}"
        axes.text(columns[1], row, share, ha="right", va="center", weight="bold", color=ink, transform=where)


def _write_limit(axes, limit, reason, end):
    words = f"limit {format_si(limit, '')}" + (f": {reason}" if reason else "")
    side = "right" if limit > end / 2 else "left"
    where = axes.get_xaxis_transform()
    axes.text(limit, 1.02, words, ha=side, va="bottom", color=_LIMIT, weight="bold", transform=where)


def _headline(rates, limit, dropped):
    kept = [name for name in rates if name not in dropped] or list(rates)
    best = max(kept, key=lambda name: rates[name][0])
    share = rates[best][0] / limit
    name = best if len(best) <= _LONGEST_IN_TITLE else "the best variant"
    if share > _BEYOND:
        return f"{name}: {share:.2g} times the limit: it skips work that others do"
    return f"{name}: {share:.0%} of what this machine can do"


def _limit_sentence(busy, cores, most):
    if not busy:
        return "No stage takes a core: this pipeline only waits"
    several = f"{cores} cores" if cores > 1 else "1 core"
    return f"{format_si(busy, 's')} of one core a sample, {several}: about {format_si(most, 'samples/s')}"


class _Label(NamedTuple):
    """A stage's name and cost: where its middle wants to be, the room in the bar and what it needs, all in s."""

    text: str
    middle: float
    room: float
    needs: float


def _labels(stages, per_inch):
    labels, begin = [], 0.0
    total = sum(stage.cost for stage in stages)
    for stage in stages:
        share = f"{stage.cost / total:.0%}" if stage.cost >= 0.01 * total else "<1%"
        text = f"{stage.name}\n{format_si(stage.cost, 's')} · {share}"
        needs = (_LETTER_INCHES * max(map(len, text.splitlines())) + 0.1) * per_inch
        labels.append(_Label(text, begin + stage.cost / 2, 0.0 if stage.waits else stage.cost, needs))
        begin += stage.cost
    return labels


def _draw_stack(axes, stages, labels):
    costliest = max(stages, key=lambda stage: stage.cost)
    for number, (stage, label) in enumerate(zip(stages, labels, strict=True)):
        color = _COSTLIEST if stage is costliest else _TINTS[number % 2]
        look = {"hatch": "//", "color": "white", "edgecolor": "#8A8A8A"} if stage.waits else {"color": color}
        axes.barh(0, stage.cost * 1e6, 0.8, (label.middle - stage.cost / 2) * 1e6, **look, linewidth=0)
        if label.needs <= label.room:
            axes.text(label.middle * 1e6, 0, label.text, ha="center", va="center", color=style.ink_on(color))


def _write_outside(axes, labels, total, side):
    """Write labels in a row below (side -1) or above (1) the bar, each with a line to its stage."""
    for label, place in zip(labels, _side_by_side(labels, total), strict=True):
        xs = [label.middle * 1e6, label.middle * 1e6, place * 1e6]
        axes.plot(xs, [0.4 * side, 0.5 * side, 0.75 * side], color=style.IDEAL, lw=1.2)
        axes.text(place * 1e6, 0.79 * side, label.text, ha="center", va="top" if side < 0 else "bottom", size=12)


def _side_by_side(labels, end):
    """Middles for the labels: as wanted, or moved so that none overlaps another or sticks out beyond `end`."""
    places, free = [], 0.0
    for label in labels:
        places.append(max(label.middle, free + label.needs / 2))
        free = places[-1] + label.needs / 2
    for number, label in reversed(list(enumerate(labels))):
        places[number] = min(places[number], end - label.needs / 2)
        end = places[number] - label.needs / 2
    return places
