"""Published figures: each bar is a row of its table, and no figure stands without its source."""

import re

import pytest

from labutils.show.published_pipelines import draw_frameworks, draw_published, fleet_sentences
from labutils.theory import published


def bars(axes):
    """(middle, length) of each bar, from the top."""
    return sorted((bar.get_y() + bar.get_height() / 2, bar.get_width()) for bar in axes.patches)


@pytest.mark.parametrize(("panel", "name"), [(0, "tfdata2021_fig7"), (1, "tfdata2021_fig8")])
def test_every_speed_up_is_drawn_and_written(panel, name):
    axes = draw_published().axes[panel]
    table = published.load(name)
    assert [length for _, length in bars(axes)] == list(table["low"])  # the table's rows run as the bars do
    written = [text.get_text() for text in axes.texts if re.match(r"\d", text.get_text())]
    assert len(written) == len(table)
    assert sum(" or " in text for text in written) == (table["low"] != table["high"]).sum() == [2, 0][panel]


def test_published_pictures_are_readable_and_cite_their_source(assert_readable):
    for figure, place in ((draw_published(), "Figures 7 and 8"), (draw_frameworks(), "Table 6")):
        assert_readable(figure)
        cited = " ".join(figure.texts[-1].get_text().split())
        assert cited.startswith("Source: Murray, Simsa, Klimovic and Indyk 2021") and cited.endswith(place)


def test_the_title_gives_the_largest_gains():
    words = draw_published().texts[0].get_text()
    assert words == "Tuning made the input up to 63 times faster, and training up to 22 times"


def test_frameworks_are_drawn_from_the_fastest_on():
    lengths = [length for _, length in bars(draw_frameworks().axes[0])]
    assert lengths == sorted(published.load("tfdata2021_table6")["seconds"])


def test_every_fact_about_a_fleet_is_a_sentence_with_a_source():
    sentences = fleet_sentences()
    assert len(sentences) == len(set(sentences)) > 5
    for sentence in sentences:
        assert re.fullmatch(r"\d+% of .+ \((Murray|Kuchnik) et al\. 20\d\d, .+\)\.", sentence)
    assert any(sentence.startswith("62% of the jobs waited more than 1 ms") for sentence in sentences)
