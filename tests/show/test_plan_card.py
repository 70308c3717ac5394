"""The plan's card: its numbers, its cautions, and the learning rate by step as a line that fits."""

import re
from xml.etree import ElementTree

import pytest

from labutils.show.plan_card import PlanCard
from labutils.theory.cost import Link
from labutils.theory.critical_batch import CriticalBatch
from labutils.theory.plan import plan
from labutils.theory.timeline import StepSpec

SPEC = StepSpec(replicas=1, forward_time=1e-5, backward_time=2e-5, gradient_bytes=4e4, link=Link(1e8, 1e-5))
FIT = CriticalBatch(critical_batch=100.0, least_examples=5000.0, interval=(90.0, 110.0), batches=(8, 512))


def card(batch, **changes):
    usual = {"base_batch": 32, "base_rate": 0.0625, "dataset_size": 1280}
    return PlanCard(plan(batch, 4, SPEC, **usual | changes))


def svg(shown):
    return ElementTree.fromstring(re.search(r"<svg.*</svg>", shown._repr_html_())[0])


def test_the_rows_say_what_the_plan_says():
    rows = dict(card(256, fit=FIT).rows)
    assert rows["Global batch"] == "256 = 4 x 64"
    assert rows["Steps per epoch"] == "5"
    assert rows["Scaled learning rate"] == "0.5"
    assert rows["Warm-up"] == "25 steps"
    assert rows["Steps to target"] == "70 (13.9 epochs)"
    assert rows["Predicted step time"].endswith("ms") and rows["Predicted time to target"].endswith("ms")


def test_without_a_curve_there_is_no_row_about_the_target():
    assert not [name for name, _ in card(256).rows if "target" in name]


def test_why_there_is_no_warmup_is_said_only_where_it_is_so():
    assert dict(card(32).rows)["Warm-up"] == "none: the rate does not grow"
    assert dict(card(256, warmup_epochs=0).rows)["Warm-up"] == "none"


def test_the_page_and_the_text_hold_every_row_and_caution():
    shown = card(1024, fit=FIT, highest=0.5, warmup_epochs=0)
    assert len(shown.plan.cautions) == 3
    for text in (repr(shown), shown._repr_html_()):
        for name, value in shown.rows:
            assert name in text and value in text
        assert all(caution in text for caution in shown.plan.cautions)


@pytest.mark.parametrize("batch", [4, 32, 64, 256, 1024, 1280])
def test_the_line_is_the_schedule_and_stays_inside_the_drawing(batch):
    shown = card(batch)
    drawing = svg(shown)
    (line,) = drawing.iter("polyline")
    points = [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]
    wide, high = float(drawing.get("width")), float(drawing.get("height"))
    assert all(0 <= x <= wide and 0 <= y <= high for x, y in points)
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    ys = [y for _, y in points]
    if shown.plan.warmup_steps:
        assert ys[0] > ys[1] == ys[2]  # the rate grows, then stays: y counts from the top
    else:
        assert len(set(ys)) == 1
    words = [(text.text, float(text.get("x")), float(text.get("y"))) for text in drawing.iter("text")]
    assert {"step", "learning rate", "0"} <= {word for word, _, _ in words}
    assert all(0 <= x <= wide and 0 < y <= high for _, x, y in words)
    assert not [word for word, _, y in words if word == "learning rate" and y > min(ys) - 3]  # not on the line
