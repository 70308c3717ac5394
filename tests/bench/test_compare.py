import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labutils.bench import Comparison, Measurement, compare

SOME = Measurement((1.0,), "s", 1.0, (1.0, 1.0))


def finding(ratio, low, high, threshold=0.02, **more):
    return Comparison(SOME, SOME, ratio, (low, high), threshold, **more)


@pytest.mark.parametrize(
    ("ratio", "low", "high", "verdict"),
    [
        (1.10, 1.05, 1.15, "faster"),
        (0.90, 0.85, 0.95, "slower"),
        (1.10, 0.99, 1.20, "no difference"),
        (0.90, 0.80, 1.01, "no difference"),
        (1.015, 1.01, 1.02, "no difference"),
        (0.985, 0.98, 0.99, "no difference"),
        (math.nan, math.nan, math.nan, "no difference"),
        (1.5, 0.0, math.inf, "no difference"),
    ],
)
def test_a_verdict_needs_the_whole_interval_and_the_threshold(ratio, low, high, verdict):
    assert finding(ratio, low, high).verdict == verdict


def test_the_threshold_is_the_learners_to_choose():
    assert finding(1.015, 1.01, 1.02, threshold=0.01).verdict == "faster"
    assert finding(1.15, 1.10, 1.20, threshold=0.25).verdict == "no difference"


def test_no_difference_says_what_could_have_been_seen():
    wide = finding(1.0, 0.9, 1 / 0.9)
    assert wide.resolution == pytest.approx(1 / 0.9 - 1)
    assert "could have shown a difference of 11.1% or more" in repr(wide)
    assert finding(1.0, 0.999, 1.001).resolution == 0.02
    assert "stays below the 2.0%" in repr(finding(1.015, 1.01, 1.02))
    blind = finding(1.0, 0.0, math.inf)
    assert blind.resolution == math.inf and "could not have shown any" in repr(blind)
    assert "could have" not in repr(finding(1.1, 1.05, 1.15))


@settings(deadline=None, max_examples=40)
@given(scale=st.floats(0.05, 20), seed=st.integers(0, 999))
def test_the_ratio_is_the_speed_up(machine, noises, scale, seed):
    m = machine(noises.quiet, seed=seed)
    found = compare(m.work(), m.work(1 / scale), budget=0.3, clock=m.clock, seed=seed)
    assert found.ratio == pytest.approx(scale, rel=0.06)
    low, high = found.interval
    assert low <= found.ratio <= high
    if abs(math.log(scale)) > 0.1:
        assert found.verdict == ("faster" if scale > 1 else "slower")


def test_swapping_the_sides_turns_the_ratio_over(machine, noises):
    pairs = []
    for left, right in ((1.0, 1.3), (1.3, 1.0)):
        m = machine(noises.quiet, seed=5)
        pairs.append(compare(m.work(left), m.work(right), budget=0.3, clock=m.clock, seed=5))
    assert pairs[0].ratio == pytest.approx(1 / pairs[1].ratio, rel=0.02)
    assert [found.verdict for found in pairs] == ["slower", "faster"]


def test_each_side_goes_first_in_two_pairs_of_every_four(machine, noises):
    m = machine(noises.still)
    order = []
    a, b = m.work(), m.work()
    found = compare(
        lambda: (order.append("A"), a()), lambda: (order.append("B"), b()), budget=0.4, clock=m.clock, seed=3
    )
    turns = "".join(order[-2 * found.baseline.n :])  # before them: first calls and warm-up
    pairs = [turns[i : i + 2] for i in range(0, len(turns), 2)]
    blocks = [tuple(pairs[i : i + 4]) for i in range(0, len(pairs) - 3, 4)]
    assert len(blocks) > 20
    assert all(sorted(block) == ["AB", "AB", "BA", "BA"] for block in blocks)
    assert len(set(blocks)) == 6  # every order of them occurs


def test_a_seed_repeats_the_run(machine, noises):
    def run(seed):
        m = machine(noises.quiet, seed=1)
        return compare(m.work(), m.work(), budget=0.1, clock=m.clock, seed=seed)

    assert run(7) == run(7)
    assert run(7) != run(8)


@pytest.mark.parametrize("scale", [1.0, 1.4, 3.0])
def test_both_sides_make_the_same_number_of_calls_a_turn(machine, noises, scale):
    m = machine(noises.quiet, base=1e-5)
    found = compare(m.work(), m.work(scale), budget=0.4, clock=m.clock)
    assert found.baseline.calls == found.variant.calls > 1
    assert found.baseline.n == found.variant.n


def test_a_side_thousands_of_times_longer_still_gets_its_pairs(machine, noises):
    m = machine(noises.quiet, base=1e-6, tick=1e-7)
    found = compare(m.work(), m.work(20_000), budget=1.0, clock=m.clock)
    assert found.verdict == "slower" and found.baseline.n >= 10
    assert found.ratio == pytest.approx(1 / 20_000, rel=0.05)


@settings(deadline=None, max_examples=40)
@given(base=st.floats(1e-6, 2.0), scale=st.floats(0.02, 50), calls=st.floats(0.1, 2000))
def test_it_ends_within_the_budget(machine, noises, base, scale, calls):
    m = machine(noises.quiet, base=base)
    pair = base * (1 + scale)
    budget = pair * calls
    found = compare(m.work(), m.work(scale), budget=budget, clock=m.clock)
    spent = m.now - found.baseline.first - found.variant.first
    assert spent <= max(1.02 * budget + 1.2 * pair * found.baseline.calls, (1 + 3) * 1.2 * pair)
    assert found.baseline.n >= 3


def test_a_few_slow_pairs_are_compared_and_doubted(machine, noises):
    m = machine(noises.quiet, base=1.0)
    found = compare(m.work(), m.work(0.2), budget=2.0, clock=m.clock, seed=0)
    assert found.baseline.n == 3
    assert any(reason.startswith("too few") for reason in found.unstable)
    assert found.verdict == "faster"  # five times faster shows even so


def test_at_least_so_many_pairs_are_timed_whatever_they_cost(machine, noises):
    m = machine(noises.quiet, base=1.0)
    found = compare(m.work(), m.work(0.8), budget=2.0, pairs=10, clock=m.clock, seed=0)
    assert found.baseline.n == 10 and found.verdict == "faster"
    assert not any(reason.startswith("too few") for reason in found.unstable)
    for wrong, error in ((2, ValueError), (2001, ValueError), (True, TypeError), (10.0, TypeError)):
        with pytest.raises(error, match="pairs is a"):
            compare(m.work(), m.work(), pairs=wrong, clock=m.clock)


def test_a_clock_that_stands_still_shows_no_difference():
    found = compare(lambda: None, lambda: None, budget=0.05, clock=lambda: 0.0)
    assert found.verdict == "no difference" and found.resolution == math.inf
    assert any("too short" in reason for reason in found.unstable)
    assert repr(found) and found._repr_html_()


def test_drift_is_no_reason_to_doubt_a_ratio(machine, noises):
    m = machine(noises.ramp(1.0, calls=300))
    found = compare(m.work(), m.work(0.8), budget=0.5, clock=m.clock)
    assert any("drift" in reason for reason in found.baseline.unstable)
    assert found.unstable == () and found.verdict == "faster"
    assert found.ratio == pytest.approx(1.25, rel=0.02)


def test_sync_is_applied_to_both_sides(machine, noises):
    m = machine(noises.still)
    a, b = m.work(), m.work(3.0)

    def sync(_):
        m.now += 0.001

    assert compare(a, b, sync=sync, budget=0.2, clock=m.clock).ratio == pytest.approx(0.5)


@pytest.mark.parametrize("error", [RuntimeError("by design"), KeyboardInterrupt()])
@pytest.mark.parametrize("side", [0, 1])
def test_what_either_side_raises_passes_unchanged(machine, error, side):
    m = machine()

    def breaks():
        if m.calls > 20:
            raise error

    sides = [m.work(), m.work()]
    sides[side] = breaks if side else lambda: (m.work()(), breaks())
    with pytest.raises(type(error)) as caught:
        compare(*sides, budget=0.1, clock=m.clock)
    assert caught.value is error


def test_it_reads_well(machine, noises):
    m = machine(noises.still, base=0.0123)
    found = compare(m.work(), m.work(0.5), budget=1.0, clock=m.clock)
    first, *sides = repr(found).splitlines()
    assert first == "faster: 2.00x (99% 2.00x to 2.00x)"
    assert sides[0].startswith("  baseline  12.3 ms (95%") and sides[1].startswith("  variant   6.15 ms (95%")
    html = found._repr_html_()
    assert "faster</b>: 2.00x" in html and "12.3 ms" in html and "6.15 ms" in html
    failed = finding(math.nan, math.nan, math.nan, error="ValueError: <shape>")
    assert repr(failed) == "failed: ValueError: <shape>"
    assert "&lt;shape&gt;" in failed._repr_html_()


def test_bad_arguments_are_explained():
    with pytest.raises(TypeError, match="without calling it"):
        compare(lambda: None, 3)
    with pytest.raises(ValueError, match="positive number of seconds"):
        compare(lambda: None, lambda: None, budget=0)
    for wrong in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match="share from 0 to 1"):
            compare(lambda: None, lambda: None, threshold=wrong)
    with pytest.raises(TypeError, match="2%"):
        compare(lambda: None, lambda: None, threshold="2%")
