"""Input and compute as lanes: the bars are the prediction or the measurement, and the numbers are read from them."""

import math
from itertools import pairwise

import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba

from labutils.show import style
from labutils.show.overlap import PHASES, draw_measured_overlap, draw_overlap

TIMES = {
    "compute rules": (0.02, 0.032),
    "input rules": (0.2, 0.01),
    "alike": (0.05, 0.05),
    "no input": (0, 0.01),
    "no compute": (0.01, 0),
    "a hint of input": (1e-5, 0.1),
    "microseconds": (2e-6, 3e-6),
    "minutes": (100.0, 60.0),
}


def bars(figure):
    """{(lane, phase): [(start, end) in s]}, lanes numbered from the top."""
    drawn = {}
    for collection in figure.axes[0].collections:
        phase = [name for name in PHASES if to_rgba(style.color(name)) == tuple(collection.get_facecolor()[0])]
        if isinstance(collection, PolyCollection) and phase:
            for path in collection.get_paths():
                (left, top), (right, _) = path.vertices.min(axis=0), path.vertices.max(axis=0)
                drawn.setdefault((int(top // 3), phase[0]), []).append((left / 1e3, right / 1e3))
    return {key: sorted(spans) for key, spans in drawn.items()}


def title(figure):
    return figure.texts[0].get_text()


def step_times(figure):
    """The numbers at the ends of the lanes, in s."""
    units = {"s": 1, "ms": 1e-3, "µs": 1e-6}
    words = [text.get_text().split() for text in figure.axes[0].texts if "a step" in text.get_text()]
    return [float(number.replace(",", "")) * units[unit] for number, unit, *_ in words]


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
def test_a_step_is_the_sum_without_prefetch_and_the_maximum_with_it(times, assert_readable):
    figure = draw_overlap(*times)
    assert step_times(figure) == pytest.approx([sum(times), max(times)], rel=0.005)
    assert_readable(figure)


@pytest.mark.parametrize("times", [TIMES["compute rules"], TIMES["input rules"]])
def test_each_batch_is_there_before_it_is_used_and_each_lane_does_one_thing_at_a_time(times):
    drawn = bars(draw_overlap(*times, steps=5))
    for lane in (0, 1):
        inputs, computes = drawn[lane, "input"], drawn[lane, "compute"]
        assert len(inputs) == len(computes) == 5
        slack = 1e-9
        assert all(ready <= used + slack for (_, ready), (used, _) in zip(inputs, computes, strict=True))
        for spans in (inputs, computes):
            assert all(end <= begin + slack for (_, end), (begin, _) in pairwise(spans))
            assert len({round(begin - end, 9) for (begin, end) in spans}) == 1
    # Without prefetch nothing overlaps; with it, the next input and this compute begin together.
    both = sorted(drawn[0, "input"] + drawn[0, "compute"])
    assert all(end == pytest.approx(begin) for (_, end), (begin, _) in pairwise(both))
    begun = [begin for begin, _ in drawn[1, "compute"]]
    assert [begin for begin, _ in drawn[1, "input"]][1:] == pytest.approx(begun[:-1])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("compute rules", "Prefetch saves 38%: the longer of the two is left (compute)"),
        ("input rules", "Prefetch saves 5%: the longer of the two is left (input)"),
        ("alike", "Prefetch saves 50%: the longer of the two is left (both alike)"),
        ("no input", "Prefetch saves nothing: there is no input to wait for"),
        ("no compute", "Prefetch saves nothing: there is no compute to hide the input behind"),
    ],
)
def test_the_title_says_what_prefetch_saves_and_what_is_left(name, words):
    assert title(draw_overlap(*TIMES[name])) == words


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
def test_a_fixed_axis_stays_for_every_place_of_a_slider(times, assert_readable):
    figure = draw_overlap(*times, axis=0.3)
    assert figure.axes[0].get_xlim() == pytest.approx((0, 300))
    assert figure.axes[0].get_xlabel().endswith("(ms)")
    assert_readable(figure)


def loop(input_time, compute_time, steps=4, prefetch=False, zero=100.0):
    """What a loop sees: it waits for each input, or for what of it the compute before did not hide."""
    spans, now = [], zero
    for _ in range(steps):
        wait = max(input_time - compute_time, 0) if prefetch else input_time
        spans += [("input", now, now + wait), ("compute", now + wait, now + wait + compute_time)]
        now += wait + compute_time
    return spans


@pytest.mark.parametrize("times", [TIMES["compute rules"], TIMES["input rules"], TIMES["no input"]])
def test_measured_lanes_stand_below_the_predicted_ones_on_one_axis(times, assert_readable):
    slower = [1.1 * seconds for seconds in times]
    figure = draw_measured_overlap(*times, loop(*slower), loop(*slower, prefetch=True, zero=-3.0))
    names = [text.get_text() for text in figure.axes[0].texts if "prefetch" in text.get_text()]
    assert names == [
        f"{lane}: {how}" for lane in ("without prefetch", "with prefetch") for how in ("predicted", "measured")
    ]
    expected = [sum(times), 1.1 * sum(times), max(times), 1.1 * max(times)]
    assert step_times(figure) == pytest.approx(expected, rel=0.005)
    drawn = bars(figure)
    for predicted, measured in ((0, 1), (2, 3)):
        first = [drawn[lane, "compute"][0][0] for lane in (predicted, measured)]
        assert first[0] == pytest.approx(first[1], abs=1e-9)
        assert len(drawn[predicted, "compute"]) == len(drawn[measured, "compute"]) == 4
    assert_readable(figure)


def test_the_title_sets_the_measured_saving_beside_the_predicted_one():
    without = loop(0.02, 0.03)
    figure = draw_measured_overlap(0.02, 0.03, without, loop(0.02, 0.03, prefetch=True))
    assert title(figure) == "Prefetch shortens the step by 40% here (predicted: 40% shorter)"
    figure = draw_measured_overlap(0.02, 0.03, without, loop(0.03, 0.03))
    assert title(figure) == "Prefetch lengthens the step by 20% here (predicted: 40% shorter)"


def test_one_slow_step_does_not_pass_for_the_step_time():
    spans = loop(0.02, 0.03, steps=6)
    spans = [(phase, start + (start > 100.16) * 5, end + (end > 100.16) * 5) for phase, start, end in spans]
    figure = draw_measured_overlap(0.02, 0.03, spans, loop(0.02, 0.03, prefetch=True))
    assert step_times(figure)[1] == pytest.approx(0.05)


def test_more_steps_than_are_shown_by_default_are_readable(assert_readable):
    assert_readable(draw_overlap(0.02, 0.03, steps=1))
    assert_readable(draw_overlap(0.02, 0.03, steps=40))


GOOD = loop(0.01, 0.02)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: draw_overlap(-1, 0.1), "input_time must be finite and zero or more, .*: give the seconds"),
        (lambda: draw_overlap(0.1, math.nan), "compute_time must be finite and zero or more, .*: give the seconds"),
        (lambda: draw_overlap(0.1, "2"), "compute_time must be one number"),
        (lambda: draw_overlap(0, 0), "nothing to draw: neither input nor compute"),
        (lambda: draw_overlap(0.1, 0.1, steps=0), "steps must be at least 1"),
        (lambda: draw_overlap(0.1, 0.1, axis=-1), "axis must be finite and above zero"),
        (lambda: draw_measured_overlap(0.1, 0.1, GOOD[:2], GOOD), "1 steps were measured without prefetch: give two"),
        (lambda: draw_measured_overlap(0.1, 0.1, GOOD, []), "0 steps were measured with prefetch: give two"),
        (lambda: draw_measured_overlap(0.1, 0.1, GOOD, [("sleep", 0, 1)]), "with prefetch is .*the phase input or"),
        (lambda: draw_measured_overlap(0.1, 0.1, GOOD, [("input", 1, 0)]), "an end that does not come before"),
        (lambda: draw_measured_overlap(0.1, 0.1, GOOD, [("input", 1, math.inf)]), "an end that does not come before"),
        (lambda: draw_measured_overlap(0.1, 0.1, GOOD, [3]), r"is not \(phase, start, end\)"),
        (lambda: draw_measured_overlap(0.1, 0.1, GOOD, [("compute", 1, 1)] * 3), "all start at once: give"),
    ],
)
def test_what_cannot_be_drawn_is_answered_in_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
