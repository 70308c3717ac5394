"""Logarithmic axes with few ticks and whole words for numbers, as a room reads them."""

import math


def batch_axis(axes, low, high, most=8, label="global batch (examples)"):
    """Make x logarithmic from `low` to `high`, with ticks at powers of two: 256, 1,024, 4,096, ..."""
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    step = max(1, -(-(last - first + 1) // most))
    ticks = [2**power for power in range(max(first, 0), last + 1, step)]
    axes.set_xscale("log", base=2)
    axes.minorticks_off()
    axes.set_xlim(low, high)
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.tick_params(axis="x", pad=8)  # clear of the lowest number on the other axis
    axes.set_xlabel(label)


def log_axis(axis, low, high, most=6):
    """Make an axis (axes.xaxis or axes.yaxis) logarithmic from `low` to `high`, with at most `most` ticks."""
    axes, name = axis.axes, axis.axis_name
    getattr(axes, f"set_{name}scale")("log")
    getattr(axes, f"set_{name}lim")(low, high)
    axis.set_ticks([], minor=True)
    axis.set_tick_params(pad=8 if name == "x" else 4)  # clear of the lowest number on the other axis
    ticks = log_ticks(low, high, most)
    axis.set_ticks(ticks, [short(tick) for tick in ticks])


def log_ticks(low, high, most=6):
    """At most `most` round numbers from `low` to `high`: 1, 2, 5, 10, ... or 1, 10, 100, ... or sparser."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = [digit * 10.0**power for power in range(first, last + 1) for digit in digits]
        ticks = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(ticks) <= most:
            return ticks
    return ticks[:: -(-len(ticks) // most)]


def short(value):
    """20000.0 as "20,000", 3e6 as "3 million", 0.05 as "0.05"."""
    for size, word in ((1e9, " billion"), (1e6, " million")):
        if value >= size:
            return f"{value / size:.3g}{word}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
