"""Variants beside the machine's limit, and stages beside what a sample costs: the bars are the figures given."""

import math

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from labutils.show.measured import MEASURED
from labutils.show.pipeline_limit import draw_costs, draw_efficiency
from labutils.theory.pipeline import Stage, limit

VARIANTS = {
    "naive: map, then batch": (310, 290, 330),
    "parallel map": (352, 330, 380),
    "prefetch": (351, 348, 390),
    "batch first, then one vectorised map over all of it": (1160, 1100, 1300),
    "and prefetch": (1400, 1350, 1450),
    "py_function": (80, 78, 84),
}
DROPPED = ("prefetch", "py_function")


def words(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def drawn(figure):
    """(length, colour) of each variant's bar, from the top."""
    bars = sorted(figure.axes[0].patches, key=lambda bar: bar.get_y())
    return [(bar.get_width(), to_hex(bar.get_facecolor()).upper()) for bar in bars]


def test_each_bar_is_a_rate_and_what_was_rolled_back_is_grey(assert_readable):
    figure = draw_efficiency(VARIANTS, 1613, "2 cores / 1.24 ms", DROPPED)
    assert [length for length, _ in drawn(figure)] == [rate for rate, _, _ in VARIANTS.values()]
    kept = [color == MEASURED for _, color in drawn(figure)]
    assert kept == [name not in DROPPED for name in VARIANTS]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["kept", "not kept"]
    assert_readable(figure)


def test_the_intervals_are_those_given():
    (bars,) = [each for each in draw_efficiency(VARIANTS, 1613).axes[0].containers if hasattr(each, "has_xerr")]
    ends = [tuple(segment[:, 0]) for segment in bars.lines[2][0].get_segments()]
    assert ends == [(low, high) for _, low, high in VARIANTS.values()]


def test_every_bar_has_its_rate_and_its_share_of_the_limit():
    seen = words(draw_efficiency(VARIANTS, 1600, "memory bandwidth"))
    assert [word for word in seen if word.endswith("%")] == ["19%", "22%", "22%", "72%", "88%", "5%"]
    assert {"310", "352", "351", "1,160", "1,400", "80.0"} <= set(seen)
    assert "limit 1,600: memory bandwidth" in seen


def test_the_limit_is_a_line_with_its_reason():
    figure = draw_efficiency(VARIANTS, 1613)
    (line,) = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    assert list(line.get_xdata()) == [1613, 1613]
    assert "limit 1,610" in words(figure)


def test_the_title_names_the_best_of_what_was_kept():
    def title(*arguments, **named):
        return draw_efficiency(*arguments, **named).texts[0].get_text()

    assert title(VARIANTS, 1600) == "and prefetch: 88% of what this machine can do"
    without = title(VARIANTS, 1600, dropped=("and prefetch",))
    assert without == "the best variant: 72% of what this machine can do"  # its name is longer than a title
    assert title(VARIANTS, 1600, title="Mine") == "Mine"
    cached = title({**VARIANTS, "cached": (19000, 18000, 20000)}, 1600)
    assert cached == "cached: 12 times the limit: it skips work that others do"


@pytest.mark.parametrize(
    ("variants", "most"),
    [
        ({"one": (900_000, 800_000, 1_000_000)}, 1_200_000),
        ({"one": (0.4, 0.3, 0.5)}, 12.3),
        ({**VARIANTS, "cached": (18900, 17000, 20000)}, 1613),
        ({f"variant number {n} of the journal": (10.0 * n, 9.0 * n, 11.0 * n) for n in range(14)}, 100),
        ({"all the same": (5, 5, 5)}, 5),
    ],
)
def test_any_size_is_readable(variants, most, assert_readable):
    assert_readable(draw_efficiency(variants, most, "2 cores / 1.24 ms"))
    assert_readable(draw_efficiency(variants, most, dropped=list(variants)))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: draw_efficiency({}, 10), "nothing to draw: give at least one variant"),
        (lambda: draw_efficiency(VARIANTS, 0), "limit must be finite and above zero"),
        (lambda: draw_efficiency(VARIANTS, math.inf), "limit must be finite and above zero"),
        (lambda: draw_efficiency({"a": (1, 2, 3)}, 10), r"'a' must have \(rate, low, high\)"),
        (lambda: draw_efficiency({"a": (math.nan, 2, 3)}, 10), r"'a' must have \(rate, low, high\)"),
        (lambda: draw_efficiency({"a": 3}, 10), r"'a' must have \(rate, low, high\)"),
        (lambda: draw_efficiency(VARIANTS, 10, dropped=["cache"]), "'cache' was dropped, but it is no variant: choose"),
        (lambda: draw_costs([], 2), "a pipeline is a list of at least one Stage"),
        (lambda: draw_costs([Stage("read", 0.0)], 2), "nothing to draw: no stage costs anything"),
        (lambda: draw_costs([Stage("read", 1.0)], 0), "cores must be at least 1"),
    ],
)
def test_what_cannot_be_drawn_is_answered_in_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


PHOTOS = [
    Stage("read", 40e-6, waits=True),
    Stage("parse", 12e-6),
    Stage("decode", 900e-6, 2),
    Stage("resize", 210e-6, 2),
    Stage("flip", 5e-6, 2),
    Stage("brightness", 25e-6),
    Stage("batch", 60e-6),
    Stage("prefetch", 0, 1),
]
NAMES = ["read files", "parse", "decode_jpeg", "resize", "random_flip", "normalise", "batch", "copy to device"]
CHAINS = {
    "photos": PHOTOS,
    "one": [Stage("map", 1e-6)],
    "alike": [Stage(name, 1e-3) for name in NAMES],
    "rising": [Stage(name, 1e-6 * n**4) for n, name in enumerate(NAMES, 1)],
    "falling": [Stage(name, 1e-6 * n**4) for n, name in enumerate(NAMES[::-1], 1)][::-1],
    "slow": [Stage("read", 2.0), Stage("decode", 30.0)],
}


@pytest.mark.parametrize("stages", CHAINS.values(), ids=CHAINS)
def test_the_costs_stack_up_in_order_each_with_its_name(stages, assert_readable):
    figure = draw_costs(iter(stages), 2)
    bars = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    costly = [stage for stage in stages if stage.cost]
    assert [bar.get_width() for bar in bars] == pytest.approx([stage.cost * 1e6 for stage in costly])
    ends = [bar.get_x() + bar.get_width() for bar in bars]
    assert [bar.get_x() for bar in bars] == pytest.approx([0, *ends[:-1]])
    labels = [text.get_text().splitlines()[0] for text in figure.axes[0].texts]
    assert sorted(labels) == sorted(stage.name for stage in costly)
    assert_readable(figure)


def test_the_costliest_stage_is_the_darkest():
    bars = draw_costs(PHOTOS, 2).axes[0].patches
    light = [sum(bar.get_facecolor()[:3]) for bar in bars]
    assert min(light) == light[2] and sorted(light)[1] > light[2]


def test_the_sentence_says_what_limit_follows_and_waiting_takes_no_core():
    figure = draw_costs(PHOTOS, 2)
    assert figure.texts[0].get_text() == "1.21 ms of one core a sample, 2 cores: about 1,650 samples/s"
    assert limit(PHOTOS, 2) == pytest.approx(1650, abs=1)
    assert figure.axes[0].get_xlabel().endswith("hatched: waiting")
    assert draw_costs([Stage("read", 1.0, waits=True)], 2).texts[0].get_text().startswith("No stage takes a core")
    assert "1 core: about 1,000 samples/s" in draw_costs([Stage("map", 1e-3)], 1).texts[0].get_text()
