"""Predictions: commit to a number or an option before the measurement, compare after it."""

import html
import math
import numbers

import ipywidgets as widgets


class Prediction:
    """A question with a field for the answer. Without a hand on it, as in a test, the default guess counts."""

    def __init__(self, question, field, unit=""):
        self.question, self.unit, self.committed = question, unit, False
        self._field, self._default = field, field.value
        self._button = widgets.Button(description="Commit", button_style="primary")
        self._said = widgets.HTML()
        self._button.on_click(self._commit)
        label = widgets.HTML(f"<b>Predict:</b> {html.escape(question)}")
        answer = [self._field, widgets.Label(unit), self._button] if unit else [self._field, self._button]
        self.box = widgets.VBox([label, widgets.HBox(answer), self._said])

    @property
    def value(self):
        """The answer in the field: the default guess until somebody changes it."""
        return self._field.value

    @property
    def answered(self):
        """Whether somebody committed, or at least changed the field and forgot to."""
        return self.committed or self.value != self._default

    def reveal(self, measured):
        """Compare with what was measured: a number in the prediction's unit, or the right option."""
        return Reveal(self, measured)

    def _commit(self, _button):
        self.committed = True
        self._field.disabled = self._button.disabled = True
        self._said.value = f"Committed: {html.escape(str(self.value))} {self.unit}. Run the next cells."

    def __repr__(self):
        return f"Predict: {self.question} (default guess: {self.value} {self.unit}".rstrip() + ")"

    def _repr_mimebundle_(self, include=None, exclude=None):
        bundle = dict(self.box._repr_mimebundle_(include=include, exclude=exclude))
        bundle["text/plain"] = repr(self)
        return bundle


class Reveal:
    """A prediction beside what was measured."""

    def __init__(self, prediction, measured):
        self.prediction, self.measured = prediction, measured

    @property
    def rows(self):
        """What was said, what was measured, and how they compare."""
        said, unit = self.prediction.value, self.prediction.unit
        who = "You said" if self.prediction.answered else "Default guess"
        rows = [(who, _shown(said, unit)), ("Measured", _shown(self.measured, unit))]
        return [*rows, ("So", _comparison(said, self.measured))]

    def __repr__(self):
        return "\n".join(f"{name:<14}{value}" for name, value in self.rows)

    def _repr_html_(self):
        cells = "".join(
            f"<tr><th style='text-align:left'>{name}</th><td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self.rows
        )
        return f"<table>{cells}</table>"


def predict(question, *, unit="", guess=None, options=None):
    """Ask for a number with a `unit`, or for one of `options`; `guess` is what counts when nobody answers.

    Raises ValueError for a guess that is not finite or not among the options, and where there are no options.
    """
    if options is not None:
        return Prediction(question, _radio(options, guess), unit)
    if isinstance(guess, bool) or not isinstance(guess, numbers.Real) or not math.isfinite(guess):
        raise ValueError(f"A prediction needs a finite number as its default guess, not {guess!r}.")
    return Prediction(question, widgets.FloatText(value=guess, layout={"width": "140px"}), unit)


def _radio(options, guess):
    options = list(options)
    if not options:
        raise ValueError("A prediction needs at least one option to choose from.")
    guess = options[0] if guess is None else guess
    if guess not in options:
        raise ValueError(f"The default guess {guess!r} is not one of the options {options}.")
    return widgets.RadioButtons(options=options, value=guess, layout={"width": "max-content"})


def _comparison(said, measured):
    if isinstance(said, str) or isinstance(measured, str):
        return "the same" if said == measured else "another answer: find out why"
    if not math.isfinite(measured):
        return "there is no number to compare with: the measurement failed"
    if not math.isfinite(said):
        return "your prediction was not a finite number"
    if said <= 0 or measured <= 0:
        return "the same" if said == measured else f"a difference of {measured - said:.3g}"
    factor = max(said, measured) / min(said, measured)
    if factor < 1.25:
        return f"within {100 * (factor - 1):.0f}%: your model of it is good"
    return f"{'too low' if said < measured else 'too high'} by a factor of {factor:.3g}: find out why"


def _shown(value, unit):
    text = value if isinstance(value, str) else f"{value:.4g}"
    return f"{text} {unit}".rstrip()
