"""Variants beside their baseline: each where it belongs, and the colour says whether the error was kept."""

import pytest
from matplotlib.colors import to_hex

from labutils.show.measured import MEASURED
from labutils.show.variants import draw_variants
from labutils.theory import published

RULES = published.load("goyal2017_table2a").where(batch=8192, base_rate=0.1)
WARMUPS = published.load("goyal2017_table1").where(batch=8192)


def rows(table, label):
    return list(zip(table[label], table["error"], table["std"], strict=True))


def points(figure):
    """{place: (error, colour)} of the points drawn."""
    lines = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    return {line.get_ydata()[0]: (line.get_xdata()[0], to_hex(line.get_color()).upper()) for line in lines}


def test_only_the_linear_rule_and_gradual_warmup_keep_the_error(assert_readable):
    groups = {"rule": rows(RULES, "rule"), "warm-up": rows(WARMUPS, "warmup")}
    figure = draw_variants(groups, (23.6, 0.12), "ImageNet at batch 8,192", "Source: a paper")
    assert_readable(figure)
    drawn = points(figure)
    named = {text.get_position()[1]: text.get_text() for text in figure.axes[0].texts}
    kept = {named[place] for place, (_, color) in drawn.items() if color == MEASURED}
    assert kept == {"linear", "gradual warm-up"}
    expected = {label: error for group in groups.values() for label, error, _ in group}
    assert {named[place]: error for place, (error, _) in drawn.items()} == expected


def test_the_band_has_the_deviations_asked_for():
    groups = {"rule": [("near", 24.0, 0.1)]}
    assert points(draw_variants(groups, (23.6, 0.12), "t", deviations=4))[1][1] == MEASURED
    assert points(draw_variants(groups, (23.6, 0.12), "t", deviations=3))[1][1] != MEASURED


def test_nothing_to_draw_is_a_sentence():
    with pytest.raises(ValueError, match="at least one variant"):
        draw_variants({"rule": []}, (23.6, 0.12), "t")
