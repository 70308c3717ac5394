"""Explorer: a picture or a card that follows its controls, says what went wrong, and is there without a kernel."""

import base64
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from labutils.show.controls import choose, explore, pick
from labutils.show.plan_card import PlanCard
from labutils.theory.cost import Link
from labutils.theory.plan import plan
from labutils.theory.timeline import StepSpec

SPEC = StepSpec(replicas=1, forward_time=1e-5, backward_time=2e-5, gradient_bytes=4e4, link=Link(1e8, 1e-5))


def calculate(batch, rule):
    return PlanCard(plan(batch, 8, SPEC, base_batch=32, base_rate=0.0625, rule=rule, dataset_size=1280))


@pytest.fixture
def calculator():
    return explore(calculate, batch=pick("Global batch", [8, 12, 32, 256], 32), rule=choose("Rule", ["linear", "sqrt"]))


def test_the_card_follows_its_controls(calculator):
    assert calculator.picture.value == calculate(32, "linear")._repr_html_()
    calculator.controls["batch"].value = 256
    assert calculator.picture.value == calculate(256, "linear")._repr_html_()
    calculator.controls["rule"].value = "sqrt"
    assert calculator.picture.value == calculate(256, "sqrt")._repr_html_()
    assert repr(calculator) == "Explorer(batch=256, rule='sqrt')"


def test_an_error_is_a_sentence_until_the_controls_leave_it(calculator):
    before = calculator.picture.value
    calculator.controls["batch"].value = 12
    assert "8 replicas do not divide a batch of 12" in calculator.message.value
    assert calculator.picture.value == before
    calculator.controls["batch"].value = 32  # back to what was drawn last: the sentence must go all the same
    assert calculator.message.value == "" and calculator.picture.value == before


def test_an_error_is_shown_as_text_not_as_markup():
    def refuse(x):
        if x:
            raise ValueError("a <b> & c")
        return SimpleNamespace(_repr_html_=lambda: "fine")

    shown = explore(refuse, x=pick("x", [0, 1]))
    shown.controls["x"].value = 1
    assert shown.message.value == "<b>ValueError:</b> a &lt;b&gt; &amp; c"


def test_a_sweep_draws_every_combination_raises_errors_and_moves_nothing(calculator):
    with pytest.raises(ValueError, match="do not divide a batch of 12"):
        calculator.sweep()
    fine = explore(calculate, batch=pick("Global batch", [8, 32, 256], 32), rule=choose("Rule", ["linear", "sqrt"]))
    assert len(fine.sweep()) == 6
    assert fine.values == {"batch": 32, "rule": "linear"}


def test_a_redraw_of_a_card_makes_no_figure(calculator, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a card needs no Matplotlib figure")

    monkeypatch.setattr(Figure, "__init__", refuse)
    calculator.controls["batch"].value = 256
    assert calculator.message.value == ""
    assert calculator.picture.value == calculate(256, "linear")._repr_html_()
    assert plt.get_fignums() == []


def test_the_same_values_are_drawn_once():
    drawn = []

    def draw(x):
        drawn.append(x)
        return SimpleNamespace(_repr_html_=lambda: f"x is {x}")

    shown = explore(draw, x=pick("x", [1, 2]))
    shown.controls["x"].value = 2
    shown._redraw(None)
    assert drawn == [1, 2]


def test_readers_without_a_kernel_see_the_card_or_the_picture(calculator):
    bundle = calculator._repr_mimebundle_()
    assert bundle["text/html"] == calculator.picture.value and "image/png" not in bundle
    assert "application/vnd.jupyter.widget-view+json" in bundle and bundle["text/plain"] == repr(calculator)
    figure = explore(lambda x: SimpleNamespace(_repr_png_=lambda: b"\x89PNG %d" % x), x=pick("x", [1, 2]))
    bundle = figure._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]) == b"\x89PNG 1" and "text/html" not in bundle


def test_a_slider_moves_on_release_and_needs_values_to_choose_from():
    assert pick("x", [1, 2]).continuous_update is False
    with pytest.raises(ValueError, match="at least two values"):
        pick("x", [1])
    with pytest.raises(ValueError, match="cannot start at 3"):
        pick("x", [1, 2], 3)
