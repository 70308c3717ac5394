"""Pictures of what was measured: the raw values, and measurements beside what was predicted."""

from labutils.show import style
from labutils.show.log_scale import log_axis

MEASURED = "#0072B2"
PREDICTED = ("#D55E00", "#009E73", "#CC79A7")


def draw_values(measurement, title="Every value, in the order it was measured", width=10.0):
    """Draw a Measurement's raw values in order, its median and its 95% interval: a Figure.

    ValueError where nothing was measured.
    """
    if not measurement.values:
        raise ValueError("There is nothing to draw: this measurement has no values.")
    factor, prefix = style.si_scale(measurement.median)
    low, high = (end * factor for end in measurement.interval)
    values = [value * factor for value in measurement.values]
    with style.style():
        figure = style.picture(width, 4.2)
        axes = figure.add_axes((0.1, 0.16, 0.87, 0.7))
        axes.axhspan(low, high, color=PREDICTED[0], alpha=0.25, lw=0, label="95% interval of the median")
        axes.axhline(measurement.median * factor, color=PREDICTED[0], label="median")
        axes.plot(range(1, len(values) + 1), values, ".", color=MEASURED, ms=7, alpha=0.7, label="one value")
        # Spikes are real and stay in the data; the picture is scaled to the bulk and says what it leaves out.
        top = max(3 * measurement.median * factor, high * 1.2)
        above = sum(value > top for value in values)
        axes.set_ylim(0, min(top, max(values) * 1.15))
        axes.set_xlabel("value number" + (f" ({above} above the picture)" if above else ""))
        axes.set_ylabel(f"time ({prefix}{measurement.unit})")
        axes.set_title(title)
        axes.legend(loc="lower right", ncols=3)
    return figure


def draw_predicted(x, predicted, measured, xlabel, ylabel="time", title="Predicted and measured", log=False, width=9.0):
    """Draw predictions as lines and measurements as points with their intervals: a Figure.

    `x`: numbers; `predicted`: {label: values, one per x}; `measured`: a Measurement per x, all in one unit.
    `log`: both axes logarithmic. ValueError where the lengths differ, there is nothing to draw, or there are more
    predictions than can be told apart.
    """
    if not len(x):
        raise ValueError("There is nothing to draw: give at least one place on the x axis, and its measurement.")
    if len(predicted) > len(PREDICTED):
        raise ValueError(f"{len(predicted)} predictions cannot be told apart: give {len(PREDICTED)} or fewer.")
    for label, values in {**predicted, "measured": measured}.items():
        if len(values) != len(x):
            raise ValueError(f"{label!r} has {len(values)} values for {len(x)} places on the x axis.")
    factor, prefix = style.si_scale(max(one.median for one in measured))
    middle = [one.median * factor for one in measured]
    down = [(one.median - one.interval[0]) * factor for one in measured]
    up = [(one.interval[1] - one.median) * factor for one in measured]
    with style.style():
        figure = style.picture(width, 4.6)
        axes = figure.add_axes((0.12, 0.15, 0.85, 0.73))
        for (label, values), color in zip(predicted.items(), PREDICTED, strict=False):
            axes.plot(x, [value * factor for value in values], "--", color=color, label=f"predicted: {label}")
        axes.errorbar(x, middle, [down, up], fmt="o", color=MEASURED, ms=9, capsize=5, label="measured")
        if log:
            drawn = [*middle, *(value * factor for values in predicted.values() for value in values)]
            log_axis(axes.xaxis, min(x) / 1.5, max(x) * 1.5)
            log_axis(axes.yaxis, min(drawn) / 1.5, max(drawn) * 2)
        else:
            axes.set_ylim(bottom=0)
            axes.set_xticks(list(x))
        axes.set_xlabel(xlabel)
        axes.set_ylabel(f"{ylabel} ({prefix}{measured[0].unit})")
        axes.set_title(title)
        axes.grid(True, axis="y")
        axes.legend(loc="upper left")
    return figure
