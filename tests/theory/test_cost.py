import csv
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labutils.theory import traffic
from labutils.theory.collectives import ALGORITHMS, hierarchical_all_reduce, ring_all_reduce
from labutils.theory.cost import (
    Link,
    all_reduce_time,
    arithmetic_intensity,
    attainable_flops,
    bus_bandwidth,
    messages_time,
    ridge_point,
    training_memory,
)

PUBLISHED = Path(__file__).parent / "published"
LINK = Link(bandwidth=1e9, latency=1e-5)
BYTES = st.integers(0, 10**10)


def published(name):
    lines = (PUBLISHED / name).read_text().splitlines()
    assert lines[0].startswith("# source: ")
    return list(csv.DictReader(lines[1:]))


def nodes(algorithm, group_size=4):
    return {"group_size": group_size} if algorithm == "hierarchical" else {}


@pytest.mark.parametrize("algorithm", ["ring", "tree", "halving_doubling", "hierarchical"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7, 8, 12, 16])
def test_the_formula_is_the_time_of_the_messages(algorithm, ranks):
    """On an array that divides by everything, formula and message log must agree to rounding."""
    arrays = [np.ones(16 * 3 * 7, np.float32)] * ranks
    if algorithm == "hierarchical":
        messages = hierarchical_all_reduce(arrays, 4).messages
    else:
        messages = ALGORITHMS[algorithm](arrays).messages
    predicted = all_reduce_time(arrays[0].nbytes, ranks, LINK, algorithm, **nodes(algorithm))
    assert predicted == pytest.approx(messages_time(messages, LINK), rel=1e-12)


def test_ring_in_numbers():
    assert all_reduce_time(100e6, 4, Link(1e9, 0), "ring") == pytest.approx(0.150)
    assert all_reduce_time(100e6, 4, Link(1e9, 1e-3), "ring") == pytest.approx(0.156)
    assert all_reduce_time(100e6, 4, Link(1e9, 0), "tree") == pytest.approx(0.400)
    assert all_reduce_time(100e6, 4, Link(1e9, 1e-3), "halving_doubling") == pytest.approx(0.154)
    assert all_reduce_time(100e6, 6, Link(1e9, 0), "halving_doubling") == pytest.approx(0.350)


def test_an_inner_link_is_used_inside_the_nodes_only():
    fast = Link(1e11, 1e-6)
    time = all_reduce_time(1e8, 8, LINK, "hierarchical", group_size=4, inner_link=fast)
    inside = all_reduce_time(1e8, 4, fast, "tree")
    assert time == pytest.approx(inside + all_reduce_time(1e8, 2, LINK))
    alone = all_reduce_time(1e8, 3, LINK, "hierarchical", group_size=4, inner_link=fast)
    assert alone == pytest.approx(all_reduce_time(1e8, 3, fast, "tree"))


@pytest.mark.parametrize("algorithm", traffic.ALGORITHMS)
@given(small=BYTES, more=BYTES, ranks=st.integers(1, 5000))
@settings(max_examples=60)
def test_more_bytes_never_take_less_time_and_one_rank_takes_none(algorithm, small, more, ranks):
    times = [all_reduce_time(n, ranks, LINK, algorithm, **nodes(algorithm)) for n in (small, small + more)]
    assert times[0] <= times[1]
    assert (times[1] == 0.0) == (ranks == 1)


@given(nbytes=BYTES, ranks=st.integers(2, 5000), factor=st.floats(1, 1000))
def test_a_faster_link_never_takes_longer(nbytes, ranks, factor):
    faster = Link(LINK.bandwidth * factor, LINK.latency / factor)
    assert all_reduce_time(nbytes, ranks, faster) <= all_reduce_time(nbytes, ranks, LINK)


def test_an_ideal_link_leaves_the_latency():
    assert all_reduce_time(1e9, 3, Link(math.inf, 0.5)) == 2.0


# -- published values


@pytest.mark.parametrize("ranks", [2, 3, 8, 13])
def test_ring_sends_the_bus_bandwidth_factor_of_nccl_tests(ranks):
    rows = {row["collective"]: row["busbw_factor"] for row in published("nccl_tests_busbw_factors.csv")}
    assert rows["AllReduce"] == "2*(n-1)/n"
    factor = 2 * (ranks - 1) / ranks
    arrays = [np.ones(ranks * 5, np.float32)] * ranks
    assert ring_all_reduce(arrays).bytes_sent == pytest.approx([arrays[0].nbytes * factor] * ranks, rel=1e-15)
    assert bus_bandwidth(1e9, ranks, 1.0) == pytest.approx(1e9 * factor, rel=1e-15)
    assert rows["ReduceScatter"] == rows["AllGather"] == "(n-1)/n"
    messages = ring_all_reduce(arrays).messages
    for phase in ("reduce-scatter", "all-gather"):
        sent = sum(m.nbytes for m in messages if m.sender == 0 and m.phase == phase)
        assert sent == pytest.approx(arrays[0].nbytes * factor / 2)


def test_bus_bandwidth_of_the_published_sweep_on_8_gpus():
    rows = published("nccl_allreduce_sweep_8xA100_nccltests.csv")
    assert len(rows) == 20
    for row in rows:
        ours = bus_bandwidth(int(row["bytes"]), 8, float(row["time_us"]) * 1e-6) / 1e9
        assert ours == pytest.approx(float(row["busbw_GBps"]), rel=0.005, abs=0.005)


def test_gradient_bytes_of_published_models():
    for row in published("model_gradient_bytes.csv"):
        parameters = int(row["trainable_params"])
        assert training_memory(parameters).gradients == int(row["grad_bytes_fp32"])


def test_mixed_precision_adam_takes_16_bytes_per_parameter():
    """Rajbhandari et al. 2020, section 3.1: GPT-2 with 1.5 billion parameters needs at least 24 GB."""
    memory = training_memory(1_500_000_000, mixed_precision=True)
    assert memory.total == memory.model_states == 24e9
    assert (memory.weights, memory.gradients, memory.master_weights, memory.optimizer_slots) == (
        3e9,
        3e9,
        6e9,
        12e9,
    )


# -- roofline and memory


def test_roofline_has_a_slope_and_a_roof():
    assert attainable_flops(2.0, 100.0, 10.0) == 20.0
    assert attainable_flops(50.0, 100.0, 10.0) == 100.0
    assert ridge_point(100.0, 10.0) == 10.0
    assert attainable_flops(ridge_point(100.0, 10.0), 100.0, 10.0) == 100.0
    assert attainable_flops(arithmetic_intensity(4.0, 8.0), 100.0, 10.0) == 5.0
    assert attainable_flops(0, 100.0, 10.0) == 0.0


def test_float32_memory_by_part():
    memory = training_memory(10, optimizer_slots=1, per_replica_batch=3, activations_per_sample=5)
    assert (memory.weights, memory.gradients, memory.master_weights) == (40, 40, 0)
    assert (memory.optimizer_slots, memory.activations, memory.total) == (40, 60, 180)


def test_only_activations_grow_with_the_batch_and_half_precision_halves_them():
    small, large = (training_memory(1000, per_replica_batch=batch, activations_per_sample=7) for batch in (8, 16))
    assert small.model_states == large.model_states
    assert large.activations == 2 * small.activations
    mixed = training_memory(1000, mixed_precision=True, per_replica_batch=8, activations_per_sample=7)
    assert 2 * mixed.activations == small.activations


def test_keras_gradients_stay_float32_in_mixed_precision():
    assert training_memory(10, mixed_precision=True, gradient_itemsize=4).gradients == 40


# -- bad input

SENTENCE = r"^.+ (must be|is|needs) .+: .+\.$"


@pytest.mark.parametrize(
    "call",
    [
        *(lambda bad=bad: Link(bad, 0) for bad in (0, -1, math.nan, True, "1", None, np.ones(2), 1j)),
        *(lambda bad=bad: Link(1e9, bad) for bad in (-1e-9, math.nan, math.inf, False, "0", None)),
        *(lambda bad=bad: all_reduce_time(bad, 2, LINK) for bad in (-1, math.nan, math.inf, True, "8", None)),
        *(lambda bad=bad: all_reduce_time(8, bad, LINK) for bad in (0, -2, 2.0, 2.5, True, "2", None, math.nan)),
        *(lambda bad=bad: all_reduce_time(8, 2, bad) for bad in (None, 1e9, (1e9, 0))),
        *(lambda bad=bad: all_reduce_time(8, 2, LINK, bad) for bad in ("rings", "", None, 3, ["ring"])),
        lambda: all_reduce_time(8, 2, LINK, "hierarchical"),
        lambda: all_reduce_time(8, 2, LINK, "hierarchical", group_size=0),
        lambda: all_reduce_time(8, 2, LINK, "hierarchical", group_size=2, inner_link=1e9),
        lambda: all_reduce_time(8, 2, LINK, "ring", group_size=2),
        lambda: all_reduce_time(8, 2, LINK, "ring", inner_link=LINK),
        lambda: traffic.bytes_sent(-1, 2),
        lambda: traffic.bytes_sent(1.5, 2),
        lambda: traffic.bytes_sent(1, 2, itemsize=0),
        lambda: traffic.total_bytes(8, 0),
        lambda: traffic.rounds(0),
        lambda: bus_bandwidth(8, 2, 0),
        lambda: bus_bandwidth(-8, 2, 1),
        lambda: attainable_flops(-1, 1, 1),
        lambda: attainable_flops(1, 0, 1),
        lambda: attainable_flops(1, 1, 0),
        lambda: ridge_point(1, math.nan),
        lambda: arithmetic_intensity(1, 0),
        lambda: training_memory(-1),
        lambda: training_memory(1.5),
        lambda: training_memory(1, optimizer_slots=-1),
        lambda: training_memory(1, per_replica_batch=0),
        lambda: training_memory(1, activations_per_sample=-1),
        lambda: training_memory(1, mixed_precision="mixed_float16"),
        lambda: training_memory(1, gradient_itemsize=0),
    ],
)
def test_bad_input_gives_a_sentence_with_a_remedy(call):
    with pytest.raises(ValueError, match=SENTENCE):
        call()


def test_numpy_numbers_are_numbers():
    assert all_reduce_time(np.float32(8), np.int64(2), Link(np.float64(4), np.float32(0))) == 2.0
