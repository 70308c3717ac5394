"""The pipeline's arithmetic against a simulation of its threads, and the shuffle buffer against tf.data's own."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labutils.theory import published
from labutils.theory.pipeline import Bound, Stage, bound, limit, parallel, rate
from labutils.theory.shuffle import shuffle_order

COSTS = st.floats(0, 1, allow_subnormal=False).map(lambda cost: round(cost, 6))
CORES = st.integers(1, 64)


THREADS = st.none() | st.integers(1, 8)
WAITS = st.booleans()


@st.composite
def chains(draw, threads=THREADS, waits=WAITS):
    return [Stage(f"stage {n}", draw(COSTS), draw(threads), draw(waits)) for n in range(draw(st.integers(1, 6)))]


def not_above(smaller, larger):
    return smaller <= larger * (1 + 1e-9)


# -- properties


@given(chains(), CORES)
def test_no_pipeline_passes_the_limit(stages, cores):
    assert not_above(rate(stages, cores), limit(stages, cores))


@given(chains(threads=st.none()), CORES)
def test_one_thread_takes_the_sum_of_all_costs(stages, cores):
    total = sum(stage.cost for stage in stages)
    assert rate(stages, cores) == pytest.approx(1 / total if total else math.inf)


@given(chains(threads=st.just(64), waits=st.just(False)), st.integers(1, 60))
def test_enough_threads_reach_the_limit(stages, cores):
    assert rate(stages, cores) == pytest.approx(limit(stages, cores))


@given(chains(), CORES, st.data())
def test_more_threads_are_never_slower(stages, cores, data):
    stage = data.draw(st.sampled_from(stages))
    more = parallel(stages, stage.name, (stage.threads or 0) + data.draw(st.integers(1, 8)))
    assert not_above(rate(stages, cores), rate(more, cores))


@given(chains(), CORES, st.integers(1, 8))
def test_more_cores_are_never_slower(stages, cores, more):
    assert not_above(rate(stages, cores), rate(stages, cores + more))


@given(chains(), CORES, st.data())
def test_a_stage_that_costs_more_never_makes_it_faster(stages, cores, data):
    place = data.draw(st.integers(0, len(stages) - 1))
    old = stages[place]
    dearer = [
        *stages[:place],
        Stage(old.name, old.cost + data.draw(COSTS), old.threads, old.waits),
        *stages[place + 1 :],
    ]
    assert not_above(rate(dearer, cores), rate(stages, cores))


@given(chains(), CORES, st.integers(0, 6))
def test_a_prefetch_anywhere_is_never_slower(stages, cores, place):
    prefetched = [*stages[:place], Stage("prefetch", 0.0, threads=1), *stages[place:]]
    assert not_above(rate(stages, cores), rate(prefetched, cores))


@given(chains(), CORES)
def test_the_bound_names_the_stages_whose_costs_set_it(stages, cores):
    found = bound(stages, cores)
    named = [stage for stage in stages if stage.name in found.stages]
    cost = sum(stage.cost for stage in named)
    capacity = {"one thread": 1, "its threads": named[0].threads if named else 1, "all cores": cores}[found.why]
    assert found.rate == pytest.approx(capacity / cost if cost else math.inf)


@given(chains(), CORES, st.floats(1, 1e9), st.floats(1, 1e12))
def test_memory_is_one_more_bound(stages, cores, moved, bandwidth):
    memory = {"bytes_per_sample": moved, "memory_bandwidth": bandwidth}
    assert limit(stages, cores, **memory) == pytest.approx(min(limit(stages, cores), bandwidth / moved))
    assert rate(stages, cores, **memory) == pytest.approx(min(rate(stages, cores), bandwidth / moved))
    assert (bound(stages, cores, **memory).why == "memory") == (bandwidth / moved < rate(stages, cores))


# -- against the threads themselves


def simulated(stages, samples=400):
    """Samples/s of a pipeline whose threads have a core each: sample after sample through thread after thread."""
    groups = []  # (seconds a sample, threads) of each
    shared = 0.0
    for stage in stages:
        if stage.threads is None:
            shared += stage.cost
        else:
            groups += [(shared, 1), (stage.cost, stage.threads)]
            shared = 0.0
    groups.append((shared, 1))
    ready = np.zeros(samples)
    for seconds, threads in groups:
        free = [0.0] * threads
        for sample in range(samples):
            free[sample % threads] = max(free[sample % threads], ready[sample]) + seconds
            ready[sample] = free[sample % threads]
        ready = np.maximum.accumulate(ready)  # tf.data keeps the order
    half = samples // 2
    return (samples - half) / (ready[-1] - ready[half - 1]) if ready[-1] > ready[half - 1] else math.inf


@given(chains(waits=st.just(True)))
def test_the_rate_is_that_of_a_simulation_thread_by_thread(stages):
    predicted = rate(stages, 1)  # a chain that only waits needs no core
    assert simulated(stages) == pytest.approx(predicted, rel=0.05)


def test_an_example_in_numbers():
    """The first lines of the module: 20 µs to read and 900 µs to decode, by one thread, by two, on one core."""
    read, decode = Stage("read", 20e-6), Stage("decode", 900e-6)
    assert bound([read, decode], cores=2) == Bound(pytest.approx(1 / 920e-6), ("read", "decode"), "one thread")
    two = parallel([read, decode], "decode", 2)
    assert two == [read, Stage("decode", 900e-6, threads=2)]
    assert bound(two, cores=2) == Bound(pytest.approx(2 / 920e-6), ("read", "decode"), "all cores")
    assert bound(two, cores=4) == Bound(pytest.approx(2 / 900e-6), ("decode",), "its threads")
    assert bound(two, cores=1) == Bound(pytest.approx(1 / 920e-6), ("read", "decode"), "all cores")


def test_waiting_takes_a_thread_but_no_core():
    disk, decode = Stage("disk", 8e-3, waits=True), Stage("decode", 1e-3)
    assert limit([disk, decode], 2) == pytest.approx(2000)
    assert rate([disk, decode], 2) == pytest.approx(1 / 9e-3)
    assert rate(parallel([disk, decode], "disk", 16), 2) == pytest.approx(1000)  # decode's one thread is left


# -- published: Kuchnik et al. 2022, Figure 5 and section 5.2; Murray et al. 2021


def test_the_example_of_plumber():
    """30 minibatches/s at 0.5 core-seconds of decoding and 15 MB read for each need 15 cores and 450 MB/s."""
    decode = [Stage("decode", 0.5)]
    assert limit(decode, 15) == pytest.approx(30)
    assert limit(decode, 16, bytes_per_sample=15e6, memory_bandwidth=450e6) == pytest.approx(30)


def test_reading_bounds_plumbers_minibatches():
    """128 records of 110 KB, at 100 MB/s: 6.9 minibatches/s by their own count, to within what they round."""
    read = {"bytes_per_sample": 128 * 110e3, "memory_bandwidth": 100e6}
    assert limit([Stage("decode", 1e-9)], 1, **read) == pytest.approx(6.9, rel=0.04)


def test_what_the_text_of_murray_et_al_says_of_figure_8():
    """Parallelism alone is worth 7x on average; optimizations 2x, 1.2x and 1.4x more for the first three."""
    table = published.load("tfdata2021_fig8")
    alone, more = (table.where(pipeline=name)["low"] for name in ("parallelism", "optimizations"))
    assert np.mean(alone) == pytest.approx(7, abs=0.1)
    assert more[:3] / alone[:3] == pytest.approx([2, 1.2, 1.4], abs=0.05)


@pytest.mark.parametrize("figure", ["tfdata2021_fig7", "tfdata2021_fig8"])
def test_autotune_comes_near_the_expert(figure):
    table = published.load(figure)
    expert, autotune = (table.where(pipeline=name)["low"] for name in ("optimizations", "autotune"))
    assert autotune / expert == pytest.approx(1, abs=0.07)


def test_labels_that_could_not_be_told_apart_stand_as_a_range():
    table = published.load("tfdata2021_fig7")
    unclear = table["low"] != table["high"]
    assert set(table["benchmark"][unclear]) == {"Mask-RCNN", "GNMT"}
    assert set(zip(table["low"][unclear], table["high"][unclear], strict=True)) == {(1.3, 2.4)}


def test_fleets_are_shares_in_percent():
    for name in ("tfdata2021_fleet", "plumber2022_fleet"):
        table = published.load(name)
        assert all(0 <= low <= high <= 100 for low, high in zip(table["low"], table["high"], strict=True))
    slow = published.load("plumber2022_fleet")["low"][:3]
    assert list(slow) == sorted(slow, reverse=True)  # fewer jobs wait longer


def test_fusion_of_map_and_batch_made_tf_data_the_faster_one():
    table = published.load("tfdata2021_table6").where(hardware="CPU-only")
    seconds = dict(zip(table["framework"], table["seconds"], strict=True))
    assert seconds["tf.data"] < seconds["PyTorch DataLoader"] < seconds["tf.data without map+batch fusion"]


# -- the shuffle buffer

SIZES = st.tuples(st.integers(1, 300), st.integers(1, 400), st.integers(0, 2**32))


def obeys_the_buffer(order, buffer):
    order = np.asarray(order)
    places = np.arange(len(order))
    return sorted(order) == list(places) and (order - places).max() <= buffer - 1


@given(SIZES)
def test_every_element_leaves_once_and_none_too_early(sizes):
    samples, buffer, seed = sizes
    assert obeys_the_buffer(shuffle_order(samples, buffer, seed), buffer)


@given(SIZES)
def test_the_same_seed_gives_the_same_order(sizes):
    assert list(shuffle_order(*sizes)) == list(shuffle_order(*sizes))


@given(st.integers(1, 300), st.integers(0, 100))
def test_a_buffer_of_one_leaves_the_order_alone(samples, seed):
    assert list(shuffle_order(samples, 1, seed)) == list(range(samples))


def test_a_full_buffer_gives_every_order_alike():
    seen = [tuple(int(place) for place in shuffle_order(3, 5, seed)) for seed in range(1200)]
    counts = [seen.count(order) for order in set(seen)]
    assert len(counts) == 6 and min(counts) > 140  # 200 expected, standard deviation 13


@pytest.fixture(scope="module")
def tf_order():
    from labutils.train import devices

    devices.configure(replicas=8)  # tests of other folders may share this process, and cannot have more later
    import tensorflow as tf

    def order(samples, buffer, seed):
        return tf.data.Dataset.range(samples).shuffle(buffer, seed=seed).batch(samples).get_single_element().numpy()

    return order


@pytest.mark.parametrize(("samples", "buffer"), [(500, 1), (500, 2), (500, 60), (500, 499), (500, 500), (20, 900)])
def test_tf_data_shuffles_by_the_same_rule(samples, buffer, tf_order):
    theirs = [tf_order(samples, buffer, seed) for seed in range(1, 41)]
    ours = [shuffle_order(samples, buffer, seed) for seed in range(1, 41)]
    assert all(obeys_the_buffer(order, buffer) for order in theirs)
    # How far elements move, and how late the first one leaves, on average over the seeds.
    moved = [np.mean([np.abs(order - np.arange(samples)).mean() for order in orders]) for orders in (theirs, ours)]
    assert moved[0] == pytest.approx(moved[1], rel=0.1)
    if buffer > 1:
        assert max((order - np.arange(samples)).max() for order in theirs) > 0.9 * (min(buffer, samples) - 1)


def test_tf_data_agrees_on_the_share_of_a_class_in_sorted_data(tf_order):
    for buffer, low, high in ((100, 0, 0), (10_000, 0.44, 0.56)):
        for order in (shuffle_order(10_000, buffer, 1), tf_order(10_000, buffer, 1)):
            assert low <= (order[:1000] >= 5000).mean() <= high


# -- bad input

BAD_COUNTS = (0, -2, 2.5, 4.0, True, "2", None, math.nan)
BAD_SECONDS = (-1, math.nan, math.inf, True, "1", None)
STAGES = [Stage("read", 0.1), Stage("decode", 0.2)]
SENTENCE = r"^.+ (must be|is) .+: .+\.$"


@pytest.mark.parametrize(
    "call",
    [
        *(lambda bad=bad: Stage("read", bad) for bad in BAD_SECONDS),
        *(lambda bad=bad: Stage("read", 0.1, threads=bad) for bad in BAD_COUNTS if bad is not None),
        *(lambda bad=bad: Stage(bad, 0.1) for bad in (3, None, 0.1)),
        lambda: Stage("read", 0.1, waits="no"),
        *(lambda bad=bad: limit(STAGES, bad) for bad in BAD_COUNTS),
        *(lambda bad=bad: rate(STAGES, bad) for bad in BAD_COUNTS),
        *(lambda bad=bad: limit(STAGES, 1, bytes_per_sample=bad) for bad in BAD_SECONDS),
        *(lambda bad=bad: bound(STAGES, 1, memory_bandwidth=bad) for bad in (0, -1, math.nan, "1", None)),
        lambda: parallel(STAGES, "resize", 2),
        lambda: parallel(STAGES, "read", 0),
        *(lambda bad=bad: shuffle_order(bad, 3) for bad in BAD_COUNTS),
        *(lambda bad=bad: shuffle_order(10, bad) for bad in BAD_COUNTS),
    ],
)
def test_bad_input_gives_a_sentence_with_a_remedy(call):
    with pytest.raises(ValueError, match=SENTENCE):
        call()


@pytest.mark.parametrize("stages", [[], (), [0.1, 0.2], ["read"]])
@pytest.mark.parametrize("ask", [bound, rate, limit, lambda stages, cores: parallel(stages, "read", cores)])
def test_what_is_no_pipeline_is_said_to_be_none(stages, ask):
    with pytest.raises(ValueError, match=r"^a pipeline is a list of at least one Stage, but this is .+\.$"):
        ask(stages, 2)


def test_stages_may_come_from_a_generator():
    assert rate(iter(STAGES), 1) == limit(iter(STAGES), 1)
    assert parallel(iter(STAGES), "read", 2)[0].threads == 2


def test_what_costs_nothing_is_not_bounded():
    free = [Stage("range", 0.0), Stage("prefetch", 0.0, threads=1)]
    assert rate(free, 1) == limit(free, 1) == bound(free, 1).rate == math.inf
