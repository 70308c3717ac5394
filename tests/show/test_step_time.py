from dataclasses import replace

import pytest

from labutils.show.step_time import REPLICAS, draw_step_time
from labutils.theory.cost import Link
from labutils.theory.efficiency import weak_scaling
from labutils.theory.timeline import StepSpec

SPEC = StepSpec.from_sample_time(
    compute_time_per_sample=1e-3,
    per_replica_batch=32,
    replicas=1,
    gradient_bytes=100e6,
    link=Link(1.25e9, 5e-5),
    update_time=2e-3,
)
SPECS = {
    "plain": SPEC,
    "overlapped": replace(SPEC, overlap=True, buckets=8),
    "slow link": replace(SPEC, link=Link(1.25e6, 5e-3), algorithm="tree"),
    "fast link": replace(SPEC, link=Link(1e12, 1e-7)),
    "starved": replace(SPEC, input_time=0.5, prefetch=True, split_time=0.01),
    "no gradients": replace(SPEC, gradient_bytes=0),
}


@pytest.mark.parametrize("name", SPECS)
def test_the_bars_stack_up_to_the_predicted_step_time(name, assert_readable):
    figure = draw_step_time(SPECS[name])
    left, right = figure.axes
    tops = {}
    for bar in left.patches:
        place = round(bar.get_x() + bar.get_width() / 2)
        tops[place] = max(tops.get(place, 0), bar.get_y() + bar.get_height())
    unit = {"step time (ms)": 1e3, "step time (s)": 1}[left.get_ylabel()]
    timelines = weak_scaling(SPECS[name], REPLICAS)
    expected = [timeline.step_time * unit for timeline in timelines]
    assert [tops[place] for place in range(len(REPLICAS))] == pytest.approx(expected)

    ideal, predicted = right.lines
    assert list(predicted.get_ydata()) == pytest.approx([timeline.throughput for timeline in timelines])
    single = timelines[0].throughput
    assert list(ideal.get_ydata()) == pytest.approx([single * count for count in REPLICAS])
    assert_readable(figure)


def test_the_title_says_what_the_replicas_are_worth():
    right = draw_step_time(replace(SPEC, gradient_bytes=0)).axes[1]
    assert right.get_title(loc="left") == "64 replicas do the work of 64 (100%)"
    assert draw_step_time(SPEC).axes[1].get_title(loc="left") == "64 replicas do the work of 11 (17%)"


def test_replica_counts_may_come_in_any_order_and_from_anywhere(assert_readable):
    figure = draw_step_time(replace(SPEC, replicas=3), [8, 2])
    assert list(figure.axes[1].lines[1].get_xdata()) == [2, 8]
    assert_readable(draw_step_time(SPEC, [1]))
    assert_readable(draw_step_time(SPEC, [1, 8, 64, 512, 4096]))


def test_a_picture_of_nothing_is_refused_with_a_remedy():
    with pytest.raises(ValueError, match=r"nothing to draw .*: give at least one number of replicas"):
        draw_step_time(SPEC, [])
    with pytest.raises(ValueError, match=r"nothing to draw .*: give at least one number of replicas"):
        draw_step_time(replace(SPEC, forward_time=0, backward_time=0, update_time=0))
    with pytest.raises(ValueError, match="replicas must be a whole number"):
        draw_step_time(SPEC, [1, 2.5])
