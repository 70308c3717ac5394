"""Published variants of one recipe beside its baseline: which of them keep the error, which lose some."""

from labutils.show import style
from labutils.show.measured import MEASURED, PREDICTED

_LOST = PREDICTED[0]


def draw_variants(groups, baseline, title, source="", deviations=2.0, width=10.0):
    """Draw the error of variants as points with their standard deviations, beside the baseline's band: a Figure.

    `groups`: {heading: [(label, error, std), ...]}, errors in percent; `baseline` is (error, std). A variant has lost
    where its error lies above the baseline's by more than `deviations` standard deviations of the baseline.
    ValueError where there is no variant.
    """
    rows = [(heading, *row) for heading, variants in groups.items() for row in variants]
    if not rows:
        raise ValueError("There is nothing to draw: give at least one variant, as (label, error, std).")
    limit = baseline[0] + deviations * baseline[1]
    height = 1.9 + 0.42 * len(rows) + 0.3 * len(groups)
    with style.style():
        figure = style.picture(width, height)
        axes = figure.add_axes((0.3, 0.95 / height, 0.66, 1 - 1.75 / height))
        axes.axvspan(baseline[0] - deviations * baseline[1], limit, color=PREDICTED[1], alpha=0.25, lw=0)
        axes.axvline(baseline[0], color=PREDICTED[1], lw=2)
        for place, label, error, std in _placed(groups):
            if error is None:
                axes.text(-0.424, place, label, transform=axes.get_yaxis_transform(), va="center", weight="bold")
                continue
            color = _LOST if error > limit else MEASURED
            axes.errorbar(error, place, xerr=std, fmt="o", color=color, ms=9, capsize=4)
            axes.text(-0.02, place, label, transform=axes.get_yaxis_transform(), ha="right", va="center", size=12)
        axes.set_ylim(len(rows) + len(groups) - 0.4, -0.6)
        axes.yaxis.set_visible(False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(f"top-1 error (%); band: the baseline's {baseline[0]:g} ± {deviations:g} std")
        figure.text(0.02, 1 - 0.14 / height, title, size=15, weight="bold", va="top")
        figure.text(0.02, 0.1 / height, source, size=12, color="#555555", va="bottom")
    return figure


def _placed(groups):
    """(row, label, error, std) from the top; error is None for a heading."""
    place = 0
    for heading, variants in groups.items():
        yield place, heading, None, None
        for number, (label, error, std) in enumerate(variants, start=place + 1):
            yield number, label, float(error), float(std)
        place += len(variants) + 1
