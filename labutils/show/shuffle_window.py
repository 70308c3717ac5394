"""What a shuffle buffer does to sorted data: a window that slides over them, and batches of one class."""

import numpy as np
from matplotlib import colormaps
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex

from labutils.show import style
from labutils.theory import checks
from labutils.theory.shuffle import shuffle_order

_MOST_DOTS = 2500
_MOST_CLASSES = 12
_PARTS = 10
_FIRST = 1000


def draw_shuffle(samples, buffer, classes=2, seed=0, batch=64, width=10.0):
    """Draw what leaves a shuffle buffer that is fed `samples` labels sorted by class: a Figure.

    Left: each sample's place before against its place after; right: the share of each class in each tenth of what
    comes out, and how many batches of `batch` hold a single class. ValueError for counts below one, more than 12
    classes, or more of them than samples.
    """
    order = shuffle_order(samples, buffer, seed)
    checks.count("classes", classes, "count the classes of the data")
    checks.count("batch", batch, "count the samples of a batch")
    most = min(_MOST_CLASSES, samples)
    if classes > most:
        raise ValueError(f"{classes} classes of {samples} samples cannot be told apart: give {most} or fewer.")
    labels = order * classes // samples
    colors = _colors(classes)
    with style.style():
        figure = style.picture(width, 4.2)
        left, right = figure.add_axes((0.1, 0.15, 0.36, 0.64)), figure.add_axes((0.56, 0.15, 0.35, 0.64))
        _draw_places(left, order, labels, colors)
        _draw_shares(right, labels, colors)
        figure.text(0.02, 0.97, _headline(labels, buffer, classes), size=15, weight="bold", va="top")
        figure.text(0.1, 0.875, _early(samples, buffer), va="top")
        alone, batches = _alone(labels, batch)
        figure.text(0.56, 0.875, f"single-class batches of {batch}: {alone:,} of {batches:,}", va="top")
    return figure


def _colors(classes):
    if classes <= 2:
        return ["#0072B2", "#E69F00"][:classes]
    return [to_hex(color) for color in colormaps["cividis"](np.linspace(0, 1, classes))]


def _draw_places(axes, order, labels, colors):
    samples = len(order)
    kept = np.arange(0, samples, -(-samples // _MOST_DOTS))
    size = 1.5 if len(kept) > 1000 else 5
    for number, color in enumerate(colors):
        mine = kept[labels[kept] == number]
        axes.plot(mine + 1, order[mine] + 1, ".", ms=size, color=color, rasterized=True)
    axes.set_xlim(0, samples + 1)
    axes.set_ylim(0, samples + 1)
    ends = {1: "1", samples: _short(samples)} if samples > 1 else {1: "1"}
    _label(axes, ends, ends, "place after the shuffle", "place before")


def _draw_shares(axes, labels, colors):
    """Stacked bars as one collection per class: a patch for every bar would draw far slower."""
    parts = [part for part in np.array_split(labels, _PARTS) if len(part)]  # fewer than ten, where samples are
    shares = np.array([np.bincount(part, minlength=len(colors)) / len(part) for part in parts]) * 100
    tops = np.cumsum(shares, axis=1)
    for number, color in enumerate(colors):
        boxes = [
            style.box(place - 0.42, place + 0.42, top - share, top)
            for place, (share, top) in enumerate(zip(shares[:, number], tops[:, number], strict=True), start=1)
            if share
        ]
        axes.add_collection(PolyCollection(boxes, facecolor=color, edgecolor="white", linewidth=0.6))
    axes.set_xlim(0.4, len(parts) + 0.6)
    axes.set_ylim(0, 100)
    ends = {1: "first", len(parts): "last"} if len(parts) > 1 else {1: "all"}
    words = "tenth of what comes out" if len(parts) == _PARTS else "part of what comes out"
    _label(axes, ends, {0: "0", 50: "50", 100: "100"}, words, "share of each class (%)")
    _draw_key(axes, colors, len(parts) + 0.6)


def _label(axes, xs, ys, xlabel, ylabel):
    """Write {place: word} along both axes as plain texts: ticks with their unseen marks would take twice as long."""
    across, along = axes.get_xaxis_transform(), axes.get_yaxis_transform()
    for place, word in xs.items():
        axes.text(place, -0.03, word, size=12, ha="center", va="top", transform=across)
    for place, word in ys.items():
        axes.text(-0.02, place, word, size=12, ha="right", va="center", transform=along)
    axes.text(0.5, -0.105, xlabel, ha="center", va="top", transform=axes.transAxes)
    axes.text(-0.17, 0.5, ylabel, ha="center", va="center", rotation=90, transform=axes.transAxes)
    axes.xaxis.set_visible(False)
    axes.yaxis.set_visible(False)


def _draw_key(axes, colors, end):
    """A square and a name for each class, from the bottom as in the bars."""
    high = min(100 / len(colors), 12) * 0.7
    for number, color in enumerate(colors):
        middle = 100 * (number + 0.5) / len(colors)
        square = style.box(end * 1.01, end * 1.035, middle - high / 2, middle + high / 2)
        axes.add_collection(PolyCollection([square], facecolor=color, linewidth=0, clip_on=False))
        axes.text(end * 1.05, middle, f"class {number}", size=12, va="center")


def _short(place):
    """25000.0 as "25,000", 2.5e6 as "2.5M": a tick of few letters."""
    if place < 1e5:
        return f"{place:,.0f}"
    factor, prefix = style.si_scale(place)
    return f"{place * factor:.3g}{prefix}"


def _alone(labels, batch):
    """How many batches hold a single class, and how many batches there are."""
    starts = np.arange(0, len(labels), batch)
    same = np.minimum.reduceat(labels, starts) == np.maximum.reduceat(labels, starts)
    return int(same.sum()), len(starts)


def _early(samples, buffer):
    if buffer >= samples:
        return "every order is possible"
    return f"no sample leaves over {buffer - 1:,} places early" if buffer > 1 else "a buffer of 1 changes nothing"


def _headline(labels, buffer, classes):
    first = labels[:_FIRST]
    shown = min(classes - 1, 1)
    share, fair = (np.mean(part == shown) for part in (first, labels))
    start = f"Buffer {buffer:,}: class {shown} is {share:.0%} of the first {len(first):,} samples"
    return f"{start}, {fair:.0%} of all {len(labels):,}"
