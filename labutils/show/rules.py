"""Rules for the learning rate, followed from a small batch to large ones: what each costs in examples."""

import numpy as np

from labutils.show import style
from labutils.show.log_scale import batch_axis, log_axis
from labutils.theory.time_to_target import typical

_LOOKS = {"linear": ("#D55E00", "o", "-"), "sqrt": ("#CC79A7", "s", "--"), "none": ("#0072B2", "^", ":")}
_NAMES = {"linear": "linear rule", "sqrt": "square-root rule", "none": "rate unchanged"}


def draw_rules(sweeps, title="Examples to the target", width=10.0):
    """Draw the examples to target against the batch for each rule: a Figure. Flat means that the rule holds.

    `sweeps`: {rule: Sweep}, each of one rate scaled by that rule from the same smallest batch. A point is the median
    over seeds, its bar their range; a cross at the upper edge is a batch where most seeds did not get there.
    ValueError for a sweep of several rates, or without any run that reached the target.
    """
    if any(sweep.steps.shape[1] != 1 for sweep in sweeps.values()):
        raise ValueError("each sweep must follow one rate: write sweep(batches, [rate], rule=...).")
    examples = {rule: _examples(sweep) for rule, sweep in sweeps.items()}
    reached = np.concatenate([values[~np.isnan(values)] for values in examples.values()])
    if not len(reached):
        raise ValueError("no run reached the target, so there is nothing to draw: raise the target or the budget.")
    batches = next(iter(sweeps.values())).batches
    low, high = 0.6 * reached.min(), 1.4 * reached.max()
    with style.style():
        figure = style.picture(width, 5.0)
        axes = figure.add_axes((0.12, 0.14, 0.85, 0.62))
        for number, (rule, values) in enumerate(examples.items()):
            _draw_rule(axes, batches, values, rule)
            _draw_lost(axes, batches, values, rule, high * 1.22**number)
        axes.plot([], [], "X", color=style.INK, ms=10, ls="", label="not reached by most seeds")
        base = float(np.nanmedian(examples[next(iter(examples))][0]))
        axes.axhline(base, color=style.IDEAL, lw=1.5, zorder=1, label="those of the smallest batch")
        batch_axis(axes, min(batches) / 1.3, max(batches) * 1.3)
        log_axis(axes.yaxis, low, high * 1.22 ** len(examples), most=5)
        axes.set_ylabel("examples to target")
        figure.text(0.02, 0.97, title, size=15, weight="bold", va="top")
        figure.legend(loc="upper left", bbox_to_anchor=(0.1, 0.92), ncols=3, handlelength=1.6, columnspacing=1.2)
    return figure


def _examples(sweep):
    """Examples to target, shape (batches, seeds), nan where not reached."""
    return sweep.steps[:, 0, :] * np.array(sweep.batches)[:, None]


def _draw_rule(axes, batches, values, rule):
    color, marker, line = _LOOKS[rule]
    middle = typical(values)
    there = ~np.isnan(middle)
    low, high = np.full((2, len(middle)), np.nan)
    low[there], high[there] = np.nanmin(values[there], axis=1), np.nanmax(values[there], axis=1)
    looks = {"color": color, "marker": marker, "ls": line, "ms": 9, "capsize": 4, "label": _NAMES[rule]}
    axes.errorbar(batches, middle, [middle - low, high - middle], **looks)


def _draw_lost(axes, batches, values, rule, place):
    """Crosses in a row of the rule's own, so that none hides another."""
    lost = np.array(batches)[np.isnan(typical(values))]
    axes.plot(lost, [place] * len(lost), "X", color=_LOOKS[rule][0], ms=11, zorder=4)
