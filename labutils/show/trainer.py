"""Train from the sliders: a button trains one real run, and its curve is drawn over the earlier ones."""

import base64
import html

import ipywidgets as widgets

from labutils.show.controls import PICTURE
from labutils.show.curves import COLORS, draw_curves


class Trainer:
    """Controls, a Train button, and the curves of the runs so far; shown as the value of a cell.

    `train(**values)` returns (label, result) of one run, with the values of `controls`. Nothing is trained on
    a drag. An error stands below the button as a sentence; the same label again replaces its curve.
    """

    def __init__(self, train, target=None, samples=None, **controls):
        self.train, self.controls, self.runs = train, controls, {}
        self._target, self._samples = target, samples
        self.picture = widgets.Image(format="png", layout=PICTURE)
        self.message = widgets.HTML("Choose, then press Train.")
        self.button = widgets.Button(description="Train", button_style="primary")
        self.clear = widgets.Button(description="Clear")
        self.button.on_click(lambda _: self.run())
        self.clear.on_click(lambda _: self._forget())
        buttons = widgets.HBox([self.button, self.clear])
        self.box = widgets.VBox([*controls.values(), buttons, self.message, self.picture])

    def run(self, **values):
        """Train once, with the controls' values or those given; returns the result, None where it could not be."""
        values = {name: control.value for name, control in self.controls.items()} | values
        self.button.disabled = True
        self.message.value = "Training …"
        try:
            label, result = self.train(**values)
        except ValueError as error:
            self.message.value = f"<b>Not trained:</b> {html.escape(str(error))}"
            return None
        except BaseException:  # an interrupt, or a mistake in `train` that its author must see
            self.message.value = "<b>Not trained.</b>"
            raise
        finally:
            self.button.disabled = False
        self.runs.pop(label, None)
        self.runs[label] = result
        for oldest in list(self.runs)[: -len(COLORS)]:
            del self.runs[oldest]
        self._draw()
        self.message.value = html.escape(f"{label}: {_said(result)}")
        return result

    def _draw(self):
        groups = {label: [result] for label, result in self.runs.items()}
        self.picture.value = draw_curves(groups, self._target, self._samples, "Your runs")._repr_png_()

    def _forget(self):
        self.runs, self.picture.value = {}, b""
        self.message.value = "Choose, then press Train."

    def __repr__(self):
        return "\n".join(f"{label}: {_said(result)}" for label, result in self.runs.items()) or "Trainer(no runs yet)"

    def _repr_mimebundle_(self, include=None, exclude=None):
        bundle = dict(self.box._repr_mimebundle_(include=include, exclude=exclude))
        bundle["text/plain"] = repr(self)
        if self.picture.value:  # for readers without a kernel
            bundle["image/png"] = base64.b64encode(self.picture.value).decode()
        return bundle


def _said(result):
    if result.outcome == "reached":
        return f"reached the target after {result.steps[-1]} steps"
    return f"{result.outcome} after {result.steps[-1]} steps, test loss {result.losses[-1]:.3g}"
