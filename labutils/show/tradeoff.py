"""A learner's own runs: steps against examples with the fitted curve, and the map of batch and learning rate."""

import math

import numpy as np
from matplotlib import patheffects
from matplotlib.colors import LogNorm

from labutils.show import style
from labutils.show.log_scale import batch_axis, log_axis, log_ticks, short
from labutils.show.measured import MEASURED, PREDICTED
from labutils.theory.scaling import scale_learning_rate
from labutils.theory.time_to_target import typical

_LINES = (("linear", PREDICTED[0], "-"), ("sqrt", PREDICTED[2], "--"))
_NAMES = {"linear": "linear rule", "sqrt": "square-root rule"}
_HALO = [patheffects.withStroke(linewidth=5, foreground="white")]


def draw_tradeoff(points, fit, title="What a larger batch saves in steps and costs in examples", source="", width=10.0):
    """Draw runs as examples against steps to target, the fitted hyperbola and its critical batch: a Figure.

    `points` are (batch, steps), one per run; `fit` is their CriticalBatch. `source` stands below the picture.
    ValueError where there are no points.
    """
    points = [(float(batch), float(steps)) for batch, steps in points]
    if not points:
        raise ValueError("there are no points to draw: pass at least one (batch, steps).")
    batches, steps = np.array(points).T
    drawn = np.geomspace(min(batches.min(), fit.critical_batch) / 4, max(batches.max(), fit.critical_batch) * 4, 300)
    xs = [*steps, *fit.steps(drawn[[60, -60]])]
    ys = [*(batches * steps), *fit.examples(drawn[[60, -60]])]
    with style.style():
        figure = style.picture(width, 5.8)
        axes = figure.add_axes((0.15, 0.2 if source else 0.14, 0.82, 0.57 if source else 0.63))
        axes.plot(fit.steps(drawn), fit.examples(drawn), color=PREDICTED[1], label="fitted curve")
        axes.axvline(fit.least_steps, color=style.IDEAL, ls="--", lw=1.5, label=f"least steps {short(fit.least_steps)}")
        least = f"least examples {short(fit.least_examples)}"
        axes.axhline(fit.least_examples, color=style.IDEAL, ls=":", lw=2, label=least)
        axes.plot(steps, batches * steps, "o", color=MEASURED, ms=9, label="runs, by batch")
        critical = (fit.steps(fit.critical_batch), fit.examples(fit.critical_batch))
        axes.plot(*critical, "*", color=PREDICTED[0], ms=22, label=_critical_words(fit), zorder=4)
        log_axis(axes.xaxis, min(*xs, fit.least_steps) / 1.15, max(xs) * 1.5)
        log_axis(axes.yaxis, min(*ys, fit.least_examples) / 1.25, max(ys) * 1.4)
        _label_batches(figure, axes, batches, steps, fit)
        axes.set_xlabel("steps to target")
        axes.set_ylabel("examples to target", labelpad=8)
        axes.grid()
        figure.text(0.02, 0.98, title, size=15, weight="bold", va="top")
        figure.legend(loc="upper left", bbox_to_anchor=(0.02, 0.925), ncols=3, handlelength=1.5, columnspacing=1.4)
        figure.text(0.02, 0.02, f"Source: {source}" if source else "", size=12, color="#555555", va="bottom")
    return figure


def draw_map(batches, rates, steps, critical_batch=None, title="Which learning rate each batch wants", width=11.0):
    """Draw steps to target by batch and learning rate, the best rate per batch and the rules: a Figure.

    `steps[batch, rate, seed]` is nan where a run did not reach the target; a cell shows the median of its seeds,
    and a cross where most of them did not get there. Best rates are those of the medians; their bars run over the
    best rates of each seed. Both rules start from the best rate at the smallest batch. `critical_batch`, a
    number, is marked. ValueError for a shape that does not fit, values that do not rise, or where no run reached
    the target.
    """
    batches, rates, steps = (np.asarray(values, float) for values in (batches, rates, steps))
    if steps.ndim != 3 or steps.shape[:2] != (len(batches), len(rates)):
        raise ValueError(
            f"steps must have the shape (batches, rates, seeds), here ({len(batches)}, {len(rates)}, ...), but it has "
            f"{steps.shape}: put one value per run, nan where it did not reach the target."
        )
    if np.any(np.diff(batches) <= 0) or np.any(np.diff(rates) <= 0) or min(*batches, *rates) <= 0:
        raise ValueError("batches and rates must be above zero and rise: sort them, and `steps` along with them.")
    medians = typical(steps)
    reached = np.isfinite(medians)
    if not reached.any():
        raise ValueError("no batch and rate reached the target with every seed: there is nothing to draw.")
    with style.style():
        figure = style.picture(width, 6.2)
        axes = figure.add_axes((0.1, 0.13, 0.74, 0.66))
        heat = _draw_cells(axes, batches, rates, medians, reached)
        best = _draw_best(axes, batches, rates, steps, medians)
        _draw_rules(axes, batches, best)
        if critical_batch is not None:
            label = f"critical batch {critical_batch:,.0f}"
            axes.axvline(critical_batch, color=style.INK, ls=":", lw=3, label=label, path_effects=_HALO)
        edges = _edges(batches), _edges(rates)
        log_axis(axes.yaxis, edges[1][0], edges[1][-1])
        high = max(edges[0][-1], (critical_batch or 0) * 1.1)
        batch_axis(axes, min(edges[0][0], (critical_batch or math.inf) / 1.1), high)
        axes.set_ylabel("learning rate")
        _draw_bar(figure, heat, medians[reached])
        figure.text(0.02, 0.98, title, size=15, weight="bold", va="top")
        figure.legend(*_legend(axes), loc="upper left", bbox_to_anchor=(0.08, 0.93), ncols=3, handlelength=1.8)
    return figure


def _critical_words(fit):
    low, high = fit.interval
    high = "any" if math.isinf(high) else _rounded(high)
    return f"critical batch {_rounded(fit.critical_batch)} ({_rounded(low)} to {high})"


def _rounded(value):
    return short(round(value) if value >= 10 else value)


def _label_batches(figure, axes, batches, steps, fit):
    """Write each batch on its runs' side of the curve, unless the star or another label stands there already."""

    def inches(x, y):
        return axes.transData.transform((x, y)) / figure.dpi

    star = inches(fit.steps(fit.critical_batch), fit.examples(fit.critical_batch))
    taken = [(*(star - 0.15), *(star + 0.15))]
    for batch in np.unique(batches):
        runs, text = steps[batches == batch], f"{batch:,.0f}"
        above = np.exp(np.log(runs).mean()) >= fit.steps(batch)
        run = runs.max() if above else runs.min()
        side = 1 if above else -1
        near = inches(run, run * batch) + side * np.array([0.12, 0.05])
        far = near + side * np.array([0.11 * len(text), 0.2])
        box = (*np.minimum(near, far), *np.maximum(near, far))
        if any(_overlap(box, other) for other in taken):
            continue
        taken.append(box)
        align = {"ha": "left", "va": "bottom"} if above else {"ha": "right", "va": "top"}
        look = {"textcoords": "offset points", "color": MEASURED, "path_effects": _HALO, "zorder": 5, **align}
        axes.annotate(text, (run, run * batch), (9 * side, 4 * side), **look)


def _overlap(box, other):
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def _edges(centres):
    """Borders halfway, in logarithms, between neighbours; one value gets a cell from half to twice."""
    logs = np.log(centres)
    gaps = np.diff(logs) if len(logs) > 1 else np.array([math.log(4)])
    inner = logs[:-1] + gaps / 2 if len(logs) > 1 else []
    return np.exp([logs[0] - gaps[0] / 2, *inner, logs[-1] + gaps[-1] / 2])


def _draw_cells(axes, batches, rates, medians, reached):
    few, many = medians[reached].min(), medians[reached].max()
    norm = LogNorm(few, many if many > few else few * 2)
    cells = np.ma.masked_invalid(medians.T)
    heat = axes.pcolormesh(_edges(batches), _edges(rates), cells, norm=norm, cmap="Blues_r", edgecolors="white", lw=1)
    axes.set_facecolor(style.FAINT)
    missed = [(batch, rate) for i, batch in enumerate(batches) for j, rate in enumerate(rates) if not reached[i, j]]
    if missed:
        axes.plot(*zip(*missed, strict=True), "x", color=style.IDEAL, ms=9, mew=2, ls="", label="not reached")
    return heat


def _draw_best(axes, batches, rates, steps, medians):
    """Mark the best rate of each batch, with a bar over the best rates of its seeds; return {batch: best rate}."""
    best = {}
    for place, batch in enumerate(batches):
        if not np.isfinite(medians[place]).any():
            continue
        best[batch] = rates[np.nanargmin(medians[place])]
        of_seeds = [rates[np.nanargmin(seed)] for seed in steps[place].T if np.isfinite(seed).any()]
        ends = min(best[batch], *of_seeds), max(best[batch], *of_seeds)
        axes.vlines(batch, *ends, color="white", lw=7, zorder=4.5)  # so that the bar is seen on dark cells
        look = {"fmt": "o", "ms": 12, "mfc": "#F0E442", "mec": style.INK, "mew": 2, "ecolor": style.INK, "capsize": 6}
        label = "best rate (bar: by seed)" if len(best) == 1 else None
        bars = [[best[batch] - ends[0]], [ends[1] - best[batch]]]
        axes.errorbar(batch, best[batch], bars, **look, elinewidth=2.5, label=label, zorder=5)
    return best


def _draw_rules(axes, batches, best):
    start = min(best)
    line = [batch for batch in sorted(batches) if batch >= start]
    for rule, color, dashes in _LINES:
        rates = [scale_learning_rate(best[start], int(start), int(batch), rule) for batch in line]
        axes.plot(line, rates, dashes, color=color, lw=3.5, label=_NAMES[rule], path_effects=_HALO, zorder=4)


def _draw_bar(figure, heat, values):
    bar = figure.colorbar(heat, cax=figure.add_axes((0.87, 0.13, 0.025, 0.66)))
    bar.minorticks_off()
    ticks = log_ticks(values.min(), values.max()) or [values.min()]
    bar.set_ticks(ticks, labels=[short(tick) for tick in ticks])
    bar.set_label("steps to target (dark: few)")


def _legend(axes):
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda place: labels[place] == "not reached")
    return [handles[place] for place in order], [labels[place] for place in order]
