"""One format beside the other: the accuracy they reach, the time they take, the memory they need."""

import numpy as np

from labutils.bench.units import format_ratio, format_si
from labutils.show import style
from labutils.theory import published

COLORS = {"float32": "#0072B2", "bfloat16": "#E69F00", "float16": "#009E73"}
_PREDICTED = "#B4B4B4"


def draw_accuracies(accuracies, width=9.0):
    """Draw {format: accuracies of several runs} as points, with mean and standard error behind: a Figure."""
    if not accuracies:
        raise ValueError("There is nothing to draw: give the accuracies of at least one format.")
    with style.style():
        figure = style.picture(width, 1.6 + 0.6 * len(accuracies))
        axes = figure.add_axes((0.17, 0.27, 0.8, 0.55))
        for row, (name, values) in enumerate(accuracies.items()):
            values = 100 * np.asarray(values, np.float64)
            error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
            color = COLORS.get(name.removeprefix("mixed_"), style.INK)
            axes.errorbar(values.mean(), row, xerr=2 * error, fmt="|", color=color, ms=26, capsize=6, lw=3)
            axes.plot(values, np.full(len(values), row), "o", color=color, ms=8, alpha=0.6)
        axes.set_yticks(range(len(accuracies)), list(accuracies))
        axes.set_ylim(len(accuracies) - 0.5, -0.5)
        axes.set_xlabel("accuracy on the test digits (%), mean with two standard errors")
        axes.set_title("Each format, several runs")
    return figure


def draw_speeds(speeds, title="16 bits against float32, on this machine", width=10.0):
    """Draw {work: {format: Comparison with float32}} as speed ratios with their intervals: a Figure.

    Right of 1 is faster than float32. ValueError for nothing to draw.
    """
    rows = [(f"{work}, {name}", name, found) for work, each in speeds.items() for name, found in each.items()]
    if not rows:
        raise ValueError("There is nothing to draw: give at least one comparison.")
    with style.style():
        height = 1.5 + 0.42 * len(rows)
        figure = style.picture(width, height)
        axes = figure.add_axes((0.3, 0.75 / height, 0.6, 1 - 1.3 / height))
        for row, (_, name, found) in enumerate(rows):
            low, high = found.interval
            color = COLORS.get(name, style.INK) if found.verdict != "no difference" else style.IDEAL
            axes.errorbar(
                found.ratio,
                row,
                xerr=[[found.ratio - low], [high - found.ratio]],
                fmt="o",
                color=color,
                ms=9,
                capsize=5,
            )
            axes.text(1.01, row, format_ratio(found.ratio), transform=axes.get_yaxis_transform(), va="center", size=12)
        axes.axvline(1, color=style.INK, lw=1.5)
        axes.set_yticks(range(len(rows)), [label for label, *_ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(0, max(2.0, 1.1 * max(found.interval[1] for *_, found in rows)))
        axes.set_xlabel("times as fast as float32 (grey: no difference)")
        axes.set_title(title)
    return figure


def draw_memory(kept, width=10.0):
    """Draw {label: (predicted, measured)} in bytes as pairs of bars: a Figure. ValueError for nothing to draw."""
    if not kept:
        raise ValueError("There is nothing to draw: give at least one pair of predicted and measured bytes.")
    factor, prefix = style.si_scale(max(max(pair) for pair in kept.values()))
    with style.style():
        height = 1.7 + 0.62 * len(kept)
        figure = style.picture(width, height)
        axes = figure.add_axes((0.27, 0.75 / height, 0.6, 1 - 1.6 / height))
        for row, (label, (predicted, measured)) in enumerate(kept.items()):
            color = next((color for name, color in COLORS.items() if name in label), style.INK)
            axes.barh(
                row - 0.2, predicted * factor, height=0.36, color=_PREDICTED, label="predicted" if not row else None
            )
            axes.barh(row + 0.2, measured * factor, height=0.36, color=color, label="measured" if not row else None)
            axes.text(measured * factor, row + 0.2, f" {format_si(measured, 'B')}", va="center", size=11)
        axes.set_yticks(range(len(kept)), list(kept))
        axes.set_ylim(len(kept) - 0.5, -0.5)
        axes.set_xlabel(f"kept for the backward pass ({prefix}B)")
        figure.text(0.02, 1 - 0.13 / height, "Memory, layer by layer kind", size=15, weight="bold", va="top")
        figure.legend(loc="upper right", bbox_to_anchor=(0.98, 1 - 0.05 / height), ncols=2)
    return figure


def draw_published_gpus(width=10.0):
    """Draw how many times as fast mixed precision trains on two GPUs, as NVIDIA published it: a Figure."""
    table = published.load("nvidia_dle_mixed")
    ratio = table["mixed"] / table["float32"]
    figure, axes = _by_model(table, ratio, "Published: how fast NVIDIA's models for TensorFlow train", width)
    axes.axvline(1, color=style.INK, lw=1.5)
    axes.set_xlim(0, 1.1 * ratio.max())
    axes.set_xlabel("mixed precision: times as fast, 1 GPU, the same batch")
    return figure


def draw_published_accuracies(width=10.0):
    """Draw what mixed precision changed in what a training reached, in percent, as NVIDIA published it: a Figure."""
    table = published.load("nvidia_dle_accuracy")
    change = 100 * (table["mixed"] / table["full"] - 1)
    spread = 100 * np.hypot(table["full_std"], table["mixed_std"]) / table["full"]
    figure, axes = _by_model(table, change, "Published: what NVIDIA's models for TensorFlow reach", width, spread)
    axes.axvline(0, color=style.INK, lw=1.5)
    axes.set_xlabel("mixed precision against full precision: change of the result (%)\nbars: a standard deviation")
    return figure


def _by_model(table, values, title, width, spread=None):
    """(Figure, axes) with a row for each model and a mark for each of the `values` of `table`, by GPU."""
    models = sorted(set(table["model"].tolist()), key=lambda model: -values[table["model"] == model].max())
    with style.style():
        height = 2.1 + 0.34 * len(models)
        figure = style.picture(width, height)
        axes = figure.add_axes((0.2, 1.15 / height, 0.76, 1 - 1.95 / height))
        rows = np.array([models.index(model) for model in table["model"]])
        for gpu, baseline, color, mark, lift in (
            ("V100", "FP32", "#009E73", "o", -1),
            ("A100", "TF32", "#0072B2", "D", 1),
        ):
            here = table["gpu"] == gpu
            look = dict(color=color, ms=9 if spread is None else 6, label=f"{gpu}, against {baseline}")
            if spread is None:
                axes.plot(values[here], rows[here], mark, **look)
            else:
                axes.errorbar(values[here], rows[here] + 0.14 * lift, xerr=spread[here], fmt=mark, elinewidth=1, **look)
        axes.grid(axis="x")
        axes.set_yticks(range(len(models)), models)
        axes.set_ylim(len(models) - 0.5, -0.5)
        figure.text(0.02, 1 - 0.13 / height, title, size=15, weight="bold", va="top")
        figure.legend(loc="upper left", bbox_to_anchor=(0.19, 1 - 0.45 / height), ncols=2)
        figure.text(0.02, 0.12 / height, f"Source: {table.source}", size=8)
    return figure, axes
