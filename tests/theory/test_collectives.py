import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from labutils.theory import traffic
from labutils.theory.collectives import ALGORITHMS, hierarchical_all_reduce, ring_all_reduce, split_evenly

RANKS = st.integers(1, 17)
GROUPS = st.integers(1, 9)
EACH = pytest.mark.parametrize("algorithm", ALGORITHMS)


def run(algorithm, arrays, group_size=3):
    if algorithm == "hierarchical":
        return hierarchical_all_reduce(arrays, group_size)
    return ALGORITHMS[algorithm](arrays)


@EACH
@given(st.data(), RANKS, GROUPS, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
@settings(max_examples=60)
def test_integers_sum_exactly_in_any_shape(algorithm, data, ranks, group_size, shape):
    dtype = data.draw(st.sampled_from([np.int32, np.int64, np.uint8]))
    arrays = [data.draw(hnp.arrays(dtype, shape, elements=st.integers(0, 10))) for _ in range(ranks)]
    before = [array.copy() for array in arrays]

    reduced = run(algorithm, arrays, group_size)

    expected = np.sum(np.stack(before), axis=0, dtype=dtype)
    assert len(reduced.arrays) == ranks
    for array in reduced.arrays:
        assert array.shape == shape and array.dtype == dtype
        np.testing.assert_array_equal(array, expected)
    for array, untouched in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, untouched)


@EACH
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 7, 8, 13, 16])
def test_floats_sum_within_rounding_and_every_rank_agrees_bit_for_bit(algorithm, ranks, dtype):
    rng = np.random.default_rng(ranks)
    arrays = [rng.standard_normal((5, 7)).astype(dtype) for _ in range(ranks)]

    reduced = run(algorithm, arrays)

    exact = np.sum(np.stack(arrays).astype(np.longdouble), axis=0)
    bound = (ranks - 1) * np.finfo(dtype).eps * np.sum(np.abs(np.stack(arrays).astype(float)), axis=0)
    assert np.all(np.abs(reduced.arrays[0] - exact) <= bound)
    assert {array.tobytes() for array in reduced.arrays} == {reduced.arrays[0].tobytes()}


@EACH
def test_nan_and_infinity_reach_every_rank(algorithm):
    arrays = [np.zeros(6, np.float32) for _ in range(5)]
    arrays[3][1] = np.nan
    arrays[4][2] = np.inf
    for array in run(algorithm, arrays).arrays:
        assert np.isnan(array[1]) and np.isinf(array[2]) and np.all(array[[0, 3, 4, 5]] == 0)


@EACH
@given(ranks=st.integers(1, 33), elements=st.integers(0, 70), group_size=GROUPS)
@settings(max_examples=100)
def test_bytes_and_rounds_follow_the_formulas(algorithm, ranks, elements, group_size):
    nodes = {"group_size": group_size} if algorithm == "hierarchical" else {}
    reduced = run(algorithm, [np.ones(elements, np.float32)] * ranks, group_size)

    assert reduced.bytes_sent == traffic.bytes_sent(elements, ranks, algorithm, itemsize=4, **nodes)
    assert sum(message.nbytes for message in reduced.messages) == traffic.total_bytes(elements, ranks)
    assert reduced.rounds == traffic.rounds(ranks, algorithm, **nodes)
    rounds = [message.round for message in reduced.messages]
    assert rounds == sorted(rounds) and set(rounds) == set(range(reduced.rounds))


@EACH
@given(ranks=st.integers(2, 20), elements=st.integers(1, 40), group_size=GROUPS)
@settings(max_examples=40)
def test_a_rank_sends_and_receives_at_most_one_message_a_round(algorithm, ranks, elements, group_size):
    messages = run(algorithm, [np.ones(elements)] * ranks, group_size).messages
    for number in {message.round for message in messages}:
        together = [message for message in messages if message.round == number]
        assert len({message.sender for message in together}) == len(together)
        assert len({message.receiver for message in together}) == len(together)
        assert all(message.sender != message.receiver for message in together)
        assert all(message.nbytes == (message.stop - message.start) * 8 for message in together)


@EACH
@given(ranks=st.integers(1, 12), elements=st.integers(0, 30), group_size=GROUPS)
@settings(max_examples=40)
def test_the_messages_alone_are_enough_to_rebuild_the_result(algorithm, ranks, elements, group_size):
    rng = np.random.default_rng(elements)
    arrays = [rng.standard_normal(elements) for _ in range(ranks)]
    reduced = run(algorithm, arrays, group_size)

    replay = [array.copy() for array in arrays]
    for number in range(reduced.rounds):
        together = [message for message in reduced.messages if message.round == number]
        payloads = [replay[message.sender][message.start : message.stop].copy() for message in together]
        for message, payload in zip(together, payloads, strict=True):
            own = replay[message.receiver][message.start : message.stop]
            own[:] = own + payload if message.adds else payload
    for array, rebuilt in zip(reduced.arrays, replay, strict=True):
        assert array.tobytes() == rebuilt.tobytes()


def test_a_ring_rank_talks_to_its_right_neighbour_only():
    messages = ring_all_reduce([np.ones(12)] * 4).messages
    assert {(message.sender, message.receiver) for message in messages} == {(0, 1), (1, 2), (2, 3), (3, 0)}
    assert [message.phase for message in messages] == ["reduce-scatter"] * 12 + ["all-gather"] * 12


def test_only_leaders_talk_across_nodes():
    messages = hierarchical_all_reduce([np.ones(12)] * 7, group_size=3).messages
    across = {(m.sender, m.receiver) for m in messages if m.sender // 3 != m.receiver // 3}
    assert across == {(0, 3), (3, 6), (6, 0)}


@given(elements=st.integers(0, 100), parts=st.integers(1, 20))
def test_chunks_cover_the_array_and_differ_by_one_at_most(elements, parts):
    chunks = split_evenly(elements, parts)
    sizes = [chunk.stop - chunk.start for chunk in chunks]
    assert [place for chunk in chunks for place in range(chunk.start, chunk.stop)] == list(range(elements))
    assert len(chunks) == parts and max(sizes) - min(sizes) <= 1


def test_a_non_contiguous_view_is_read_in_its_own_order():
    array = np.arange(12).reshape(3, 4).T
    np.testing.assert_array_equal(ring_all_reduce([array, array]).arrays[1], 2 * array)


@EACH
@pytest.mark.parametrize(
    "arrays, seen, remedy",
    [
        ([], "empty", "pass one array each"),
        (7, "could not be read", "pass for example"),
        ([np.ones(3), np.ones(4)], r"shape \(4,\).*\(3,\)", "same shape"),
        ([np.ones(3), np.ones(3, np.float32)], "rank 1 holds float32", "cast them to one type"),
        ([np.array([True]), np.array([False])], "rank 0 holds bool", "astype"),
        ([np.array(["a"])], "rank 0 holds <U1", "astype"),
        ([np.ones(2), None], "rank 1 holds object", "astype"),
        ([[[1, 2], [3]]], "could not be read", "pass for example"),
    ],
)
def test_arrays_that_cannot_be_summed_are_refused_with_a_remedy(algorithm, arrays, seen, remedy):
    with pytest.raises(ValueError, match=f"(?s){seen}.*{remedy}"):
        run(algorithm, arrays)


@pytest.mark.parametrize("group_size", [0, -1, 2.0, True, None, "2"])
def test_a_group_size_that_is_no_count_is_refused(group_size):
    with pytest.raises(ValueError, match=r"group_size must be .* give the number of ranks that share a node"):
        hierarchical_all_reduce([np.ones(2)] * 4, group_size)
