"""What larger batches do, as published and as measured: error, examples to target, the noise scale.

The map of batch and learning rate and the trade-off curve stand in a module of their own and can be had from
here too.
"""

import math

import numpy as np

from labutils.show import style
from labutils.show.log_scale import batch_axis, log_axis
from labutils.show.measured import MEASURED, PREDICTED
from labutils.show.tradeoff import draw_map, draw_tradeoff
from labutils.theory.critical_batch import critical_batch, held_out_errors
from labutils.theory.scaling import rule_breaks_at

__all__ = ["draw_convergence", "draw_map", "draw_noise_scales", "draw_rule", "draw_tradeoff"]

BROKEN = PREDICTED[0]
_GREEN = PREDICTED[1]
_UNITS = {"epochs": (1, "epochs"), "samples": (1e6, "million samples"), "tokens": (1e9, "billion tokens")}


def draw_rule(table, baseline=256, deviations=2.0, width=10.0):
    """Draw error against batch, and where the linear rule's claim that it stays breaks: a Figure.

    `table` has the columns batch, error (in %) and std, and a source: published.load("goyal2017_fig3").
    ValueError for a baseline that is not among the batches.
    """
    batches, errors, stds = table["batch"], table["error"], table["std"]
    breaks = rule_breaks_at(batches, errors, stds, baseline, deviations)
    level, spread = (column[batches == baseline][0] for column in (errors, stds))
    broken = batches >= (breaks or math.inf)
    with style.style():
        figure = style.picture(width, 5.2)
        axes = figure.add_axes((0.09, 0.22, 0.88, 0.57))
        axes.axhspan(level - deviations * spread, level + deviations * spread, color=_GREEN, alpha=0.3, lw=0)
        axes.axhline(
            level, color=_GREEN, lw=2, label=f"the linear rule's claim: the error stays (band: ±{deviations:g} std)"
        )
        for rows, color, word in ((~broken, MEASURED, "it holds"), (broken, BROKEN, "it breaks")):
            if rows.any():
                axes.errorbar(
                    batches[rows], errors[rows], stds[rows], fmt="o", ms=9, capsize=5, color=color, label=word
                )
        span = errors.max() - errors.min()
        for batch, error in zip(batches[broken], errors[broken], strict=True):
            axes.text(
                batch / 1.12, error + 0.03 * span, f"+{error - level:.1f}", ha="right", color=BROKEN, weight="bold"
            )
        axes.set_ylim(errors.min() - 0.1 * span, errors.max() + 0.15 * span)
        batch_axis(axes, batches.min() / 1.5, batches.max() * 1.5, most=10)
        axes.set_ylabel("top-1 error (%)")
        axes.grid(axis="y")
        _dress(figure, _rule_headline(batches, breaks, baseline), table.source)
        figure.legend(loc="upper left", bbox_to_anchor=(0.08, 0.9), ncols=3, handlelength=1.5)
    return figure


def draw_convergence(table, benchmarks=("ResNet-50", "BERT"), width=13.0):
    """Draw what it took to reach the target against the batch, a panel per benchmark: a Figure.

    `table` is published.load("mlperf_convergence"). Each panel shows the fitted curve and, for each batch, what
    the curve predicts when it is fitted without it. ValueError for a benchmark that is not in the table.
    """
    tables = [table.where(benchmark=benchmark) for benchmark in benchmarks]
    with style.style():
        figure = style.picture(width, 5.4)
        share = 1 / len(tables)
        for place, (benchmark, rows) in enumerate(zip(benchmarks, tables, strict=True)):
            axes = figure.add_axes((share * (place + 0.16), 0.22, share * 0.81, 0.5))
            _draw_benchmark(axes, benchmark, rows)
        _dress(figure, "A larger batch needs more examples to get to the target", table.source)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.04, 0.91), ncols=4, handlelength=1.5)
    return figure


def draw_noise_scales(table, width=12.0):
    """Draw critical batch and simple noise scale by task, from the start of training to its average: a Figure.

    `table` is published.load("mccandlish2018_table1").
    """
    tasks = list(dict.fromkeys(table["task"]))[::-1]
    units = dict(zip(table["task"], table["unit"], strict=True))
    with style.style():
        figure = style.picture(width, 1.9 + 0.5 * len(tasks))
        high = 1.9 + 0.5 * len(tasks)
        axes = figure.add_axes((0.25, 1.05 / high, 0.72, 0.5 * len(tasks) / high))
        for quantity, color, shift in (("critical batch", MEASURED, 0.16), ("noise scale", BROKEN, -0.16)):
            rows = table.where(quantity=quantity)
            for when, size, fill in (("start", 13, "white"), ("average", 9, color)):
                look = {"color": color, "mfc": fill, "ms": size, "mew": 2, "zorder": 4}
                _draw_dots(axes, rows.where(when=when), tasks, shift, look, f"{quantity}, {when}")
            _join(axes, rows, tasks, shift, color)
        for place in range(len(tasks)):
            axes.axhspan(place - 0.45, place + 0.45, color=style.FAINT, alpha=0.5 if place % 2 else 0, lw=0)
        axes.set_yticks(range(len(tasks)), [f"{task} ({units[task]})" for task in tasks])
        axes.set_ylim(-0.5, len(tasks) - 0.5)
        finite = table["high"][np.isfinite(table["high"])]
        log_axis(axes.xaxis, table["low"].min() / 2, finite.max() * 2, most=8)
        axes.set_xlabel("batch (examples: images, tokens or frames)")
        axes.grid(axis="x")
        _dress(figure, "How large a batch pays depends on the task, and mostly grows in training", table.source)
        figure.legend(loc="upper left", bbox_to_anchor=(0.02, 1 - 0.4 / high), ncols=4, handlelength=1)
    return figure


def _dress(figure, headline, source):
    figure.text(0.02, 1 - 0.12 / figure.get_figheight(), headline, size=15, weight="bold", va="top")
    figure.text(0.02, 0.12 / figure.get_figheight(), f"Source: {source}", size=12, color="#555555", va="bottom")


def _rule_headline(batches, breaks, baseline):
    if breaks is None:
        return f"The error stays with that at {baseline:,} up to {batches.max():,.0f}"
    last = max(batch for batch in batches if batch < breaks)
    return f"The error stays with that at {baseline:,} up to {last:,.0f}, and breaks at {breaks:,.0f}"


def _draw_benchmark(axes, benchmark, rows):
    batches, (factor, unit) = rows["batch"], _UNITS[rows["unit"][0]]
    amounts, stds = rows["mean"] / factor, rows["std"] / factor
    fit, errors = critical_batch(batches, examples=amounts), held_out_errors(batches, examples=amounts)
    low, high = batches.min() / 1.5, max(batches.max(), fit.critical_batch) * 1.5
    line = np.geomspace(low, high, 200)
    axes.plot(line, fit.examples(line), color=_GREEN, label="fitted curve")
    axes.axvline(fit.critical_batch, color=style.IDEAL, ls="--", lw=2, label="critical batch")
    axes.errorbar(batches, amounts, stds, fmt="o", color=MEASURED, ms=8, capsize=4, label="measured")
    order = np.argsort(batches)
    axes.plot(
        batches[order],
        amounts[order] * (1 + errors),
        "D",
        color=BROKEN,
        mfc="none",
        mew=2,
        ms=9,
        label="predicted without that point",
    )
    axes.set_ylim(0, max(fit.examples(high), amounts.max()) * 1.08)
    batch_axis(axes, low, high, most=6)
    axes.set_ylabel(f"{unit} to target")
    axes.grid(axis="y")
    worst = math.ceil(100 * max(abs(errors)))
    title = f"{benchmark}: critical batch {fit.critical_batch:,.0f}, held out within {worst}%"
    axes.set_title(title, fontsize=13, fontweight="normal")


def _draw_dots(axes, rows, tasks, shift, look, label):
    """A dot per task; a bar where the table gives a range, an arrow where it says "more than"."""
    for task, low, high in zip(rows["task"], rows["low"], rows["high"], strict=True):
        place = tasks.index(task) + shift
        if math.isinf(high):
            axes.plot(low, place, **look, marker=">")
            continue
        axes.plot([low, high], [place, place], color=look["color"], lw=7, alpha=0.35, solid_capstyle="round", zorder=3)
        axes.plot(_middle(low, high), place, "o", **look, label=label)
        label = None  # one line in the legend is enough


def _join(axes, rows, tasks, shift, color):
    for task in dict.fromkeys(rows["task"]):
        ends = _middle(*(rows.where(task=task)[name] for name in ("low", "high")))
        if len(ends) == 2:
            place = tasks.index(task) + shift
            axes.plot(ends, [place, place], color=color, lw=2, zorder=2)


def _middle(low, high):
    return np.sqrt(low * high)
