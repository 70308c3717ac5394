"""The two bars of an outcome: as long as the multiples, green only where right."""

import pytest
from matplotlib.colors import to_hex

from labutils.show.outcomes import RIGHT, WRONG, draw_outcome


def bars(figure):
    """Length, colour and words of the two bars, by what each stands for."""
    (axes,) = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    words = [text.get_text() for text in axes.texts]
    found = zip(names, axes.patches, words, strict=True)
    return {name: (bar.get_width(), to_hex(bar.get_facecolor()).upper(), text) for name, bar, text in found}


@pytest.mark.parametrize("replicas", [2, 4, 16])
def test_each_outcome_of_the_four_ways_is_told_from_the_others(replicas, assert_readable):
    for reported in (1 / replicas, 1, replicas):
        for moved in (1, replicas):
            figure = draw_outcome(reported, moved, "local mean, reported by SUM")
            seen = bars(figure)
            for name, value in (("loss reported", reported), ("update of weights", moved)):
                length, color, words = seen[name]
                assert length == pytest.approx(value)
                assert color == (RIGHT if value == 1 else WRONG)
                assert words == f"{value:.2f} x" + (" (right)" if value == 1 else "")
            assert figure.axes[0].get_xlim()[1] > max(reported, moved)
            assert_readable(figure)


def test_right_means_within_one_percent():
    assert bars(draw_outcome(1.009, 0.991))["loss reported"][1] == RIGHT
    assert bars(draw_outcome(1.009, 0.991))["update of weights"][1] == RIGHT
    assert bars(draw_outcome(1.02, 1))["loss reported"][1] == WRONG


def test_what_is_right_is_marked_by_a_line_at_one():
    (line,) = draw_outcome(4, 1).axes[0].lines
    assert set(line.get_xdata()) == {1}
