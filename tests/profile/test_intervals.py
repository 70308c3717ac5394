"""Sets of moments: held against sets of whole numbers, in which everything is obvious."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from labutils.profile import intervals

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 8)), max_size=12)


def moments(spans):
    starts = np.array([start for start, _ in spans], np.int64)
    return intervals.union(starts, starts + np.array([length for _, length in spans], np.int64))


def numbers(spans):
    return {number for start, length in spans for number in range(start, start + length)}


def of(found):
    return {number for start, end in found.tolist() for number in range(start, end)}


def assert_in_order(found):
    assert (found[:, 0] < found[:, 1]).all() and (found[1:, 0] > found[:-1, 1]).all()


@given(SPANS, SPANS)
def test_they_are_what_sets_are(left, right):
    a, b = moments(left), moments(right)
    assert of(a) == numbers(left)
    assert of(intervals.merge(a, b)) == numbers(left) | numbers(right)
    assert of(intervals.without(a, b)) == numbers(left) - numbers(right)
    assert of(intervals.both(a, b)) == numbers(left) & numbers(right)
    for found in (a, intervals.merge(a, b), intervals.without(a, b), intervals.both(a, b)):
        assert_in_order(found)


@given(SPANS, st.lists(st.tuples(st.integers(-5, 60), st.integers(0, 30)), min_size=1, max_size=6))
def test_windows_hold_what_lies_in_them(spans, windows):
    a = moments(spans)
    found = intervals.within(a, [(start, start + length) for start, length in windows])
    expected = [len(numbers(spans) & set(range(start, start + length))) for start, length in windows]
    assert found.tolist() == expected
    assert intervals.total(a) == len(numbers(spans))


@given(SPANS, st.lists(st.integers(-5, 60), min_size=1, max_size=9))
def test_a_moment_is_in_or_out(spans, times):
    assert intervals.contains(moments(spans), np.array(times)).tolist() == [time in numbers(spans) for time in times]
