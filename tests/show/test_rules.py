"""Rules followed to large batches: what each costs in examples, and where it loses its runs."""

import numpy as np
import pytest

from labutils.show.rules import draw_rules
from labutils.train.sweep import Sweep

BATCHES = (8, 16, 32, 64)


def followed(steps):
    """A Sweep of one rate, three seeds alike unless `steps` says otherwise."""
    steps = np.array([np.broadcast_to(row, 3) for row in steps], float)[:, None, :]
    return Sweep(BATCHES, np.ones((len(BATCHES), 1)), steps, {})


RULES = {
    "linear": followed([800, 400, 200, [100, 120, np.nan]]),
    "sqrt": followed([800, 500, [400, np.nan, np.nan], np.nan]),
    "none": followed([800, 800, 800, np.nan]),
}


def crosses(figure):
    """{colour: (places, heights)} of the crosses."""
    lines = [line for line in figure.axes[0].lines if line.get_marker() == "X" and len(line.get_xdata())]
    return {line.get_color(): (list(line.get_xdata()), set(line.get_ydata())) for line in lines}


def test_points_are_medians_of_examples_and_crosses_are_batches_that_most_seeds_lost(assert_readable):
    figure = draw_rules(RULES, "Three rules")
    assert_readable(figure)
    linear, sqrt, none = (bar.lines[0].get_ydata() for bar in figure.axes[0].containers)
    assert list(linear) == [6400, 6400, 6400, 120 * 64]
    assert list(sqrt[:2]) == [6400, 8000] and np.isnan(sqrt[2:]).all()
    assert list(none[:3]) == [6400, 12800, 25600] and np.isnan(none[3])
    lost = crosses(figure)
    assert sorted(places for places, _ in lost.values()) == [[32, 64], [64]]
    heights = [height for _, heights in lost.values() for height in heights]
    assert len(set(heights)) == 2, "no rule's crosses hide another's"
    assert min(heights) > 25600


def test_what_cannot_be_drawn_is_a_sentence():
    with pytest.raises(ValueError, match="each sweep must follow one rate"):
        draw_rules({"linear": Sweep(BATCHES, np.ones((4, 2)), np.ones((4, 2, 3)), {})})
    with pytest.raises(ValueError, match="no run reached the target"):
        draw_rules({"linear": followed([np.nan] * 4)})
