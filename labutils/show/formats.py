"""Numbers bit by bit, and what each format makes of a range of numbers."""

import numpy as np
from matplotlib.collections import PolyCollection

from labutils.show import style
from labutils.theory.floats import FORMATS

PARTS = {"sign": "#555555", "exponent": "#E69F00", "mantissa": "#56B4E9"}


def draw_bits(value, width=11.0):
    """Draw `value` as float32, bfloat16 and float16 store it, a row of bits each, with the number kept: a Figure."""
    with style.style():
        figure = style.picture(width, 3.4)
        axes = figure.add_axes((0.11, 0.02, 0.88, 0.8))
        for row, each in enumerate(FORMATS.values()):
            _draw_row(axes, row, each, value)
        axes.set_xlim(0, 43)
        axes.set_ylim(2.75, -0.5)
        axes.axis("off")
        figure.text(0.01, 0.97, f"{value:.7g}, bit by bit", size=15, weight="bold", va="top")
        for place, (part, color) in enumerate(PARTS.items()):
            figure.text(0.5 + 0.13 * place, 0.96, f"■ {part}", size=12, color=color, va="top", weight="bold")
    return figure


def _draw_row(axes, row, each, value):
    bits, kept = each.stored(value), float(each.round(value))
    colors = ["sign"] + ["exponent"] * each.exponent_bits + ["mantissa"] * each.mantissa_bits
    boxes = [style.box(place + 0.06, place + 0.94, row - 0.32, row + 0.32) for place in range(len(bits))]
    faces = [PARTS[part] if bit == "1" else "#F4F4F4" for bit, part in zip(bits, colors, strict=True)]
    axes.add_collection(PolyCollection(boxes, facecolors=faces, edgecolors=[PARTS[part] for part in colors]))
    axes.text(-0.4, row, each.name, ha="right", va="center", size=13)
    axes.text(len(bits) + 0.5, row, _told(kept, value), va="center", size=12)


def _told(kept, value):
    if value and kept == 0:
        return "0: underflow"
    if np.isinf(kept):
        return "inf: overflow"
    off = abs(kept - value) / abs(value) if value else 0.0
    return f"{kept:.7g}" + (f"  ({off:.2g} off)" if off > 1e-9 else "  (exact)")


def draw_underflow(gradients, scale=1.0, width=11.0):
    """Draw the sizes of gradients, times a loss scale, as a histogram, with what float16 loses: a Figure.

    `gradients`: {title: array}; a title has its own outline. ValueError where nothing differs from zero.
    """
    half = FORMATS["float16"]
    with style.style():
        figure = style.picture(width, 4.5)
        axes = figure.add_axes((0.08, 0.16, 0.9, 0.57))
        low, high = -45, 20
        axes.axvspan(low, np.log2(half.smallest) - 1, color="#D55E00", alpha=0.25, lw=0)
        axes.axvspan(np.log2(half.smallest) - 1, np.log2(half.smallest_normal), color="#E69F00", alpha=0.25, lw=0)
        axes.axvspan(np.log2(half.largest), high, color="#D55E00", alpha=0.25, lw=0)
        for color, (title, values) in zip(("#0072B2", "#009E73", "#CC79A7"), gradients.items(), strict=False):
            sizes = np.abs(np.asarray(values, np.float64).ravel()) * scale
            zero, weak, infinite = half.lost(sizes)
            sizes = np.log2(sizes[sizes > 0])
            said = f"{title}: {zero:.1%} become 0, {weak:.1%} lose digits, {infinite:.1%} overflow"
            share = np.full(len(sizes), 100 / len(sizes))
            bins = range(low, high + 1)
            axes.hist(
                np.clip(sizes, low, high - 0.5), bins, weights=share, histtype="step", lw=2.5, color=color, label=said
            )
        axes.set_xlim(low, high)
        axes.set_xlabel("size of a gradient, as a power of 2")
        axes.set_ylabel("share (%)")
        figure.text(0.02, 0.97, f"Gradients in float16, loss scale {scale:,.0f}", size=15, weight="bold", va="top")
        figure.legend(loc="upper left", bbox_to_anchor=(0.01, 0.91), ncols=1, handlelength=1)
        top = axes.get_ylim()[1]
        axes.text(low + 1, top, "0", va="top", size=13)
        axes.text(np.log2(half.smallest) - 0.5, top, "few digits", va="top", size=11)
        axes.text(np.log2(half.largest) + 0.5, top, "inf", va="top", size=12)
    return figure


def draw_loss_scale(scales, skipped, width=11.0):
    """Draw the loss scale step by step, marking the steps skipped for gradients that are not finite: a Figure.

    `scales`: one a step; `skipped`: the numbers of the steps, from 0. ValueError for no steps.
    """
    if not len(scales):
        raise ValueError("There is nothing to draw: give the loss scale of at least one step.")
    with style.style():
        figure = style.picture(width, 3.8)
        axes = figure.add_axes((0.1, 0.17, 0.87, 0.68))
        powers = np.log2(np.asarray(scales, np.float64))
        axes.step(range(len(powers)), powers, where="post", color="#0072B2", label="loss scale")
        axes.plot(
            skipped, powers[list(skipped)], "v", color="#D55E00", ms=9, label="overflow: step skipped, scale halved"
        )
        axes.set_ylim(powers.min() - 3, powers.max() + 2)
        axes.set_xlabel("step")
        axes.set_ylabel("loss scale, power of 2")
        axes.set_title("Dynamic loss scaling at work")
        axes.legend(loc="lower right")
    return figure
