"""Lab 00: each check accepts every right answer, and says of a wrong one what is wrong."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from labutils.bench import Comparison, Measurement
from labutils.course.checks import ch00

MS = 1e-3


def measured(n=50, median=2 * MS, first=100 * MS):
    values = tuple(np.linspace(0.9, 1.1, n) * median)
    return Measurement(values, "s", median, (0.95 * median, 1.05 * median), first=first)


def compared(ratio, low, high):
    return Comparison(measured(), measured(median=2 * MS / ratio), ratio, (low, high))


@pytest.mark.parametrize(
    "answer",
    [
        lambda replicas, cores: -(-replicas // cores),
        lambda replicas, cores: math.ceil(replicas / cores),
        lambda replicas, cores: (replicas + cores - 1) // cores,
        lambda replicas, cores: np.ceil(replicas / cores),
        lambda replicas, cores: len(range(0, replicas, cores)),
    ],
)
def test_waves_are_right(answer):
    assert ch00.waves(answer).state == "right"


@pytest.mark.parametrize(
    "answer, says",
    [
        (lambda replicas, cores: replicas, "8 replicas on 2 cores need 4 waves; your function says 8"),
        (lambda replicas, cores: max(1, replicas // cores), "7 replicas on 2 cores need 4 waves"),
        (lambda replicas, cores: round(replicas / cores), "3 replicas on 8 cores need 1 waves"),
        (lambda replicas, cores: max(1, round(replicas / cores)), "16 replicas on 5 cores need 4 waves"),
        (lambda replicas, cores: replicas // cores + 1, "1 replicas on 1 cores need 1 waves"),
        (lambda replicas, cores: cores / replicas, "8 replicas on 2 cores"),
        (lambda replicas, cores: f"{-(-replicas // cores)}", "your function says '1'"),
        (lambda replicas: replicas, "TypeError"),
        (lambda replicas, cores: replicas / 0, "ZeroDivisionError"),
        (4, "expected a function, got int"),
    ],
)
def test_waves_are_wrong(answer, says):
    verdict = ch00.waves(answer)
    assert verdict.state == "wrong" and says in verdict.sentence


@pytest.mark.parametrize("first", [10 * MS, 100 * MS, 5.0])  # little and much tracing
def test_tracing_is_the_first_call_without_a_usual_one(first):
    one = measured(first=first)
    usual = [one.median, np.mean(one.values), one.values[0], min(one.values)]
    for answer in [first - seconds for seconds in usual] + [np.float32(first - one.median)]:
        assert ch00.trusted(one, answer).state == "right"
    assert ch00.trusted(one, Fraction(first - one.median)).state == "right"


@pytest.mark.parametrize("first", [10 * MS, 100 * MS, 5.0])
@pytest.mark.parametrize(
    "answer, says",
    [
        (lambda one: one.first, "the whole first call"),
        (lambda one: one.median, "you say 0.002 s"),
        (lambda one: one.first + one.median, "no normal call"),
        (lambda one: one.median - one.first, "no normal call"),
        (lambda one: (one.first - one.median) * 1e3, "The first call took"),
        (lambda one: math.nan, "no normal call"),
        (lambda one: "98 ms", "a number of seconds, not '98 ms'"),
        (lambda one: True, "a number of seconds, not True"),
        (lambda one: one, "a number of seconds"),
    ],
)
def test_tracing_is_wrong(first, answer, says):
    one = measured(first=first)
    verdict = ch00.trusted(one, answer(one))
    assert verdict.state == "wrong" and says in verdict.sentence


@pytest.mark.parametrize(
    "measurement, says",
    [
        (0.002, "what measure() returns, not float"),
        (measured(n=5), "5 values are too few"),
        (dataclasses.replace(measured(), unit="samples/s"), "yours is in samples/s"),
    ],
)
def test_a_figure_is_not_to_be_trusted(measurement, says):
    verdict = ch00.trusted(measurement, 0.098)
    assert verdict.state == "wrong" and says in verdict.sentence


COMPARISONS = {
    "faster": compared(1.5, 1.4, 1.6),
    "slower": compared(0.5, 0.4, 0.6),
    "no difference": compared(1.05, 0.98, 1.12),
}


@pytest.mark.parametrize("drawn", COMPARISONS)
@pytest.mark.parametrize("seen", COMPARISONS)
def test_the_conclusion_follows_from_the_interval(seen, drawn):
    verdict = ch00.faster(COMPARISONS[seen], drawn)
    assert verdict.state == ("right" if seen == drawn else "wrong")
    if seen != drawn:
        low, high = COMPARISONS[seen].interval
        assert f"{low:.3g} to {high:.3g}" in verdict.sentence and "2%" in verdict.sentence


def test_a_difference_below_the_threshold_is_none():
    assert ch00.faster(compared(1.01, 1.005, 1.015), "faster").state == "wrong"
    assert ch00.faster(compared(1.01, 1.005, 1.015), "no difference").state == "right"


@pytest.mark.parametrize(
    "comparison, drawn, says",
    [
        (1.5, "faster", "what compare() returns, not float"),
        (COMPARISONS["faster"], "quicker", "not 'quicker'"),
        (COMPARISONS["faster"], ["faster"], "'faster', 'slower' or 'no difference'"),
        (COMPARISONS["faster"], True, "not True"),
    ],
)
def test_a_conclusion_of_another_kind(comparison, drawn, says):
    verdict = ch00.faster(comparison, drawn)
    assert verdict.state == "wrong" and says in verdict.sentence


def test_not_yet():
    checks = [ch00.waves(...), ch00.waves(lambda r, c: ...), ch00.trusted(..., ...), ch00.trusted(measured(), ...)]
    checks += [ch00.faster(..., "faster"), ch00.faster(COMPARISONS["faster"], ...)]
    assert {verdict.state for verdict in checks} == {"not yet"}
