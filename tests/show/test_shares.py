"""Shares of a batch: bars as high as the examples, colours that say what each example weighs."""

import pytest
from matplotlib.colors import to_hex

from labutils.show.shares import EMPTY, FAIR, HEAVY, LIGHT, draw_shares
from labutils.train.lint import split_batch


def shares(rows, replicas):
    """(examples, weight) of each replica, as Keras weighs them."""
    share = split_batch(rows, replicas)
    return list(zip(share.split, share.factors, strict=True))


def bars(axes):
    return [(bar.get_height(), to_hex(bar.get_facecolor()).upper()) for bar in axes.patches]


@pytest.mark.parametrize(
    ("batch", "samples", "replicas"),
    [(32, 66, 2), (32, 66, 4), (64, 1222, 4), (60, 1222, 6), (32, 66, 8), (64, 1222, 8), (256, 1000, 8)],
)
def test_both_batches_are_drawn_as_they_are_split(batch, samples, replicas, assert_readable):
    full, tail = shares(batch, replicas), shares(samples % batch, replicas)
    figure = draw_shares(full, tail, f"{samples} examples, {batch} in a batch, on {replicas} replicas")
    for axes, drawn in zip(figure.axes, (full, tail), strict=True):
        assert [height for height, _ in bars(axes)] == [examples for examples, _ in drawn]
        labels = [text.get_text() for text in axes.texts]
        assert labels == [f"{examples}\n×{weight:.2g}" if examples else "none" for examples, weight in drawn]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()  # the panels can be compared
    assert_readable(figure)


def test_colours_say_what_an_example_weighs():
    figure = draw_shares([(8, 1.0)] * 4, [(3, 0.8), (3, 0.8), (1, 2.4), (0, 0.0)])
    assert [color for _, color in bars(figure.axes[0])] == [FAIR] * 4
    assert [color for _, color in bars(figure.axes[1])] == [LIGHT, LIGHT, HEAVY, EMPTY]
    legend = [text.get_text() for text in figure.legends[0].texts]
    assert legend == ["each example weighs ×1", "too much", "too little"]


def test_a_full_last_batch_is_said_in_words(assert_readable):
    figure = draw_shares(shares(64, 4), None, "1280 examples")
    assert not figure.axes[1].patches
    assert [text.get_text() for text in figure.axes[1].texts] == ["The last batch is full too."]
    assert_readable(figure)


@pytest.mark.parametrize(("full", "tail"), [([], None), ([(8, 1.0)], [])])
def test_no_replica_at_all_is_refused(full, tail):
    with pytest.raises(ValueError, match="nothing to draw: give the share of at least one replica"):
        draw_shares(full, tail)
