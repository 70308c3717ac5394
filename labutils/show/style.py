"""The palette and the style of every picture: one colour per phase, readable at the back of the room."""

import io
from contextlib import contextmanager

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image

PHASES = ("input", "split", "compute", "all-reduce", "update")

# Okabe & Ito's palette, made for all kinds of colour vision; neighbours in a step differ in lightness too,
# so that the picture survives a grey projector.
COLORS = {
    "input": "#B4B4B4",
    "split": "#F0E442",
    "compute": "#0072B2",
    "forward": "#56B4E9",
    "backward": "#0072B2",
    "all-reduce": "#D55E00",
    "update": "#009E73",
}
ORDER = ("input", "split", "compute", "forward", "backward", "all-reduce", "update")

INK = "#222222"  # text and lines
FAINT = "#E9E9E9"  # a lane in which nothing happens, the grid
IDEAL = "#7A7A7A"  # what would be, were there no cost

_RC = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib, so a picture is the same on every machine
    "font.size": 13,
    "axes.titlesize": 15,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.labelsize": 13,
    "xtick.labelsize": 12,
    "ytick.labelsize": 12,
    "legend.fontsize": 12,
    "legend.frameon": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "lines.linewidth": 2.5,
    "figure.facecolor": "white",  # not transparent: the text must stay readable on a dark page
    "savefig.facecolor": "white",
    "figure.dpi": 100,
    "svg.fonttype": "path",
    "svg.hashsalt": "four beats",
}


class Picture(Figure):
    """A figure that a notebook shows once: as the value of a cell, and not again behind pyplot's back."""

    def add_axes(self, *args, **kwargs):
        """Axes with few ticks: easier to read from afar, and a tick takes longer to draw than a bar."""
        axes = super().add_axes(*args, **kwargs)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
        return axes

    def _repr_png_(self):
        """The picture as PNG; a slider waits for it, so it is packed fast, without the alpha that it does not use."""
        canvas = FigureCanvasAgg(self)
        canvas.draw()
        stored = io.BytesIO()
        Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").save(
            stored, "PNG", compress_level=1, compress_type=3
        )
        return stored.getvalue()


@contextmanager
def style():
    """The course's Matplotlib style, for the time of a `with` block; nothing of it is left behind.

    It starts from Matplotlib's defaults, so that a learner's own settings do not bend the pictures.
    """
    with matplotlib.rc_context():
        matplotlib.style.use(["default", _RC])
        yield


def picture(width, height):
    """Return an empty Picture of `width` by `height` inches; to be called and drawn on inside `style()`."""
    return Picture(figsize=(width, height))


def color(phase):
    """Return the colour of a phase; ValueError that lists the phases for any other word."""
    if phase not in COLORS:
        raise ValueError(f"phase {phase!r} has no colour: choose one of {', '.join(ORDER)}.")
    return COLORS[phase]


def ink_on(background):
    """Return black or white, whichever is easier to read on the colour `background` (WCAG 2 contrast)."""
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(background)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"


def box(left, right, bottom, top):
    """The corners of a rectangle, for a PolyCollection: one collection of many draws far faster than a patch each."""
    return [(left, bottom), (right, bottom), (right, top), (left, top)]


def si_scale(largest):
    """Return (factor, prefix) that bring numbers up to `largest` between 1 and 1000: (1e3, "m") for 0.02."""
    for power, prefix in ((-12, "T"), (-9, "G"), (-6, "M"), (-3, "k"), (0, ""), (3, "m"), (6, "µ")):
        if largest * 10.0**power >= 1:
            return 10.0**power, prefix
    return 1e9, "n"
