"""Sorted labels through a shuffle buffer: the dots, the bars and the words are those of the order that it gives."""

import re

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D

from labutils.show.shuffle_window import draw_shuffle
from labutils.theory.shuffle import shuffle_order


def words(figure):
    return [text.get_text() for text in figure.texts]


def share_of_first(figure):
    return int(re.search(r"is (\d+)% of the first", words(figure)[0]).group(1)) / 100


@pytest.mark.parametrize(("buffer", "low", "high"), [(1, 0, 0), (100, 0, 0), (3000, 0, 0), (10_000, 0.45, 0.55)])
def test_the_title_says_the_share_of_class_1_in_the_first_thousand(buffer, low, high, assert_readable):
    figure = draw_shuffle(10_000, buffer)
    labels = shuffle_order(10_000, buffer) // 5000
    assert share_of_first(figure) == pytest.approx(labels[:1000].mean(), abs=0.005)
    assert low <= share_of_first(figure) <= high
    assert words(figure)[0].startswith(f"Buffer {buffer:,}: class 1 is ")
    assert_readable(figure)


@pytest.mark.parametrize(("samples", "buffer", "classes"), [(2000, 50, 2), (2000, 3000, 5), (100, 7, 1)])
def test_the_dots_are_places_before_and_after(samples, buffer, classes):
    left = draw_shuffle(samples, buffer, classes, seed=3).axes[0]
    order = shuffle_order(samples, buffer, seed=3)
    assert len(left.lines) == classes
    after, before = (np.concatenate([get(line) for line in left.lines]) for get in (Line2D.get_xdata, Line2D.get_ydata))
    assert sorted(after) == list(range(1, samples + 1))
    assert list(before[np.argsort(after)]) == list(order + 1)


@pytest.mark.parametrize(("buffer", "classes"), [(200, 2), (1000, 4), (10_000, 10)])
def test_the_bars_are_the_shares_of_each_class_in_each_tenth(buffer, classes, assert_readable):
    figure = draw_shuffle(10_000, buffer, classes)
    bars = [each for each in figure.axes[1].collections if isinstance(each, PolyCollection)][:classes]
    labels = shuffle_order(10_000, buffer) * classes // 10_000
    for number, collection in enumerate(bars):
        shares = np.zeros(10)
        for path in collection.get_paths():
            (left, bottom), (right, top) = path.vertices.min(axis=0), path.vertices.max(axis=0)
            shares[round((left + right) / 2) - 1] = top - bottom
        expected = [100 * np.mean(part == number) for part in np.array_split(labels, 10)]
        assert shares == pytest.approx(expected)
    assert_readable(figure)


def test_a_small_buffer_gives_batches_of_one_class_and_a_full_one_none():
    def alone(buffer):
        return draw_shuffle(10_000, buffer).texts[-1].get_text()

    assert alone(1) == "single-class batches of 64: 156 of 157"
    assert alone(10_000) == "single-class batches of 64: 0 of 157"
    assert words(draw_shuffle(10_000, 100))[1] == "no sample leaves over 99 places early"
    assert words(draw_shuffle(10_000, 20_000))[1] == "every order is possible"


@pytest.mark.parametrize("arguments", [(1, 1, 1), (5, 3, 2), (10, 1, 3), (200_000, 1, 12), (1_000_000, 3, 2)])
def test_any_size_is_readable(arguments, assert_readable):
    assert_readable(draw_shuffle(*arguments))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0, 1), "samples must be at least 1, .*: count the elements"),
        ((10, 0), "buffer must be at least 1, .*: count the elements"),
        ((10, 2.5), "buffer must be a whole number"),
        ((10, 2, 0), "classes must be at least 1"),
        ((10, 2, 11), "11 classes of 10 samples cannot be told apart: give 10 or fewer"),
        ((100, 2, 13), "13 classes of 100 samples cannot be told apart: give 12 or fewer"),
        ((10, 2, 2, 0, 0), "batch must be at least 1"),
    ],
)
def test_what_cannot_be_drawn_is_answered_in_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw_shuffle(*arguments)
