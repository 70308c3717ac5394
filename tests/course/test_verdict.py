"""A check never raises on a learner's answer, and what it says can be read by everyone."""

import pytest

from labutils.course.verdict import Verdict, called, exercise, not_yet, right, wrong


@exercise
def doubled(answer, number=2):
    """`answer(n)` is twice n."""
    got = called(answer, number)
    return right("Twice.") if got == 2 * number else wrong(f"{number} gives {got!r}.")


def raises(error):
    def function(*_arguments):
        raise error

    return function


def unfinished(number): ...


@pytest.mark.parametrize(
    "answer, state, says",
    [
        (lambda n: 2 * n, "right", "Twice"),
        (lambda n: n + n, "right", "Twice"),
        (lambda n: n, "wrong", "2 gives 2"),
        (..., "not yet", "Replace the ..."),
        (None, "not yet", "Replace the ..."),
        (unfinished, "not yet", "returns nothing yet"),
        (lambda n: ..., "not yet", "returns nothing yet"),
        (raises(NotImplementedError()), "not yet", "not written yet"),
        (4, "wrong", "expected a function, got int"),
        (lambda: 4, "wrong", "TypeError"),
        (raises(ValueError("first line\nsecond line")), "wrong", "ValueError: first line"),
        (raises(ValueError()), "wrong", "ValueError: no message"),
        (raises(AssertionError("mine")), "wrong", "AssertionError: mine"),
    ],
)
def test_verdict_of_an_answer(answer, state, says):
    verdict = doubled(answer)
    assert verdict.state == state
    assert says in verdict.sentence and "\n" not in verdict.sentence


def test_an_answer_given_by_name_is_seen_too():
    assert doubled(lambda n: 2 * n, number=...).state == "not yet"
    assert doubled(answer=lambda n: 2 * n, number=5).state == "right"


def test_a_learner_can_still_stop_a_check():
    with pytest.raises(KeyboardInterrupt):
        doubled(raises(KeyboardInterrupt()))


def test_a_check_keeps_its_name_and_words():
    assert doubled.__name__ == "doubled" and "twice n" in doubled.__doc__


def test_only_right_passes_require():
    assert right("Yes.").require() == right("Yes.")
    for verdict in (wrong("No: 3."), not_yet()):
        with pytest.raises(AssertionError, match=verdict.sentence[:10]):
            verdict.require()


@pytest.mark.parametrize("verdict", [right("a < b & c"), wrong("a < b & c"), not_yet("a < b & c")])
def test_the_sign_needs_no_colour_and_the_sentence_no_trust(verdict):
    sign = {"right": "✔ Right", "wrong": "✘ Wrong", "not yet": "… Not yet"}[verdict.state]
    assert repr(verdict) == f"{sign}: a < b & c"
    assert sign in verdict._repr_html_() and "a &lt; b &amp; c" in verdict._repr_html_()


def test_an_unknown_state_is_an_error_of_the_author():
    with pytest.raises(KeyError):
        repr(Verdict("perhaps", ""))
