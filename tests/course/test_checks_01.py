"""Lab 01: each check accepts every right answer, and says of a wrong one what is wrong."""

import math

import numpy as np
import pytest

from labutils.course.checks import ch01


def round_by_round(pieces):
    n = len(pieces)
    for lap in range(n - 1):
        sent = [pieces[r][(r + 1 - lap) % n] for r in range(n)]
        for r in range(n):
            pieces[(r + 1) % n][(r + 1 - lap) % n] = sent[r]
    return pieces


def copied_and_nothing_returned(pieces):
    n = len(pieces)
    for lap in range(n - 1):
        for r in range(n):
            piece = (r + 1 - lap) % n
            pieces[(r + 1) % n][piece][:] = pieces[r][piece]


def from_whoever_finished(pieces):
    finished = [pieces[p - 1][p].copy() for p in range(len(pieces))]
    for mine in pieces:
        mine[:] = finished
    return pieces


@pytest.mark.parametrize("answer", [round_by_round, copied_and_nothing_returned, from_whoever_finished])
def test_the_second_lap_is_right(answer):
    assert ch01.all_gather(answer).state == "right"


def one_lap_too_few(pieces):
    n = len(pieces)
    for lap in range(n - 2):
        for r in range(n):
            pieces[(r + 1) % n][(r + 1 - lap) % n] = pieces[r][(r + 1 - lap) % n]
    return pieces


def one_round(pieces):
    n = len(pieces)
    sent = [pieces[r][(r + 1) % n] for r in range(n)]
    for r in range(n):
        pieces[(r + 1) % n][(r + 1) % n] = sent[r]
    return pieces


def the_first_laps_pieces(pieces):
    n = len(pieces)
    for lap in range(n - 1):
        for r in range(n):
            pieces[(r + 1) % n][(r - lap) % n] = pieces[r][(r - lap) % n]
    return pieces


def not_in_place(pieces):
    return round_by_round([list(mine) for mine in pieces])


def only_for_two(pieces):
    pieces[0][0], pieces[1][1] = pieces[1][0], pieces[0][1]
    return pieces


def adds(pieces):
    n = len(pieces)
    for lap in range(n - 1):
        for r in range(n):
            pieces[(r + 1) % n][(r + 1 - lap) % n] = pieces[(r + 1) % n][(r + 1 - lap) % n] + pieces[r][0]
    return pieces


@pytest.mark.parametrize(
    "answer, says",
    [
        (one_lap_too_few, "in place"),  # of two ranks, nothing moves
        (one_round, "On 3 ranks, rank 0 ends without the finished piece 2"),  # enough for two ranks
        (the_first_laps_pieces, "On 2 ranks, rank"),
        (not_in_place, "in place"),
        (only_for_two, "IndexError"),
        (adds, "without the finished piece"),
        (lambda: None, "TypeError"),
        (lambda pieces: 1 / 0, "ZeroDivisionError"),
        ([1, 2], "TypeError"),
    ],
)
def test_the_second_lap_is_wrong(answer, says):
    verdict = ch01.all_gather(answer)
    assert verdict.state == "wrong" and says in verdict.sentence


def weighted(means, examples):
    pairs = zip(means, examples, strict=True)
    return sum(mean * count for mean, count in pairs if count) / sum(examples)


@pytest.mark.parametrize(
    "answer",
    [
        weighted,
        lambda means, examples: np.average(np.nan_to_num(means), axis=0, weights=examples),
        lambda means, examples: np.nansum(np.array(means).T * examples, axis=1) / sum(examples),
        lambda means, examples: list(weighted(means, examples)),
    ],
)
def test_uneven_shares_are_combined(answer):
    assert ch01.combine(answer).state == "right"


@pytest.mark.parametrize(
    "answer, says",
    [
        (lambda means, examples: np.mean(means, axis=0), "shares of [2, 2, 1, 1] examples"),
        (lambda means, examples: np.mean(means, axis=0), "the average of the means"),
        (lambda means, examples: np.average(means, axis=0, weights=examples), "an empty share spoils it"),
        (lambda means, examples: weighted(means, examples) * sum(examples), "64 times the mean over all examples"),
        (lambda means, examples: sum(np.nan_to_num(means)), "4 times the mean"),
        (lambda means, examples: np.mean(means), "the shape (); one gradient has the shape (3,)"),
        (lambda means, examples: means, "the shape (4, 3)"),
        (lambda means, examples: weighted(means, examples) + 1e-3, "not every example weighs the same"),
        (lambda means, examples: "mean", "shape"),
        (lambda means: means[0], "TypeError"),
        (3.0, "expected a function, got float"),
    ],
)
def test_uneven_shares_are_spoilt(answer, says):
    verdict = ch01.combine(answer)
    assert verdict.state == "wrong" and says in verdict.sentence


FOUR = ("both wrong", "wrong training", "right", "wrong report")


def test_the_four_outcomes_follow_from_the_two_switches():
    """On n equal shares: local means add up to n times the truth, and the mean of global shares is 1/n of it."""
    n, answers = 4, []
    for computed in (1.0, 1 / n):  # what a replica computes of a loss of 1: its local mean, its global share
        trains_right = n * computed == 1  # gradients are added up in any case
        for reported in (n * computed, computed):  # SUM, MEAN
            names = {(True, True): "right", (False, True): "wrong report", (True, False): "wrong training"}
            answers.append(names.get((reported == 1, trains_right), "both wrong"))
    assert tuple(answers) == FOUR
    assert ch01.diagnosis(*answers).state == "right"


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("answer", ch01.OUTCOMES)
def test_one_of_four_outcomes_is_confused(place, answer):
    answers = list(FOUR)
    answers[place] = answer
    verdict = ch01.diagnosis(*answers)
    if answer == FOUR[place]:
        assert verdict.state == "right"
    else:
        assert verdict.state == "wrong" and f"is not {answer!r}" in verdict.sentence
        assert FOUR[place] not in verdict.sentence.replace(f"{answer!r}", ""), "the answer is given away"


@pytest.mark.parametrize("answer", ["Right", 1, ["right"], True])
def test_an_outcome_of_another_kind(answer):
    verdict = ch01.diagnosis(answer, *FOUR[1:])
    assert verdict.state == "wrong" and f"you wrote {answer!r}" in verdict.sentence


NEEDED = (2 * 15 / 16 * 100e6) / (0.08 / 0.9 - 0.08 - 30 * 20e-6)  # bytes/s: compute over step time is 0.9


@pytest.mark.parametrize("answer", [NEEDED, 1.04 * NEEDED, 0.99 * NEEDED, np.float64(NEEDED), round(NEEDED)])
def test_the_slowest_link_is_right(answer):
    verdict = ch01.bandwidth(answer)
    assert verdict.state == "right" and f"{answer * 8 / 1e9:.0f} Gbit/s" in verdict.sentence


@pytest.mark.parametrize(
    "answer, says",
    [
        (8 * NEEDED, "a factor of 8"),
        (NEEDED / 8, "a factor of 8"),
        (NEEDED / 2, "not yet 90%"),  # the gradients counted once
        (0.93 * NEEDED, "not yet 90%"),
        (1.07 * NEEDED, "A slower link would do"),
        (1e12, "A slower link would do"),
        (math.inf, "A slower link would do"),
        (0, "a positive number"),
        (-NEEDED, "a positive number"),
        (math.nan, "a positive number"),
        (True, "a positive number"),
        ("23 GB/s", "a positive number of bytes per second, not '23 GB/s'"),
        ([NEEDED], "a positive number"),
    ],
)
def test_the_slowest_link_is_wrong(answer, says):
    verdict = ch01.bandwidth(answer)
    assert verdict.state == "wrong" and says in verdict.sentence


def test_not_yet():
    checks = [ch01.all_gather(...), ch01.combine(...), ch01.bandwidth(...), ch01.diagnosis(..., *FOUR[1:])]
    checks += [ch01.all_gather(lambda pieces: ...), ch01.all_gather(lambda pieces: None)]
    checks += [ch01.combine(lambda means, examples: None), ch01.diagnosis(*FOUR[:3], ...)]
    assert {verdict.state for verdict in checks} == {"not yet"}
