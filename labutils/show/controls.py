"""Controls that redraw a picture: a pure function, a slider over listed values for each argument, and nothing else."""

import base64
import html
import itertools
import time

import ipywidgets as widgets

WIDE = widgets.Layout(width="560px", max_width="95%")
LABELS = {"description_width": "190px"}
PICTURE = widgets.Layout(max_width="100%", object_fit="contain")
FULL_SWEEP = 50  # up to this many combinations are all drawn by sweep()


def pick(label, options, value=None, shown=str):
    """A slider over the listed `options`; `shown` makes a value readable. It moves on release and by arrow keys."""
    options, value = _offered("slider", label, options, value)
    return widgets.SelectionSlider(
        description=label,
        tooltip=label,
        options=[(shown(option), option) for option in options],
        value=value,
        continuous_update=False,  # a drag would queue a picture for every step on the way
        layout=WIDE,
        style=LABELS,
    )


def choose(label, options, value=None, shown=str):
    """Buttons for the listed `options`, for values that have no order."""
    options, value = _offered("choice", label, options, value)
    return widgets.ToggleButtons(
        description=label,
        options=[(shown(option), option) for option in options],
        value=value,
        style=LABELS | {"button_width": "auto"},
    )


def _offered(kind, label, options, value):
    """The options as a list, and the value to start at; ValueError where there is nothing to choose, or not that."""
    options = list(options)
    if len(options) < 2:
        raise ValueError(f"The {kind} {label!r} needs at least two values to choose from, not {len(options)}.")
    value = options[0] if value is None else value
    if value not in options:
        raise ValueError(f"The {kind} {label!r} cannot start at {value!r}: it offers {options}.")
    return options, value


class Explorer:
    """A picture with its controls; shown as the value of a cell.

    `draw(**values)` returns a figure with `_repr_png_`, or a card with `_repr_html_` where no figure is needed, and
    must depend on its arguments alone. An error of `draw` stands under the controls as a sentence while a learner
    plays, and is raised by `sweep`.
    """

    def __init__(self, draw, **controls):
        self.draw, self.controls = draw, controls
        # An error of the first picture is the author's: let it be seen.
        first, self.seconds = self._timed(self.values)
        is_figure = isinstance(first, bytes)
        self.picture = widgets.Image(value=first, format="png", layout=PICTURE) if is_figure else widgets.HTML(first)
        self.message = widgets.HTML()
        self._last = self.values
        self.box = widgets.VBox([*controls.values(), self.message, self.picture])
        for control in controls.values():
            control.observe(self._redraw, names="value")

    @property
    def values(self):
        """The controls' present values by name."""
        return {name: control.value for name, control in self.controls.items()}

    def sweep(self):
        """Draw every combination of values, or every control alone where those are too many; errors are raised.

        Returns the seconds of each picture. The controls stay where they are.
        """
        return [self._timed(values)[1] for values in self._combinations()]

    def _combinations(self):
        offered = {name: [value for _, value in control.options] for name, control in self.controls.items()}
        count = 1
        for values in offered.values():
            count *= len(values)
        if count <= FULL_SWEEP:
            return [dict(zip(offered, values, strict=True)) for values in itertools.product(*offered.values())]
        return [self.values | {name: value} for name, values in offered.items() for value in values]

    def _redraw(self, _change):
        try:
            self._show(self.values)
        except Exception as error:
            self.message.value = f"<b>{type(error).__name__}:</b> {html.escape(str(error))}"

    def _show(self, values):
        if values != self._last:
            self.picture.value, self.seconds = self._timed(values)
            self._last = values
        self.message.value = ""  # also on the way back from values that could not be drawn

    def _timed(self, values):
        began = time.perf_counter()
        drawn = self.draw(**values)
        shown = drawn._repr_png_() if hasattr(drawn, "_repr_png_") else drawn._repr_html_()
        return shown, time.perf_counter() - began

    def __repr__(self):
        return "Explorer(" + ", ".join(f"{name}={value!r}" for name, value in self.values.items()) + ")"

    def _repr_mimebundle_(self, include=None, exclude=None):
        # The picture goes along for readers without a kernel, who see stored outputs only.
        bundle = dict(self.box._repr_mimebundle_(include=include, exclude=exclude))
        bundle["text/plain"] = repr(self)
        if isinstance(self.picture, widgets.Image):
            bundle["image/png"] = base64.b64encode(self.picture.value).decode()
        else:
            bundle["text/html"] = self.picture.value
        return bundle


def explore(draw, **controls):
    """An Explorer: `explore(draw_step_time, replicas=pick("Replicas", [1, 2, 4]))`."""
    return Explorer(draw, **controls)
