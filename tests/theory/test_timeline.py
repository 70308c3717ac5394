import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labutils.theory.cost import Link, all_reduce_time
from labutils.theory.efficiency import strong_efficiency, strong_scaling, weak_efficiency, weak_scaling
from labutils.theory.timeline import StepSpec, predict_step

# Whole seconds and bytes: sums of them are exact, so equality can be asked for.
WHOLE = st.integers(0, 1000)


@st.composite
def specs(draw, **fixed):
    values = {
        "replicas": draw(st.integers(1, 32)),
        "forward_time": draw(WHOLE),
        "backward_time": draw(WHOLE),
        "gradient_bytes": draw(st.integers(0, 10**6)),
        "link": Link(draw(st.integers(1, 10**4)), draw(st.integers(0, 3))),
        "per_replica_batch": draw(st.integers(1, 64)),
        "buckets": draw(st.integers(1, 8)),
        "overlap": draw(st.booleans()),
        "algorithm": draw(st.sampled_from(["ring", "tree", "halving_doubling"])),
        "input_time": draw(WHOLE),
        "prefetch": draw(st.booleans()),
        "split_time": draw(WHOLE),
        "update_time": draw(WHOLE),
    }
    return StepSpec(**{**values, **fixed})


def not_above(smaller, larger):
    return smaller <= larger * (1 + 1e-9) + 1e-9


@given(specs(overlap=False, buckets=1, prefetch=False))
def test_without_overlap_the_step_is_the_sum_of_its_phases(spec):
    communication = all_reduce_time(spec.gradient_bytes, spec.replicas, spec.link, spec.algorithm)
    if spec.gradient_bytes == 0:
        communication = 0.0
    before = spec.input_time + spec.split_time + spec.forward_time + spec.backward_time
    assert predict_step(spec).step_time == before + communication + spec.update_time


@given(specs())
def test_the_breakdown_adds_up_and_exposes_no_more_than_there_is(spec):
    timeline = predict_step(spec)
    assert sum(timeline.breakdown.values()) == pytest.approx(timeline.step_time, rel=1e-9)
    assert all(seconds >= 0 for seconds in timeline.breakdown.values())
    assert not_above(timeline.exposed_communication, timeline.communication)


@given(specs())
def test_events_keep_their_order_on_every_replica(spec):
    timeline = predict_step(spec)
    for replica in range(spec.replicas):
        mine = {event.phase: event for event in timeline.events if event.replica == replica}
        order = [mine[phase] for phase in ("split", "forward", "backward", "update") if phase in mine]
        assert all(first.end <= later.start for first, later in pairwise(order))
        if "all-reduce" in mine and "update" in mine:
            assert mine["all-reduce"].end <= mine["update"].start
    assert max((event.end for event in timeline.events), default=0) == timeline.step_time
    assert {event.replica for event in timeline.events} in ({*range(spec.replicas)}, set())


@given(specs())
def test_a_bucket_waits_for_its_gradients_and_for_the_link(spec):
    timeline = predict_step(spec)
    buckets = [event for event in timeline.events if event.replica == 0 and event.phase == "all-reduce"]
    assert len(buckets) == (spec.buckets if spec.replicas > 1 and spec.gradient_bytes else 0)
    assert all(first.end <= later.start for first, later in pairwise(buckets))
    forward = (0 if spec.prefetch else spec.input_time) + spec.split_time + spec.forward_time
    for event in buckets:
        share = (event.bucket + 1) / spec.buckets if spec.overlap else 1
        assert event.start >= forward + share * spec.backward_time - 1e-9


@given(specs(), st.integers(0, 10**6))
def test_more_bytes_are_never_faster(spec, more):
    heavier = replace(spec, gradient_bytes=spec.gradient_bytes + more)
    assert not_above(predict_step(spec).step_time, predict_step(heavier).step_time)


@given(specs(), st.integers(1, 100))
def test_more_bandwidth_is_never_slower(spec, factor):
    faster = replace(spec, link=Link(spec.link.bandwidth * factor, spec.link.latency))
    assert not_above(predict_step(faster).step_time, predict_step(spec).step_time)


@given(specs(overlap=False))
def test_overlap_and_prefetch_are_never_slower(spec):
    assert not_above(predict_step(replace(spec, overlap=True)).step_time, predict_step(spec).step_time)
    fetched, waited = (predict_step(replace(spec, prefetch=prefetch)) for prefetch in (True, False))
    assert fetched.step_time <= waited.step_time


@given(specs(replicas=1))
def test_one_replica_has_no_communication(spec):
    timeline = predict_step(spec)
    assert timeline.communication == timeline.exposed_communication == 0
    assert all(event.phase != "all-reduce" for event in timeline.events)


def test_overlap_in_numbers():
    """Four buckets of 2 s behind a backward pass of 8 s: three are hidden, the last is exposed."""
    spec = StepSpec(
        replicas=2, forward_time=4, backward_time=8, gradient_bytes=8, link=Link(1), buckets=4, overlap=True
    )
    timeline = predict_step(spec)
    spans = [(e.start, e.end) for e in timeline.events if e.replica == 1 and e.phase == "all-reduce"]
    assert spans == [(6, 8), (8, 10), (10, 12), (12, 14)]
    assert (timeline.communication, timeline.exposed_communication, timeline.step_time) == (8, 2, 14)
    slow = predict_step(replace(spec, link=Link(0.5)))
    assert slow.step_time == 6 + 4 * 4  # the link, once it starts, is never idle


def test_prefetch_hides_the_input_until_it_is_the_longest():
    spec = StepSpec(replicas=1, forward_time=1, backward_time=2, input_time=2, prefetch=True)
    assert predict_step(spec).step_time == 3
    assert predict_step(spec).breakdown["input"] == 0
    starved = predict_step(replace(spec, input_time=5))
    assert (starved.step_time, starved.breakdown["input"]) == (5, 2)


def test_throughput_counts_every_replicas_samples():
    spec = StepSpec(replicas=4, forward_time=1, backward_time=1, per_replica_batch=32, link=Link(1e9))
    assert predict_step(spec).throughput == 64
    assert predict_step(StepSpec(replicas=1, forward_time=0, backward_time=0)).throughput == math.inf


def test_compute_time_per_sample_goes_one_third_forward_two_thirds_backward():
    spec = StepSpec.from_sample_time(compute_time_per_sample=0.003, per_replica_batch=100, replicas=1)
    assert (spec.forward_time, spec.backward_time) == (pytest.approx(0.1), pytest.approx(0.2))
    assert spec.with_batch(50).compute_time == pytest.approx(0.15)
    assert spec.with_batch(50).per_replica_batch == 50


def test_hierarchical_steps_use_both_links():
    spec = StepSpec(
        replicas=8,
        forward_time=0,
        backward_time=0,
        gradient_bytes=80,
        link=Link(10),
        algorithm="hierarchical",
        group_size=4,
        inner_link=Link(100),
    )
    expected = all_reduce_time(80, 8, Link(10), "hierarchical", group_size=4, inner_link=Link(100))
    assert predict_step(spec).step_time == expected


# -- scaling


def test_weak_scaling_keeps_the_batch_per_replica():
    spec = StepSpec(replicas=1, forward_time=1, backward_time=1, gradient_bytes=1e9, link=Link(1e9))
    timelines = weak_scaling(spec, [1, 2, 4])
    assert [t.step_time for t in timelines] == [2, 3, 3.5]
    assert [t.spec.global_batch for t in timelines] == [1, 2, 4]
    single = timelines[0].throughput
    efficiencies = [weak_efficiency(t.throughput, t.spec.replicas, single) for t in timelines]
    assert efficiencies == pytest.approx([1, 2 / 3, 2 / 3.5])


def test_strong_scaling_keeps_the_global_batch():
    spec = StepSpec(
        replicas=1, forward_time=4, backward_time=4, gradient_bytes=1e9, link=Link(1e9), per_replica_batch=8
    )
    timelines = strong_scaling(spec, [1, 2, 4])
    assert [t.spec.global_batch for t in timelines] == [8, 8, 8]
    assert [t.step_time for t in timelines] == [8, 5, 3.5]
    assert strong_efficiency(5, 2, 8) == pytest.approx(0.8)


def test_strong_scaling_refuses_a_batch_that_does_not_divide():
    spec = StepSpec(replicas=1, forward_time=1, backward_time=1, per_replica_batch=10, link=Link(1e9))
    with pytest.raises(ValueError, match=r"global batch of 10 does not divide by 4 .* multiple of 4"):
        strong_scaling(spec, [1, 4])


# -- bad input

GOOD = {"replicas": 2, "forward_time": 1, "backward_time": 1, "link": Link(1e9)}


@pytest.mark.parametrize(
    "field, value",
    [
        *(("replicas", bad) for bad in (0, -1, 1.5, 2.0, True, None, "2", math.nan)),
        *(("forward_time", bad) for bad in (-1, math.nan, math.inf, None, "1", True)),
        ("backward_time", -1),
        ("input_time", math.nan),
        ("split_time", -1),
        ("update_time", -1),
        ("gradient_bytes", -4),
        ("gradient_bytes", math.nan),
        ("per_replica_batch", 0),
        ("per_replica_batch", 1.5),
        ("buckets", 0),
        ("overlap", "False"),
        ("prefetch", 1),
        ("algorithm", "rings"),
        ("link", None),
        ("link", 1e9),
        ("inner_link", Link(1)),
        ("group_size", 2),
    ],
)
def test_bad_specs_give_a_sentence_with_a_remedy(field, value):
    with pytest.raises(ValueError, match=rf"{field}.* is .+: .+\.$"):
        StepSpec(**{**GOOD, field: value})


@pytest.mark.parametrize(
    "call",
    [
        lambda: predict_step(3),
        lambda: weak_efficiency(0, 1, 1),
        lambda: weak_efficiency(1, 0, 1),
        lambda: weak_efficiency(1, 1, -1),
        lambda: strong_efficiency(0, 1, 1),
        lambda: strong_efficiency(1, 1, math.nan),
        lambda: weak_scaling(StepSpec(**GOOD), []),
        lambda: weak_scaling(StepSpec(**GOOD), [0]),
        lambda: StepSpec.from_sample_time(compute_time_per_sample=-1, per_replica_batch=1, replicas=1),
        lambda: StepSpec.from_sample_time(compute_time_per_sample=1, per_replica_batch=0, replicas=1),
    ],
)
def test_bad_calls_give_a_sentence_with_a_remedy(call):
    with pytest.raises(ValueError, match=r"^.+: .+\.$"):
        call()
