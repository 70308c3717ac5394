import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text

from labutils.show.messages import draw_all_reduce
from labutils.theory.collectives import ALGORITHMS, hierarchical_all_reduce, ring_all_reduce


def run(algorithm, ranks, elements=48):
    arrays = [np.ones(elements, np.float32)] * ranks
    return hierarchical_all_reduce(arrays, 3) if algorithm == "hierarchical" else ALGORITHMS[algorithm](arrays)


def words(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def arrows(figure):
    return [patch for patch in figure.axes[0].patches if isinstance(patch, FancyArrowPatch)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("ranks", [1, 2, 4, 6, 8])
def test_every_round_has_its_arrows_and_the_last_one_all_the_sums(algorithm, ranks, assert_readable):
    reduced = run(algorithm, ranks)
    for number in range(reduced.rounds + 1):
        figure = draw_all_reduce(reduced, number)
        assert len(arrows(figure)) == sum(message.round == number - 1 for message in reduced.messages)
    bounds = {0, 48} | {message.start for message in reduced.messages}
    assert words(figure).count("sum") == ranks * (len(bounds) - 1)
    assert_readable(figure)
    assert_readable(draw_all_reduce(reduced, reduced.rounds // 2))


def test_a_ring_of_four_shows_who_is_in_each_partial_sum():
    figure = draw_all_reduce(run("ring", 4), 2)
    assert {"r0 + r1 + r2", "r1 + r2 + r3", "r0 + r2 + r3", "r0 + r1 + r3"} <= set(words(figure))
    assert "sum" not in words(figure)
    assert "round 2 of 6: reduce-scatter, the receiver adds" in words(figure)
    assert "sent by all so far: 384 B of 1.15 kB" in words(figure)
    assert words(draw_all_reduce(run("ring", 4), 3)).count("sum") == 4


def test_arrows_run_from_sender_to_receiver():
    reduced = run("tree", 4)
    figure = draw_all_reduce(reduced, 2)
    start, end = arrows(figure)[0]._posA_posB
    assert (round(start[1]), round(end[1])) == (2, 0)


@pytest.mark.parametrize("elements", [0, 1, 2])
def test_arrays_smaller_than_the_ranks_are_drawn(elements, assert_readable):
    reduced = run("ring", 4, elements)
    for number in (0, 1, reduced.rounds):
        assert_readable(draw_all_reduce(reduced, number))
    assert len(arrows(draw_all_reduce(reduced, 1))) == elements


def test_many_ranks_are_drawn_without_words_in_the_cells(assert_readable):
    assert_readable(draw_all_reduce(run("ring", 16), 5))
    assert_readable(draw_all_reduce(run("halving_doubling", 32), 3))


@pytest.mark.parametrize("number", [-1, 7, 1.0, True, None, "1"])
def test_a_round_that_does_not_exist_is_refused_with_those_that_do(number):
    with pytest.raises(ValueError, match=r"has 6 rounds: give a whole number from 0 \(the start\) to 6"):
        draw_all_reduce(ring_all_reduce([np.ones(4)] * 4), number)
