import gc
import math
import time
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labutils.bench import Measurement, measure


def test_the_median_is_the_planted_time_and_the_interval_brackets_it(machine, noises):
    m = machine(noises.quiet, base=0.005)
    found = measure(m.work(), budget=2.0, clock=m.clock)
    low, high = found.interval
    assert low < 0.005 < high
    assert found.median == np.median(found.values)
    assert (high - low) / found.median < 0.02
    assert found.unit == "s" and found.calls == 1 and found.n == len(found.values) > 300
    assert found.unstable == ()


def test_a_steady_machine_raises_hardly_any_doubts(machine, noises):
    doubts = 0
    for seed in range(100):
        m = machine(noises.quiet, seed=seed)
        doubts += bool(measure(m.work(), budget=0.2, clock=m.clock).unstable)
    assert doubts <= 2


def test_the_first_call_and_the_warm_up_are_kept_apart(machine, noises):
    m = machine(noises.quiet)
    work = m.work()

    def traced():
        m.now += 3.0 if m.calls == 0 else 0.02 if m.calls < 8 else 0.0
        return work()

    found = measure(traced, budget=2.0, clock=m.clock)
    assert found.first == pytest.approx(3.0, rel=0.01)
    assert max(found.values) < 0.002
    assert found.unstable == ()


def test_a_warm_up_that_does_not_end_is_reported(machine, noises):
    m = machine(noises.still, base=0.001)
    work = m.work()

    def slowly_faster():
        m.now += 0.1 * math.exp(-m.calls / 60)
        return work()

    found = measure(slowly_faster, budget=10.0, clock=m.clock)
    assert any(reason.startswith("warm-up") for reason in found.unstable)


@pytest.mark.parametrize("base", [1.0, 5.0])
def test_a_slow_function_gets_three_repetitions_and_no_more_than_it_must(machine, noises, base):
    m = machine(noises.quiet, base=base)
    found = measure(m.work(), budget=2.0, clock=m.clock)
    assert found.n == 3 and m.calls == 4
    assert any(reason.startswith("too few") for reason in found.unstable)
    assert found.interval == (min(found.values), max(found.values))


@settings(deadline=None, max_examples=60)
@given(
    base=st.floats(1e-6, 3.0),
    calls=st.floats(0.1, 5000),
    seed=st.integers(0, 99),
)
def test_it_ends_within_the_budget(machine, noises, base, calls, seed):
    m = machine(noises.quiet, base=base, seed=seed)
    budget = base * calls
    found = measure(m.work(), budget=budget, clock=m.clock)
    spent = m.now - found.first
    assert spent <= max(1.02 * budget + 1.2 * base * found.calls, 3 * 1.2 * base)
    assert found.n >= 3


@pytest.mark.parametrize("base", [1e-7, 3e-6])
def test_short_calls_are_timed_together(machine, noises, base):
    m = machine(noises.quiet, base=base)
    found = measure(m.work(), budget=2000 * base, clock=m.clock)
    assert found.median == pytest.approx(base, rel=0.02)


def test_a_coarse_clock_is_given_slots_it_can_see(machine, noises):
    m = machine(noises.quiet, base=1e-5, tick=1e-5)
    found = measure(m.work(), budget=1.0, clock=m.clock)
    assert found.calls * 1e-5 >= 100 * m.tick
    assert found.median == pytest.approx(1e-5, rel=0.02)
    assert found.unstable == ()


def test_too_short_for_the_clock_is_said(machine, noises):
    m = machine(noises.quiet, base=1e-6, tick=0.016)
    found = measure(m.work(), budget=0.2, clock=m.clock)
    assert any(reason.startswith("too short") for reason in found.unstable)


def test_a_clock_that_stands_still_ends_and_is_doubted():
    found = measure(lambda: None, budget=0.1, clock=lambda: 0.0)
    assert found.median == 0
    assert any(reason.startswith("too short") for reason in found.unstable)
    assert "0 s" in repr(found)


def test_a_function_shorter_than_a_call_is_doubted_on_a_real_clock():
    found = measure(lambda: None, budget=0.1)
    assert found.calls > 100
    assert any("a function that does nothing" in reason for reason in found.unstable)


@pytest.mark.parametrize("way", [1, -1])
def test_drift_is_said_with_its_direction(machine, noises, way):
    m = machine(noises.ramp(0.5 * way if way > 0 else -0.4, calls=1000))
    found = measure(m.work(), budget=1.0, clock=m.clock)
    (reason,) = [reason for reason in found.unstable if reason.startswith("drift")]
    assert ("slower" in reason) == (way > 0)


def test_spread_is_said(machine, noises):
    m = machine(noises.spikes(0.4, 2.0))
    found = measure(m.work(), budget=1.0, clock=m.clock)
    assert any(reason.startswith("spread") for reason in found.unstable)


def test_a_wide_interval_counts_as_spread(machine):
    m = machine(lambda rng: iter(lambda: float(np.exp(0.12 * rng.standard_normal())), None))
    found = measure(m.work(), budget=0.011, clock=m.clock)
    assert any("known only to" in reason for reason in found.unstable)


def test_rare_spikes_cost_no_trust_and_are_kept_in_the_values(machine, noises):
    m = machine(noises.spikes(0.05, 5.0))
    found = measure(m.work(), budget=1.0, clock=m.clock)
    assert found.unstable == ()
    assert found.median == pytest.approx(0.001, rel=0.02)
    assert max(found.values) > 0.004


def test_sync_is_applied_to_every_result_and_timed(machine, noises):
    m = machine(noises.still)
    work, seen = m.work(), []

    def sync(result):
        seen.append(result)
        m.now += 0.004

    found = measure(work, sync=sync, budget=1.0, clock=m.clock)
    assert found.median == pytest.approx(0.005)
    assert seen == list(range(1, m.calls + 1))


def test_throughput_turns_everything_over(machine, noises):
    m = machine(noises.quiet, base=0.01)
    seconds = measure(m.work(), budget=2.0, clock=m.clock)
    rate = seconds.throughput(64)
    assert rate.unit == "samples/s"
    assert rate.median == pytest.approx(64 / seconds.median)
    assert rate.interval == pytest.approx((64 / seconds.interval[1], 64 / seconds.interval[0]))
    assert rate.values == pytest.approx([64 / v for v in seconds.values])
    assert rate.first == pytest.approx(64 / seconds.first)
    with pytest.raises(ValueError, match="samples/s already"):
        rate.throughput(64)
    for wrong in (0, -1, math.nan):
        with pytest.raises(ValueError, match="1 or more"):
            seconds.throughput(wrong)
    with pytest.raises(TypeError, match="how many samples"):
        seconds.throughput("64")


def test_it_reads_well(machine, noises):
    m = machine(noises.still, base=0.0123)
    found = measure(m.work(), budget=1.0, clock=m.clock)
    assert str(found) == f"12.3 ms (95% 12.3 to 12.3 ms, n = {found.n})"
    html = found._repr_html_()
    assert "<b>12.3 ms</b>" in html and "first call 12.3 ms" in html and "trusted" not in html
    grouped = Measurement((2e-6, 2e-6), "s", 2e-6, (1.9e-6, 2.1e-6), ("too few: <2>",), calls=500)
    assert repr(grouped).splitlines() == [
        "2.00 µs (95% 1.90 to 2.10 µs, n = 2 x 500 calls)",
        "  not to be trusted - too few: <2>",
    ]
    assert "&lt;2&gt;" in grouped._repr_html_()


def test_it_is_frozen():
    found = Measurement((1.0,), "s", 1.0, (1.0, 1.0))
    with pytest.raises(FrozenInstanceError):
        found.median = 2.0


@pytest.mark.parametrize("error", [ZeroDivisionError("by design"), KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("call", [1, 2, 40])
def test_what_the_function_raises_passes_unchanged(machine, error, call):
    m = machine()
    work = m.work()

    def breaks():
        if work() == call:
            raise error

    with pytest.raises(type(error)) as caught:
        measure(breaks, budget=0.1, clock=m.clock)
    assert caught.value is error and m.calls == call


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(enabled):
    was = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        inside = []
        measure(lambda: inside.append(gc.isenabled()), budget=0.02)
        assert set(inside) == {enabled} and gc.isenabled() == enabled
    finally:
        (gc.enable if was else gc.disable)()


def test_garbage_made_before_is_collected_before_the_first_call():
    class Node:
        alive = 0

        def __init__(self):
            self.me = self
            Node.alive += 1

        def __del__(self):
            Node.alive -= 1

    was = gc.isenabled()
    gc.disable()
    try:
        Node()
        seen = []
        measure(lambda: seen.append(Node.alive), budget=0.01)
        assert seen[0] == 0
    finally:
        if was:
            gc.enable()


@pytest.mark.parametrize("fn", [3, None, "step"])
def test_a_result_instead_of_a_function_is_explained(fn):
    with pytest.raises(TypeError, match="without calling it"):
        measure(fn)


def test_bad_arguments_are_explained():
    with pytest.raises(TypeError, match="sync must be callable"):
        measure(time.time, sync=3)
    with pytest.raises(TypeError, match="number of seconds"):
        measure(time.time, budget="two")
    for wrong in (0, -1, math.inf, math.nan):
        with pytest.raises(ValueError, match="positive number of seconds"):
            measure(time.time, budget=wrong)
    hours = iter(range(10_000, 0, -1))
    with pytest.raises(ValueError, match="ran backwards"):
        measure(time.time, clock=lambda: float(next(hours)))


def test_each_slot_is_one_value_and_none_is_left_out(machine, noises):
    m = machine(noises.spikes(0.1, 5.0), base=0.002)
    found = measure(m.work(), budget=1.0, clock=m.clock)
    assert 0 < m.now - found.first - sum(found.values) <= 0.25  # the warm-up, and nothing else
