"""The four beats of a data-parallel step, device by device: `python figures/four_beats.py` writes the SVG."""

import io
from itertools import pairwise
from pathlib import Path

from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from labutils.show import style

SVG = Path(__file__).with_suffix(".svg")

DEVICES = 4
WIDTH, HEIGHT = 13.0, 5.75  # inches, and the units of everything below
LANES = [3.92 - 1.03 * device for device in range(DEVICES)]  # the middle of each device's lane
LANE = 0.86  # height of a lane

BATCH = (0.3, 1.55)  # (left, right) of each column
SPLIT = (2.85, 4.15)
FORWARD = (4.75, 6.0)
BACKWARD = (6.0, 7.75)
ALL_REDUCE = (8.45, 10.35)
UPDATE = (11.05, 12.75)


def draw():
    """Draw the four beats of four devices and return the Figure."""
    with style.style():
        figure = style.picture(WIDTH, HEIGHT)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, WIDTH)
        axes.set_ylim(0.25, 0.25 + HEIGHT)
        axes.set_axis_off()
        _draw_headings(axes)
        _draw_lanes(axes)
        _draw_batch(axes)
        _draw_all_reduce(axes)
        for device, middle in enumerate(LANES):
            _draw_device(axes, device, middle)
    return figure


def svg():
    """The picture as the text of an SVG, the same at every call."""
    stored = io.StringIO()
    with style.style():
        draw().savefig(stored, format="svg", metadata={"Date": None, "Creator": None})
    return stored.getvalue()


def _draw_headings(axes):
    headings = (
        ("1", "split", "the batch", "split", SPLIT),
        ("2", "forward, backward", "on every device", "compute", (FORWARD[0], BACKWARD[1])),
        ("3", "all-reduce", "the gradients", "all-reduce", ALL_REDUCE),
        ("4", "update", "every copy alike", "update", UPDATE),
    )
    for number, what, whom, phase, (left, right) in headings:
        middle = (left + right) / 2
        color = style.color(phase)
        axes.plot(middle, 5.58, "o", markersize=27, color=color)
        axes.text(middle, 5.57, number, size=18, weight="bold", color=style.ink_on(color), ha="center", va="center")
        axes.text(middle, 5.08, what, size=18, weight="bold", ha="center", va="center")
        axes.text(middle, 4.72, whom, size=15, ha="center", va="center")


def _draw_lanes(axes):
    for device, middle in enumerate(LANES):
        left = BATCH[1] + 0.3
        axes.add_patch(Rectangle((left, middle - LANE / 2), WIDTH - left - 0.1, LANE, color="#F3F3F3", zorder=0))
        axes.text(left + 0.1, middle + 0.25, f"device {device}", size=13, ha="left", va="center")


def _draw_batch(axes):
    """The global batch, in the parts that go to the devices."""
    left, right = BATCH
    for middle in LANES:
        part = Rectangle((left, middle - 0.515), right - left, 1.03, facecolor=style.color("split"))
        part.set(edgecolor="white", linewidth=2.5)
        axes.add_patch(part)
        _arrow(axes, (right, middle), (SPLIT[0], middle))
    axes.text((left + right) / 2, 4.86, "global\nbatch", size=15, weight="bold", ha="center", va="center")


def _draw_device(axes, device, middle):
    _box(axes, SPLIT, middle, "split", "1/4 batch")
    _box(axes, FORWARD, middle, "forward", "forward")
    _box(axes, BACKWARD, middle, "backward", "backward")
    _box(axes, UPDATE, middle, "update", "same weights")
    _arrow(axes, (SPLIT[1], middle), (FORWARD[0], middle))
    _arrow(axes, (BACKWARD[1], middle), (ALL_REDUCE[0], middle))
    _arrow(axes, (ALL_REDUCE[1], middle), (UPDATE[0], middle))


def _draw_all_reduce(axes):
    """One box over all lanes, since this is the beat in which devices talk, and their ring inside it."""
    top, bottom = LANES[0] + LANE / 2, LANES[-1] - LANE / 2
    color = style.color("all-reduce")
    axes.add_patch(_rounded(ALL_REDUCE, (bottom, top), color))
    ring = ALL_REDUCE[0] + 0.62
    for middle in LANES:
        axes.plot(ring, middle, "o", markersize=20, color="white", zorder=3)
    for upper, lower in pairwise(LANES):
        _arrow(axes, (ring, upper - 0.16), (ring, lower + 0.16), color="white")
    back = {"connectionstyle": "arc3,rad=0.32", "color": "white"}
    _arrow(axes, (ring + 0.16, LANES[-1]), (ring + 0.16, LANES[0]), **back)


def _box(axes, columns, middle, phase, words):
    color = style.color(phase)
    axes.add_patch(_rounded(columns, (middle - 0.31, middle + 0.31), color))
    axes.text(sum(columns) / 2, middle, words, size=14.5, color=style.ink_on(color), ha="center", va="center", zorder=3)


def _rounded(columns, rows, color):
    corner = (columns[0] + 0.04, rows[0] + 0.04)
    wide, high = columns[1] - columns[0] - 0.08, rows[1] - rows[0] - 0.08
    return FancyBboxPatch(corner, wide, high, boxstyle="round,pad=0,rounding_size=0.08", color=color, linewidth=0)


def _arrow(axes, start, end, color=style.INK, **more):
    arrow = {"arrowstyle": "-|>", "mutation_scale": 20, "linewidth": 2.5, "shrinkA": 0, "shrinkB": 0, "zorder": 2}
    axes.add_patch(FancyArrowPatch(start, end, color=color, **arrow, **more))


if __name__ == "__main__":
    SVG.write_text(svg(), encoding="utf-8", newline="\n")
    print(f"wrote {SVG}")
