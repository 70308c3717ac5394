"""What XLA changes: kernels that fuse, a compilation that must pay back, and what to keep of precision and XLA."""

import math

import numpy as np
from matplotlib.patches import Rectangle

from labutils.bench.units import format_ratio, format_si
from labutils.show import style
from labutils.theory import fusion, published

ONE_BY_ONE, FUSED = "#0072B2", "#D55E00"


def draw_fusion(operators, nbytes, bandwidth, launch, width=10.0):
    """Draw the predicted time of a chain of operators one by one and fused, split into bytes and starts: a Figure.

    `nbytes` of one array, `bandwidth` in bytes/s, `launch` in seconds a kernel. ValueError as `theory.fusion.chain`.
    """
    chain = fusion.chain(operators, nbytes)
    times = [chain.time(bandwidth, launch, fused) for fused in (False, True)]
    factor, prefix = style.si_scale(max(times))
    with style.style():
        figure = style.picture(width, 3.3)
        axes = figure.add_axes((0.16, 0.22, 0.7, 0.52))
        for row, (moved, kernels, total) in enumerate(
            ((chain.moved, operators, times[0]), (chain.moved_fused, 1, times[1]))
        ):
            memory = moved / bandwidth * factor
            axes.barh(row, memory, color=ONE_BY_ONE, height=0.6, label="moving bytes" if not row else None)
            axes.barh(
                row,
                kernels * launch * factor,
                left=memory,
                color="#CC79A7",
                height=0.6,
                label="starting kernels" if not row else None,
            )
            axes.text(total * factor, row, f"  {format_si(total, 's')}", va="center", size=12)
        axes.set_yticks([0, 1], [f"{operators} operator{'s' if operators > 1 else ''}", "1 fused kernel"])
        axes.set_ylim(1.5, -0.5)
        axes.set_xlim(0, 1.15 * max(times) * factor)
        axes.set_xlabel(f"predicted time ({prefix}s)")
        gain = format_ratio(times[0] / times[1])
        title = f"{operators} operators on {format_si(nbytes, 'B')}: fused {gain} as fast"
        figure.text(0.02, 0.97, title, size=15, weight="bold", va="top")
        figure.legend(loc="upper left", bbox_to_anchor=(0.15, 0.87), ncols=2)
    return figure


def draw_break_even(compile_time, before, after, width=10.0):
    """Draw all time spent by step, not compiled and compiled, with the step at which they meet: a Figure."""
    pays = fusion.break_even(compile_time, before, after)
    steps = max(10, math.ceil(2.5 * pays)) if math.isfinite(pays) else 100
    x = np.array([0, steps])
    total = max(steps * before, compile_time + steps * after)
    factor, prefix = style.si_scale(total)
    with style.style():
        figure = style.picture(width, 4.0)
        axes = figure.add_axes((0.1, 0.17, 0.86, 0.7))
        axes.plot(x, x * before * factor, color=ONE_BY_ONE, label="not compiled")
        axes.plot(x, (compile_time + x * after) * factor, color=FUSED, label="compiled, with its compilation")
        if math.isfinite(pays):
            axes.axvline(pays, color=style.IDEAL, ls="--", lw=1.5)
            axes.text(pays, 0.03 * total * factor, f" pays back after {pays:,} steps", size=12)
        axes.set_xlim(0, steps)
        axes.set_ylim(0, 1.05 * total * factor)
        axes.set_xlabel("steps")
        axes.set_ylabel(f"all time so far ({prefix}s)")
        axes.set_title("When compiling pays back" if math.isfinite(pays) else "Compiling never pays back here")
        axes.legend(loc="upper left")
    return figure


def draw_decision(speeds, width=10.5):
    """Draw {workload: {setting: times as fast}} as a grid of colours with the figures in it: a Figure.

    A setting that a workload has no figure for (it failed, or spoiled the loss) is crossed out. ValueError for nothing.
    """
    if not speeds:
        raise ValueError("There is nothing to draw: give the speeds of at least one workload.")
    settings = list(dict.fromkeys(name for each in speeds.values() for name in each))
    with style.style():
        height = 1.6 + 0.7 * len(speeds)
        figure = style.picture(width, height)
        axes = figure.add_axes((0.17, 0.08 / height, 0.82, 1 - 1.25 / height))
        for row, (_, each) in enumerate(speeds.items()):
            best = max(each.values())
            for column, setting in enumerate(settings):
                _cell(axes, row, column, each.get(setting), best)
        axes.set_xlim(-0.5, len(settings) - 0.5)
        axes.set_ylim(len(speeds) - 0.5, -0.5)
        axes.set_xticks(range(len(settings)), settings)
        axes.xaxis.tick_top()
        axes.set_yticks(range(len(speeds)), list(speeds))
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        figure.text(
            0.02, 1 - 0.12 / height, "Times as fast as float32, measured here", size=15, weight="bold", va="top"
        )
    return figure


def _cell(axes, row, column, speed, best):
    if speed is None:
        axes.add_patch(Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, color=style.FAINT))
        axes.text(column, row, "×", ha="center", va="center", size=18, color=style.IDEAL)
        return
    # Blue is faster than float32, orange slower; white is the same.
    share = float(np.clip(abs(math.log2(speed)), 0, 1.5) / 1.5)
    base = np.array([0.0, 0.45, 0.70]) if speed >= 1 else np.array([0.84, 0.37, 0.0])
    color = tuple(1 - share * (1 - base))
    axes.add_patch(Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, facecolor=color, edgecolor=style.FAINT))
    weight = "bold" if speed == best else "normal"
    axes.text(column, row, f"{speed:.2f}x", ha="center", va="center", size=14, weight=weight, color=style.ink_on(color))


def draw_published_xla(width=10.0):
    """Draw how many times as fast training on a GPU is with XLA, as published: a Figure."""
    table = published.load("xla_on_off")
    rows = sorted(
        zip(table["on"] / table["off"], table["model"], table["gpu"], table["precision"], strict=True), reverse=True
    )
    with style.style():
        height = 1.7 + 0.4 * len(rows)
        figure = style.picture(width, height)
        axes = figure.add_axes((0.36, 0.95 / height, 0.56, 1 - 1.5 / height))
        for row, (ratio, *_) in enumerate(rows):
            axes.barh(row, ratio, color=FUSED, height=0.65)
            axes.text(ratio, row, f" {ratio:.2f}", va="center", size=12)
        axes.axvline(1, color=style.INK, lw=1.5)
        axes.set_yticks(range(len(rows)), [f"{model}, {gpu}, {precision}" for _, model, gpu, precision in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("with XLA: times as fast, 1 GPU")
        figure.text(0.02, 1 - 0.13 / height, "Published: XLA on and off", size=15, weight="bold", va="top")
        for line, part in enumerate(table.source.split("; ")):
            figure.text(0.02, (0.3 - 0.18 * line) / height, f"Source: {part}", size=8.5)
    return figure
