"""Fusion and break-even: bytes, kernels, and the step at which two lines meet."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labutils.theory import fusion

TIMES = st.floats(1e-6, 1e3)


@given(st.integers(1, 100), st.floats(1, 1e9), st.floats(1e6, 1e12), st.floats(0, 1e-3))
def test_a_fused_chain_moves_the_bytes_of_one_operator(operators, nbytes, bandwidth, launch):
    chain = fusion.chain(operators, nbytes)
    assert chain.moved == pytest.approx(operators * chain.moved_fused)
    assert chain.time(bandwidth, launch) == pytest.approx(operators * chain.time(bandwidth, launch, fused=True))


@given(TIMES, TIMES, TIMES)
def test_after_the_break_even_compiled_has_taken_less(compiling, before, after):
    steps = fusion.break_even(compiling, before, after)
    if after >= before:
        assert steps == math.inf
    else:
        assert compiling + steps * after <= steps * before * (1 + 1e-9)
        assert steps == 0 or compiling + (steps - 1) * after >= (steps - 1) * before * (1 - 1e-9)


def test_the_next_bucket_holds_a_length():
    assert [fusion.padded(length, (8, 32)) for length in (0, 8, 9, 32)] == [8, 8, 32, 32]
    with pytest.raises(ValueError, match="no bucket holds a length of 33: the largest is 32"):
        fusion.padded(33, (8, 32))


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: fusion.chain(0, 8), "operators"),
        (lambda: fusion.chain(2, -8), "nbytes"),
        (lambda: fusion.chain(2, 8).time(0), "bandwidth"),
        (lambda: fusion.break_even(-1, 1, 1), "compile_time"),
        (lambda: fusion.break_even(1, 0, 1), "before"),
        (lambda: fusion.break_even(1, 1, math.nan), "after"),
    ],
)
def test_what_makes_no_sense_is_said(call, words):
    with pytest.raises(ValueError, match=words):
        call()
