import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom, wilcoxon

from labutils.bench import stats

finite = st.floats(-10, 10, allow_nan=False, width=32)


def covered(draw, truth, repeats=1000):
    return sum(low <= truth <= high for low, high in map(stats.median_interval, draw(repeats))) / repeats


@pytest.mark.parametrize("n", [6, 10, 25, 100, 250])
def test_the_medians_interval_covers_it_as_often_as_it_says(n):
    rng = np.random.default_rng(n)
    share = covered(lambda repeats: rng.lognormal(0, 1, (repeats, n)), truth=1.0)
    assert 0.94 <= share <= 0.99


@pytest.mark.parametrize("correlation", [0.3, 0.6, 0.9])
def test_it_still_does_where_calls_resemble_their_neighbours(correlation, noises):
    n, repeats = 400, 400
    rows = []
    for seed in range(repeats):
        factors = noises.runs(correlation)(np.random.default_rng(seed))
        rows.append([next(factors) for _ in range(n)])
    assert covered(lambda _: rows, truth=1.0, repeats=repeats) >= 0.90


@pytest.mark.parametrize("n", [6, 7, 15, 40, 199, 200])
def test_as_many_values_are_left_off_as_the_binomial_law_allows(n):
    outside = stats._outside(n, 0.95)
    assert 2 * binom.cdf(outside, n, 0.5) <= 0.05 < 2 * binom.cdf(outside + 1, n, 0.5)


@given(arrays(float, st.integers(1, 40), elements=finite))
def test_the_interval_holds_the_median_and_only_values_seen(values):
    low, high = stats.median_interval(values)
    assert low <= np.median(values) <= high
    assert low in values and high in values


@pytest.mark.parametrize("n", [10, 12, 20, 37, 50, 51, 120])
def test_the_ratios_interval_is_where_wilcoxons_test_rejects(n):
    d = np.random.default_rng(n).normal(0.3, 1, n)
    _, low, high = stats.centre_and_interval(d)
    method = "exact" if n <= 50 else "approx"
    for inside, outside in ((low + 1e-9, low - 1e-3), (high - 1e-9, high + 1e-3)):
        assert wilcoxon(d - inside, method=method, correction=True).pvalue > 0.01 * 0.98
        assert wilcoxon(d - outside, method=method, correction=True).pvalue <= 0.01 * 1.1


@given(arrays(float, st.integers(3, 40), elements=finite), st.floats(-5, 5))
def test_shifting_all_differences_shifts_centre_and_interval(d, shift):
    before = np.array(stats.centre_and_interval(d))
    assert np.allclose(stats.centre_and_interval(d + shift), before + shift, atol=1e-9)


@given(arrays(float, st.integers(3, 40), elements=finite))
def test_the_centre_lies_in_its_interval_and_turning_signs_turns_it_round(d):
    centre, low, high = stats.centre_and_interval(d)
    assert low <= centre <= high
    assert np.allclose(stats.centre_and_interval(-d), (-centre, -high, -low), atol=1e-9)


@pytest.mark.parametrize("n", range(3, 10))
def test_a_few_pairs_get_students_interval_and_it_covers(n):
    rng = np.random.default_rng(n)
    rows = map(stats.centre_and_interval, rng.normal(0, 1, (2000, n)))
    assert 0.98 <= sum(low <= 0 <= high for _, low, high in rows) / 2000 <= 0.999


def test_fewer_than_three_pairs_bound_nothing():
    assert stats.centre_and_interval([0.5, 0.7])[1:] == (-math.inf, math.inf)
    assert math.isnan(stats.centre_and_interval([])[0])


@pytest.mark.parametrize("n", [10, 30])
def test_one_wild_pair_moves_the_centre_little(n):
    d = np.random.default_rng(n).normal(0, 0.01, n)
    wild = np.append(d[:-1], 1e6)
    assert abs(stats.centre_and_interval(wild)[0] - stats.centre_and_interval(d)[0]) < 0.01


def test_a_trend_is_reported_as_the_change_from_first_to_last():
    rng = np.random.default_rng(0)
    values = np.linspace(1.0, 1.5, 600) * np.exp(0.03 * rng.standard_normal(600))
    assert stats.drift(values) == pytest.approx(0.5 / 1.25, rel=0.1)
    assert stats.drift(values[::-1]) == pytest.approx(-0.5 / 1.25, rel=0.1)


def test_noise_and_spikes_are_rarely_taken_for_a_trend():
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(500):
        values = np.exp(0.05 * rng.standard_normal(200)) * np.where(rng.random(200) < 0.1, 5.0, 1.0)
        alarms += stats.drift(values) != 0
    assert alarms <= 0.02 * 500


def test_seven_values_show_no_trend_and_a_stopped_clock_none_either():
    assert stats.drift(range(1, 8)) == 0
    assert stats.drift([0.0] * 100) == 0


def test_spread_is_the_interquartile_range_over_the_median():
    assert stats.spread([1, 2, 3, 4, 5]) == pytest.approx(2 / 3)
    assert stats.spread([0, 0, 0]) == math.inf
