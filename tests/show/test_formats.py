"""The pictures of number formats: bits, underflow, the loss scale."""

import numpy as np
import pytest

from labutils.show.formats import draw_bits, draw_loss_scale, draw_underflow
from labutils.theory.floats import FORMATS


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts] + [text.get_text() for text in figure.texts]


@pytest.mark.parametrize("value", [0.1, -3.0, 0.0, 1e-30, 1e30, 65504.0])
def test_a_box_for_each_bit_and_a_word_for_what_is_lost(value):
    figure = draw_bits(value)
    rows = figure.axes[0].collections
    assert [len(row.get_paths()) for row in rows] == [each.bits for each in FORMATS.values()]
    filled = [sum(color[:3].min() < 0.9 for color in row.get_facecolors()) for row in rows]
    assert filled == [each.stored(value).count("1") for each in FORMATS.values()]
    said = " ".join(texts(figure))
    assert ("underflow" in said) == (value == 1e-30) and ("overflow" in said) == (value == 1e30)


def test_what_float16_loses_is_told():
    figure = draw_underflow({"small": [1e-9, 1e-9, 1.0, 1e6], "large": [1.0]})
    said = [text.get_text() for text in figure.legends[0].get_texts()]
    assert said[0] == "small: 50.0% become 0, 0.0% lose digits, 25.0% overflow"
    scaled = draw_underflow({"small": [1e-9, 1e-9]}, scale=2.0**15)
    assert "0.0% become 0" in scaled.legends[0].get_texts()[0].get_text()
    with pytest.raises(ValueError, match="nothing to lose"):
        draw_underflow({"none": np.zeros(3)})


def test_skipped_steps_are_marked():
    figure = draw_loss_scale([2.0**15, 2.0**16, 2.0**15], [1])
    marks = figure.axes[0].lines[1]
    assert list(marks.get_xdata()) == [1] and list(marks.get_ydata()) == [16]
    assert draw_loss_scale([2.0**15], []).axes
    with pytest.raises(ValueError, match="at least one step"):
        draw_loss_scale([], [])
