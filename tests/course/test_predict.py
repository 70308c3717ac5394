"""Predict, commit, reveal: in JupyterLab with a hand on it, and headless with the default guess."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labutils.course.predict import predict

POSITIVE = st.floats(min_value=1e-9, max_value=1e12)


def so(said, measured, **options):
    """The last line of a reveal: how the two compare."""
    return predict("How long?", guess=said, **options).reveal(measured).rows[-1][1]


def test_without_a_hand_the_default_guess_counts():
    guess = predict("How long does a step take?", unit="ms", guess=5)
    assert guess.value == 5 and not guess.committed
    assert repr(guess) == "Predict: How long does a step take? (default guess: 5.0 ms)"
    assert guess.reveal(4.9).rows[:2] == [("Default guess", "5 ms"), ("Measured", "4.9 ms")]


def test_a_committed_answer_is_fixed_and_called_yours():
    guess = predict("How long?", unit="ms", guess=5)
    guess._field.value = 7.0
    guess._button.click()
    assert guess.committed and guess._field.disabled and guess._button.disabled
    assert "7.0 ms" in guess._said.value
    assert guess.reveal(7.0).rows[0] == ("You said", "7 ms")


def test_an_answer_that_was_typed_and_never_committed_is_yours_too():
    guess = predict("How long?", guess=5)
    guess._field.value = 7.0
    assert guess.reveal(7.0).rows[0] == ("You said", "7") and not guess.committed


def test_the_default_guess_is_yours_once_committed():
    guess = predict("How long?", guess=5)
    guess._button.click()
    assert guess.reveal(7.0).rows[0] == ("You said", "5")


@pytest.mark.parametrize(
    "said, measured, words",
    [
        (10, 10, "within 0%"),
        (10, 12, "within 20%"),
        (12, 10, "within 20%"),
        (10, 13, "too low by a factor of 1.3"),
        (100, 1, "too high by a factor of 100"),
        (0, 0, "the same"),
        (0, 3, "a difference of 3"),
        (3, 0, "a difference of -3"),
        (-2, 3, "a difference of 5"),
        (-2, -2, "the same"),
        (5, math.nan, "the measurement failed"),
        (5, math.inf, "the measurement failed"),
        (0, math.nan, "the measurement failed"),
        (np.float32(4), np.int64(4), "within 0%"),
    ],
)
def test_how_numbers_compare(said, measured, words):
    assert words in so(said, measured)


def test_a_field_that_holds_no_number_is_told():
    guess = predict("How long?", guess=5)
    guess._field.value = math.nan
    assert "not a finite number" in guess.reveal(3).rows[-1][1]


@given(POSITIVE, POSITIVE)
def test_low_and_high_are_never_confused(said, measured):
    words = so(said, measured)
    factor = max(said, measured) / min(said, measured)
    if factor < 1.25:
        assert words.startswith("within")
    else:
        assert ("too low" in words) == (said < measured)
        assert ("too high" in words) == (said > measured)


@pytest.mark.parametrize("measured, words", [("faster", "the same"), ("slower", "another answer"), ("?", "another")])
def test_how_options_compare(measured, words):
    assert words in so("faster", measured, options=["faster", "slower"])


def test_the_first_option_is_the_default():
    guess = predict("Which?", options=("compute", "all-reduce"))
    assert guess.value == "compute"
    guess._field.value = "all-reduce"
    guess._button.click()
    assert guess.reveal("all-reduce").rows == [
        ("You said", "all-reduce"),
        ("Measured", "all-reduce"),
        ("So", "the same"),
    ]


@pytest.mark.parametrize("guess", [None, math.nan, math.inf, True, "5"])
def test_a_guess_must_be_a_finite_number(guess):
    with pytest.raises(ValueError, match="needs a finite number"):
        predict("How long?", guess=guess)


def test_a_guess_must_be_an_option():
    with pytest.raises(ValueError, match="not one of the options"):
        predict("Which?", options=["a", "b"], guess="c")
    with pytest.raises(ValueError, match="at least one option"):
        predict("Which?", options=[])


def test_both_read_without_a_kernel_and_escape_what_they_show():
    guess = predict("Is a < b?", options=["a < b", "a > b"])
    bundle = guess._repr_mimebundle_()
    assert bundle["text/plain"] == "Predict: Is a < b? (default guess: a < b)"
    assert "Is a &lt; b?" in guess.box.children[0].value
    page = guess.reveal("a > b")._repr_html_()
    assert "a &lt; b" in page and "a &gt; b" in page and "<td" in page
    assert repr(guess.reveal("a > b")).splitlines()[0].split() == ["Default", "guess", "a", "<", "b"]
