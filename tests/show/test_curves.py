"""Training curves: every run's losses where they belong, and a picture that can be read whatever happened."""

import math
from types import SimpleNamespace

import pytest

from labutils.show.curves import COLORS, MOST, draw_curves

REACHED = SimpleNamespace(
    setting=SimpleNamespace(batch=32), steps=(1, 20, 40), losses=(2.3, 0.8, 0.19), outcome="reached"
)
SLOW = SimpleNamespace(
    setting=SimpleNamespace(batch=128), steps=(1, 50, 100), losses=(2.4, 1.5, 0.9), outcome="not reached"
)
WILD = SimpleNamespace(setting=SimpleNamespace(batch=128), steps=(1, 2), losses=(2.5, math.inf), outcome="diverged")


def curves(figure):
    """The lines of the runs: solid and of more than one point."""
    return [line for line in figure.axes[0].lines if line.get_linestyle() == "-" and len(line.get_xdata()) > 1]


def marks(figure):
    return {line.get_marker(): line for line in figure.axes[0].lines if line.get_marker() not in ("None", None, "")}


@pytest.mark.parametrize(("samples", "per_step", "label"), [(None, 1, "steps"), (1280, 32 / 1280, "epochs")])
def test_losses_stand_over_their_steps_or_epochs(samples, per_step, label, assert_readable):
    figure = draw_curves({"batch 32": [REACHED]}, target=0.2, samples=samples)
    (line,) = curves(figure)
    assert list(line.get_xdata()) == pytest.approx([step * per_step for step in REACHED.steps])
    assert list(line.get_ydata()) == list(REACHED.losses)
    assert figure.axes[0].get_xlabel() == label
    assert_readable(figure)


def test_a_group_has_one_colour_and_one_entry_in_the_legend(assert_readable):
    figure = draw_curves({"one": [REACHED, SLOW], "other": [WILD]}, target=0.2)
    assert [line.get_color() for line in curves(figure)] == [COLORS[0], COLORS[0], COLORS[1]]
    words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert words == ["one", "other", "target 0.2"]
    assert_readable(figure)


def test_a_dot_is_where_the_target_was_reached_and_a_cross_where_the_run_blew_up():
    figure = draw_curves({"reached": [REACHED], "slow": [SLOW], "wild": [WILD]})
    found = marks(figure)
    assert set(found) == {"o", "X"}
    assert (found["o"].get_xdata()[0], found["o"].get_ydata()[0]) == (40, 0.19)
    assert (found["X"].get_xdata()[0], found["X"].get_ydata()[0]) == (2, MOST)  # at the edge, not at infinity


@pytest.mark.parametrize("losses", [(math.inf,), (math.nan,), (4e3,), (12.0,)])
@pytest.mark.parametrize("target", [None, 0.2])
def test_where_every_run_blew_up_at_once_there_is_still_a_picture(losses, target, assert_readable):
    wild = SimpleNamespace(setting=SimpleNamespace(batch=32), steps=(1,), losses=losses, outcome="diverged")
    figure = draw_curves({"wild": [wild]}, target)
    low, high = figure.axes[0].get_ylim()
    assert 0 < low <= 1 and high == MOST
    assert_readable(figure)


def test_the_lowest_loss_and_the_target_are_inside_the_picture():
    for target in (0.1, 0.5):
        low, _ = draw_curves({"reached": [REACHED]}, target).axes[0].get_ylim()
        assert low < min(target, 0.19)


def test_as_many_groups_as_there_are_colours_can_be_read(assert_readable):
    groups = {f"batch {number}": [REACHED] for number in range(len(COLORS))}
    assert_readable(draw_curves(groups, 0.2, 1280))


@pytest.mark.parametrize("groups", [{}, {"none": []}])
def test_nothing_to_draw_is_a_sentence(groups):
    with pytest.raises(ValueError, match="pass at least one group with one result"):
        draw_curves(groups)
