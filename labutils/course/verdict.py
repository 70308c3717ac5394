"""What a check says: right, wrong and why, or not yet. Checks never raise on a learner's answer."""

import functools
import html
from dataclasses import dataclass

COLORS = {"right": "#00704F", "wrong": "#B33C00", "not yet": "#555555"}
SIGNS = {"right": "✔ Right", "wrong": "✘ Wrong", "not yet": "… Not yet"}


@dataclass(frozen=True)
class Verdict:
    """`state` is "right", "wrong" or "not yet"; `sentence` says what was seen and what to do."""

    state: str
    sentence: str

    def __repr__(self):
        return f"{SIGNS[self.state]}: {self.sentence}"

    def _repr_html_(self):
        color = COLORS[self.state]
        return (
            f"<div style='border-left: 4px solid {color}; padding: 4px 10px'>"
            f"<b style='color: {color}'>{SIGNS[self.state]}.</b> {html.escape(self.sentence)}</div>"
        )

    def require(self):
        """Raise AssertionError unless right; solutions call it, so that a broken one fails its test."""
        assert self.state == "right", repr(self)
        return self


def right(sentence):
    """The answer is right; the sentence says what it shows."""
    return Verdict("right", sentence)


def wrong(sentence):
    """The answer is wrong; the sentence says what was seen."""
    return Verdict("wrong", sentence)


def not_yet(sentence="Replace the ... with your answer and run the cell again."):
    """There is no answer yet."""
    return Verdict("not yet", sentence)


def exercise(check):
    """Make a check safe on every answer: `...` is "not yet", an exception of the learner's code is "wrong"."""

    @functools.wraps(check)
    def checked(*answers, **named):
        if any(answer is ... or answer is None for answer in (*answers, *named.values())):
            return not_yet()
        try:
            return check(*answers, **named)
        except Unfinished:
            return not_yet("Your function returns nothing yet. Fill in its body.")
        except NotImplementedError:
            return not_yet("Your function is not written yet. Fill in its body.")
        except Exception as error:
            return wrong(f"Your answer raised {type(error).__name__}: {_first_line(error)}")

    return checked


class Unfinished(Exception):
    """A learner's function returned None or `...`."""


def called(function, *arguments, **named):
    """The result of a learner's function; Unfinished while it returns nothing, TypeError when it is no function."""
    if not callable(function):
        raise TypeError(f"expected a function, got {type(function).__name__}")
    result = function(*arguments, **named)
    if result is None or result is ...:
        raise Unfinished
    return result


def _first_line(error):
    """What went wrong, in a line. AutoGraph puts a traceback before it, which begins with "in user code:"."""
    lines = (str(error).strip() or "no message").splitlines()
    return lines[-1].strip() if lines[0] == "in user code:" else lines[0]
