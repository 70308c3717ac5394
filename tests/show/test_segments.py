"""The four segments of a step: bars as long as they took, shares that add up, nothing drawn that is not there."""

import pytest
from matplotlib.colors import to_hex

from labutils.show.segments import COLORS, draw_segments

JOBS = {
    "healthy": {"input": 0.0004, "gaps": 0.001, "communication": 0.002, "compute": 0.009},
    "slow input": {"input": 0.044, "gaps": 0.002, "communication": 0.002, "compute": 0.014},
}


def bars(figure):
    axes = figure.axes[0]
    return [(bar.get_x(), bar.get_width(), to_hex(bar.get_facecolor()).upper()) for bar in axes.patches]


def test_bars_are_as_long_as_the_segments_and_stand_end_to_end(assert_readable):
    figure = draw_segments(JOBS)
    drawn = bars(figure)
    for row, segments in enumerate(JOBS.values()):
        at = 0.0
        for (x, wide, color), (segment, seconds) in zip(drawn[4 * row :], segments.items(), strict=False):
            assert (x, wide) == (pytest.approx(at), pytest.approx(1e3 * seconds)) and color == COLORS[segment]
            at += wide
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "71%" in texts and "62.0 ms" in texts
    assert_readable(figure)


def test_a_segment_left_out_took_no_time():
    assert [wide for _, wide, _ in bars(draw_segments({"one": {"compute": 0.5}}))] == [0, 0, 0, pytest.approx(500)]


def test_many_jobs_stay_readable(assert_readable):
    assert_readable(draw_segments({f"mystery job {n}": JOBS["slow input"] for n in range(6)}))


@pytest.mark.parametrize(
    ("jobs", "words"),
    [
        ({}, "no jobs"),
        ({"a": {"idle": 1.0}}, "a segment 'idle'"),
        ({"a": {"gaps": -1.0}}, "is -1.0 s"),
        ({"a": {"gaps": float("nan")}}, "is nan s"),
    ],
)
def test_what_cannot_be_drawn_is_said(jobs, words):
    with pytest.raises(ValueError, match=words):
        draw_segments(jobs)
