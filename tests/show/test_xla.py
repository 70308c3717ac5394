"""The pictures of XLA: bytes and starts, break-even, and the grid of what to keep."""

import math

import pytest

from labutils.show.xla import draw_break_even, draw_decision, draw_fusion, draw_published_xla
from labutils.theory import published


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts] + [text.get_text() for text in figure.texts]


def test_a_chain_is_as_long_as_its_bytes_and_starts():
    figure = draw_fusion(4, 1e6, bandwidth=1e9, launch=1e-3)
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    assert widths == pytest.approx([8, 4, 2, 1])  # ms
    assert "4 operators on 1.00 MB: fused 4.00x as fast" in texts(figure)
    assert draw_fusion(1, 1, 1e9, 0).axes


def test_the_lines_meet_where_compiling_has_paid():
    figure = draw_break_even(0.5, 0.012, 0.007)
    plain, compiled, mark = figure.axes[0].lines
    assert mark.get_xdata()[0] == 100 and " pays back after 100 steps" in texts(figure)
    assert compiled.get_ydata()[0] > plain.get_ydata()[0] and compiled.get_ydata()[-1] < plain.get_ydata()[-1]
    never = draw_break_even(0.5, 0.007, 0.012)
    assert never.axes[0].get_title(loc="left") == "Compiling never pays back here" and len(never.axes[0].lines) == 2


def test_the_grid_shows_each_figure_the_best_in_bold_and_what_failed():
    figure = draw_decision({"mlp": {"float32": 1.0, "XLA": 1.5}, "conv": {"float32": 1.0}})
    shown = {text.get_text(): text.get_weight() for text in figure.axes[0].texts}
    assert shown["1.50x"] == "bold" and "×" in shown
    with pytest.raises(ValueError, match="at least one workload"):
        draw_decision({})


def test_the_published_bars_are_those_of_the_table():
    table = published.load("xla_on_off")
    drawn = sorted(bar.get_width() for bar in draw_published_xla().axes[0].patches)
    assert drawn == pytest.approx(sorted(table["on"] / table["off"]))
    row = table.where(model="ResNet-50")
    assert math.isclose(row["on"][0] / row["off"][0], 1.61, abs_tol=0.02)  # as published beside them
