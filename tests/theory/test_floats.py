"""The formats, held against NumPy's own float16 and float32, and against bfloat16 as TensorFlow's type has it."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labutils.theory.floats import BFLOAT16, FLOAT16, FLOAT32, FORMATS

REFERENCE = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
WORDS = {"float32": np.uint32, "float16": np.uint16, "bfloat16": np.uint16}
VALUES = st.floats(allow_nan=False, allow_infinity=False, width=64)
OF_INTEREST = VALUES | st.floats(-70000, 70000) | st.floats(-1e-4, 1e-4)


@pytest.mark.parametrize("name", FORMATS)
@given(value=OF_INTEREST)
def test_rounding_is_that_of_the_real_type(name, value):
    with np.errstate(over="ignore"):
        # From the same float32: ml_dtypes rounds a float64 twice.
        value = float(np.float32(value))
        expected = float(REFERENCE[name](value))
    np.testing.assert_equal(float(FORMATS[name].round(value)), expected)


@pytest.mark.parametrize("name", FORMATS)
@given(value=OF_INTEREST)
def test_the_bits_are_those_of_the_real_type(name, value):
    with np.errstate(over="ignore"):
        value = float(np.float32(value))
        word = np.array(value, np.float32).astype(REFERENCE[name]).view(WORDS[name])
    assert FORMATS[name].stored(value) == f"{int(word):0{FORMATS[name].bits}b}"


@pytest.mark.parametrize("name", FORMATS)
def test_the_limits_are_those_of_the_real_type(name):
    facts, ours = ml_dtypes.finfo(REFERENCE[name]), FORMATS[name]
    assert ours.largest == float(facts.max) and ours.smallest_normal == float(facts.tiny)
    assert ours.smallest == float(facts.smallest_subnormal) and ours.epsilon == float(facts.eps)
    assert ours.bytes == np.dtype(REFERENCE[name]).itemsize


def test_published_limits():
    assert FLOAT16.largest == 65504 and FLOAT16.smallest == pytest.approx(5.96e-8, rel=1e-3)  # IEEE 754-2019
    assert BFLOAT16.largest == pytest.approx(3.39e38, rel=1e-3) and BFLOAT16.digits == 2
    assert FLOAT32.stored(-0.15625) == "10111110001000000000000000000000"


def test_what_is_lost_is_counted():
    assert FLOAT16.lost([1e-9, 1e-6, 1.0, 1e6, 0.0]) == (0.25, 0.25, 0.25)
    assert BFLOAT16.lost([1e-9, 1e-6, 1.0, 1e6]) == (0, 0, 0)
    with pytest.raises(ValueError, match="nothing to lose"):
        FLOAT16.lost([0.0, np.nan])


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_no_number_is_kept(name):
    assert np.isnan(FORMATS[name].round(np.nan)) and FORMATS[name].round(-np.inf) == -np.inf
    exponent = FORMATS[name].stored(np.inf)[1 : 1 + FORMATS[name].exponent_bits]
    assert set(exponent) == {"1"}
