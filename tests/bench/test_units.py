import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labutils.bench.units import format_ratio, format_si, format_si_together, unit_of


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.0123, "s", "12.3 ms"),
        (0.9999, "s", "1.00 s"),
        (0.001, "s", "1.00 ms"),
        (1e-6, "s", "1.00 µs"),
        (2.5e-8, "s", "25.0 ns"),
        (1234.0, "s", "1,230 s"),
        (16.2e6, "bytes", "16.2 MB"),
        (812, "bytes", "812 B"),
        (1, "byte", "1 B"),
        (325e6, "bytes/s", "325 MB/s"),
        (1.5e12, "FLOP/s", "1.50 TFLOP/s"),
        (4110, "samples/s", "4,110 samples/s"),
        (28004, "samples/s", "28,000 samples/s"),
        (999_999, "samples/s", "1.00 million samples/s"),
        (2.5e9, "samples/s", "2.50 billion samples/s"),
        (0.5, "samples/s", "0.500 samples/s"),
        (3.14159, "", "3.14"),
        (0, "s", "0 s"),
        (0.0, "bytes", "0 B"),
        (-0.0202, "s", "-20.2 ms"),
        (math.nan, "s", "nan s"),
        (math.inf, "bytes", "inf B"),
        (-math.inf, "samples/s", "-inf samples/s"),
    ],
)
def test_quantities_read_as_people_write_them(value, unit, shown):
    assert format_si(value, unit) == shown


def test_digits_are_significant_digits():
    assert format_si(0.0123456, "s", digits=5) == "12.346 ms"
    assert format_si(0.0123456, "s", digits=1) == "10 ms"


_TEN_TO = {"n": -9, "µ": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}


@given(st.floats(1e-9, 1e17), st.sampled_from(["J", "Hz", "W"]))
def test_what_is_shown_is_the_value_to_three_digits(value, unit):
    number, _, prefixed = format_si(value, unit).partition(" ")
    shown = float(number.replace(",", "")) * 10.0 ** _TEN_TO[prefixed.removesuffix(unit)]
    assert shown == pytest.approx(value, rel=0.00501)


@given(st.floats(1e-9, 1e17))
def test_the_number_shown_stays_between_1_and_1000_while_there_are_prefixes(value):
    number = float(format_si(value, "J").split()[0].replace(",", ""))
    assert 1 <= number < 1000


def test_numbers_shown_together_share_the_first_ones_prefix():
    assert format_si_together([1.1e-3, 0.9e-3, 1.2], "s") == ["1.10", "0.900", "1,200"]
    assert unit_of(1.1e-3, "s") == "ms"


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [(1.0, "1.00x"), (0.0512, "0.051x"), (9.999, "10.0x"), (123.4, "123x"), (math.nan, "-"), (math.inf, "infx")],
)
def test_ratios(ratio, shown):
    assert format_ratio(ratio) == shown


@pytest.mark.parametrize("value", ["12", None, [1.0], True])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="one number"):
        format_si(value, "s")


def test_a_unit_is_a_string_and_digits_are_counted():
    with pytest.raises(TypeError, match="unit is a string"):
        format_si(1.0, None)
    with pytest.raises(ValueError, match="1 or more"):
        format_si(1.0, "s", digits=0)
