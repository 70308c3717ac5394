"""One global batch on more devices: the bars are the prediction, and a slower one is seen to be slower."""

import pytest

from labutils.show.strong_scaling import REPLICAS, draw_strong_scaling
from labutils.theory.cost import Link, all_reduce_time

ETHERNET = Link(bandwidth=1.25e9, latency=5e-5)
JOBS = {
    "compute rules": (1.0, 10e6, ETHERNET),
    "communication rules": (2e-3, 100e6, ETHERNET),
    "a slow link": (0.1, 100e6, Link(1.25e6, 5e-3)),
    "no gradients": (0.1, 0, ETHERNET),
    "microseconds": (5e-6, 1e3, Link(1e11, 1e-7)),
}


def figures(figure):
    """Seconds of compute and of all-reduce for each bar, and the speed-up written above it."""
    (axes,) = figure.axes
    unit = {"step time (s)": 1, "step time (ms)": 1e3, "step time (µs)": 1e6}[axes.get_ylabel()]
    compute, exposed = ([bar.get_height() / unit for bar in bars] for bars in axes.containers)
    return compute, exposed, [text.get_text() for text in axes.texts], unit


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_bars_speed_ups_and_line_are_those_of_the_arguments(job, assert_readable):
    compute_time, gradient_bytes, link = job
    figure = draw_strong_scaling(*job)
    compute, exposed, words, unit = figures(figure)
    # A model without gradients has nothing to wait for: not even the link's latency.
    all_reduce = [all_reduce_time(gradient_bytes, n, link) if gradient_bytes else 0 for n in REPLICAS]
    assert compute == pytest.approx([compute_time / n for n in REPLICAS])
    assert exposed == pytest.approx(all_reduce)
    steps = [compute_time / n + wait for n, wait in zip(REPLICAS, all_reduce, strict=True)]
    assert words == [f"{compute_time / step:.2g} x" for step in steps]
    (line,) = figure.axes[0].lines
    assert list(line.get_ydata()) == pytest.approx([compute_time * unit] * 2)
    assert_readable(figure)


def test_bars_stack_so_that_their_top_is_the_step():
    compute, exposed = draw_strong_scaling(*JOBS["communication rules"]).axes[0].containers
    assert [bar.get_y() for bar in exposed] == pytest.approx([bar.get_height() for bar in compute])


def test_a_small_model_with_the_same_global_batch_is_predicted_to_be_slower():
    """A convolution of MNIST's size over gigabit Ethernet: the most asked question, answered before it is bought."""
    figure = draw_strong_scaling(8e-3, 1.2e6, Link(125e6, 1e-4), [1, 2, 4])
    _, _, words, _ = figures(figure)
    assert [float(word.removesuffix(" x")) < 1 for word in words] == [False, True, True]
    assert figure.texts[0].get_text().endswith("fastest on 1")


def test_the_headline_names_the_fastest_count():
    assert draw_strong_scaling(*JOBS["no gradients"]).texts[0].get_text().endswith("fastest on 32")
    headline = draw_strong_scaling(*JOBS["compute rules"], replica_counts=[1, 8]).texts[0].get_text()
    assert headline == "1.00 s on one device, 10.0 MB of gradients, 1.25 GB/s: fastest on 8"


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        ((-1.0, 1e6, ETHERNET), "must be finite and zero or more.* give seconds"),
        ((float("nan"), 1e6, ETHERNET), "must be finite and zero or more.* give seconds"),
        ((1.0, -1, ETHERNET), "gradient_bytes must be .* give 4 bytes per float32"),
        ((1.0, 1e6, None), r"link is None: write for example link=Link\("),
        ((0, 1e6, ETHERNET), "nothing to draw: .* work that takes time"),
        ((1.0, 1e6, ETHERNET, []), "nothing to draw: give at least one number of replicas"),
        ((1.0, 1e6, ETHERNET, [1, 2.5]), "replicas must be a whole number"),
    ],
)
def test_values_that_no_step_can_have_are_answered_in_a_sentence(job, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw_strong_scaling(*job)
