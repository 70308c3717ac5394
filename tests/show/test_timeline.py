import math
from dataclasses import replace

import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba

from labutils.show import style
from labutils.show.timeline import draw_timeline
from labutils.theory.cost import Link
from labutils.theory.timeline import StepSpec, predict_step

SPEC = StepSpec(
    replicas=4,
    forward_time=0.01,
    backward_time=0.02,
    gradient_bytes=50e6,
    link=Link(1e10),
    input_time=0.005,
    split_time=0.003,
    update_time=0.004,
)
BUSY = replace(SPEC, overlap=True, buckets=4, prefetch=True)


def bars(figure):
    """What is drawn, as (phase colour, left, right, top, bottom) without the lanes behind."""
    drawn = []
    for collection in figure.axes[0].collections:
        color = tuple(collection.get_facecolor()[0])
        if isinstance(collection, PolyCollection) and color != to_rgba(style.FAINT):
            for path in collection.get_paths():
                (left, top), (right, bottom) = path.vertices.min(axis=0), path.vertices.max(axis=0)
                drawn.append((color, left, right, top, bottom))
    return drawn


@pytest.mark.parametrize("spec", [SPEC, BUSY, replace(SPEC, replicas=1), replace(BUSY, replicas=32)])
def test_predicted_steps_are_drawn_readably_bar_for_bar(spec, assert_readable):
    events = predict_step(spec).events
    figure = draw_timeline(events)
    expected = sorted((to_rgba(style.color(e.phase)), e.start * 1e3, e.end * 1e3) for e in events)
    drawn = sorted(bar[:3] for bar in bars(figure))
    assert len(drawn) == len(expected)
    for (color, left, right), (phase_color, start, end) in zip(drawn, expected, strict=True):
        assert color == phase_color and (left, right) == pytest.approx((start, end))
    assert figure.axes[0].get_xlabel() == "time since the step began (ms)"
    assert_readable(figure)


@pytest.mark.parametrize("spec", [SPEC, BUSY])
def test_no_bar_hides_another(spec):
    drawn = bars(draw_timeline(predict_step(spec).events))
    for place, (_, left, right, top, bottom) in enumerate(drawn):
        for _, left2, right2, top2, bottom2 in drawn[place + 1 :]:
            wide = min(right, right2) - max(left, left2)
            high = min(bottom, bottom2) - max(top, top2)
            assert wide <= 1e-9 or high <= 1e-9


def test_measured_tuples_are_drawn_from_their_first_moment(assert_readable):
    events = [
        ("worker a", "compute", 100.00001, 100.00003),
        ("worker b", "compute", 100.00001, 100.00002),
        ("worker a", "all-reduce", 100.00003, 100.00004),
    ]
    figure = draw_timeline(events, title="Measured")
    assert min(bar[1] for bar in bars(figure)) == 0
    assert max(bar[2] for bar in bars(figure)) == pytest.approx(30, rel=1e-3)
    assert figure.axes[0].get_xlabel() == "time since the step began (µs)"
    assert [text.get_text() for text in figure.axes[0].texts if "worker" in text.get_text()] == ["worker a", "worker b"]
    assert_readable(figure)


def test_the_legend_lists_the_phases_in_the_order_of_the_step():
    legend = draw_timeline(reversed(predict_step(BUSY).events)).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == [
        "input",
        "split",
        "forward",
        "backward",
        "all-reduce",
        "update",
    ]


@pytest.mark.parametrize(
    "events, seen",
    [
        ([], "no events"),
        ([(0, "forward", 0, 1), (0, "sleep", 1, 2)], "'sleep' has no colour"),
        ([(0, "forward", 2, 1)], "from 2.0 to 1.0 s"),
        ([(0, "forward", 0, math.nan)], "to nan s"),
        ([(0, "forward", 0, math.inf)], "to inf s"),
        ([(0, "forward", 0)], "must begin with"),
        ([(0, "forward", "now", 1)], "must begin with"),
        ([3], "must begin with"),
    ],
)
def test_events_that_cannot_be_drawn_are_refused_with_a_remedy(events, seen):
    with pytest.raises(ValueError, match=rf"{seen}.*: .+\.$"):
        draw_timeline(events)


def test_events_of_no_length_still_make_a_picture():
    assert len(bars(draw_timeline([(0, "update", 5.0, 5.0)]))) == 1
