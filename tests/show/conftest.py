from itertools import combinations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text


@pytest.fixture
def assert_readable():
    """A check that every picture must pass: words of 12 pt and more, inside it, none on top of another."""

    def check(figure):
        FigureCanvasAgg(figure).draw()  # text knows its place only once it was drawn
        unseen = _unseen_tick_labels(figure)
        words = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
        words = [text for text in words if text not in unseen]
        assert words
        boxes = [(text.get_text(), text.get_window_extent()) for text in words]
        for text in words:
            assert text.get_fontsize() >= 12, f"{text.get_text()!r} is set in {text.get_fontsize()} pt"
        for word, box in boxes:
            inside = figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
            inside = inside and figure.bbox.y0 <= box.y0 and box.y1 <= figure.bbox.y1
            assert inside, f"{word!r} is cut off at the edge of the picture"
        for (word, box), (other, other_box) in combinations(boxes, 2):
            assert not _collide(box, other_box), f"{word!r} and {other!r} overlap"

    return check


def _unseen_tick_labels(figure):
    """Labels of ticks outside the axis' limits: Matplotlib keeps them, far away, and never draws them."""
    unseen = set()
    for axes in figure.axes:
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            for tick in [*axis.majorTicks, *axis.minorTicks]:
                if not min(limits) <= tick.get_loc() <= max(limits):
                    unseen |= {tick.label1, tick.label2}
    return unseen


def _collide(box, other):
    wide = min(box.x1, other.x1) - max(box.x0, other.x0)
    high = min(box.y1, other.y1) - max(box.y0, other.y0)
    return wide > 1 and high > 1
