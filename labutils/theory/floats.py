"""The floating-point formats of training, bit by bit: float32, bfloat16 and float16.

IEEE 754-2019 for float32 (binary32) and float16 (binary16); bfloat16 is float32's upper half: Kalamkar et al. 2019, "A
Study of BFLOAT16 for Deep Learning Training", arXiv:1905.12322.
"""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Format:
    """A binary format: one bit of sign, then `exponent_bits`, then `mantissa_bits`."""

    name: str
    exponent_bits: int
    mantissa_bits: int

    @property
    def bits(self):
        """All bits of a number."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bytes(self):
        """Bytes of a number."""
        return self.bits // 8

    @property
    def bias(self):
        """What is taken off the stored exponent."""
        return 2 ** (self.exponent_bits - 1) - 1

    @property
    def largest(self):
        """The largest finite number."""
        return (2 - 2.0**-self.mantissa_bits) * 2.0**self.bias

    @property
    def smallest_normal(self):
        """The smallest positive number with all its digits."""
        return 2.0 ** (1 - self.bias)

    @property
    def smallest(self):
        """The smallest positive number, with a single digit left (subnormal)."""
        return 2.0 ** (1 - self.bias - self.mantissa_bits)

    @property
    def epsilon(self):
        """From 1 to the next larger number."""
        return 2.0**-self.mantissa_bits

    @property
    def digits(self):
        """Decimal digits that a number surely keeps."""
        return math.floor(self.mantissa_bits * math.log10(2))

    def round(self, values):
        """`values` as this format keeps them, rounded to nearest, ties to even; too large ones become inf."""
        values = np.asarray(values, np.float64)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            _, power = np.frexp(values)  # |value| is in [0.5, 1) * 2**power
            spacing = np.exp2(np.maximum(power - 1, 1 - self.bias) - self.mantissa_bits)
            rounded = np.rint(values / spacing) * spacing  # numpy rounds ties to even
        rounded = np.where(np.isfinite(values), rounded, values)
        return np.where(np.abs(rounded) > self.largest, np.copysign(np.inf, values), rounded)

    def fields(self, value):
        """(sign, exponent, mantissa) as the integers that are stored, for the number that `value` rounds to."""
        value = float(self.round(value))
        sign = int(math.copysign(1.0, value) < 0)
        top = 2**self.exponent_bits - 1
        if math.isnan(value):
            return sign, top, 2 ** (self.mantissa_bits - 1)
        if math.isinf(value):
            return sign, top, 0
        value = abs(value)
        if value < self.smallest_normal:
            return sign, 0, round(value / self.smallest)
        power = math.frexp(value)[1] - 1
        return sign, power + self.bias, round((value / 2.0**power - 1) * 2**self.mantissa_bits)

    def stored(self, value):
        """The bits of the number that `value` rounds to, as a text of zeros and ones, sign first."""
        sign, exponent, mantissa = self.fields(value)
        return f"{sign:b}{exponent:0{self.exponent_bits}b}{mantissa:0{self.mantissa_bits}b}"

    def lost(self, values):
        """The shares of the non-zero `values` that become (zero, subnormal, inf): a tuple of three floats.

        ValueError where no value is finite and different from zero.
        """
        values = np.abs(np.asarray(values, np.float64).ravel())
        values = values[np.isfinite(values) & (values > 0)]
        if not len(values):
            raise ValueError("No value is finite and different from zero: there is nothing to lose.")
        kept = self.round(values)
        low = (kept > 0) & (kept < self.smallest_normal)
        return float(np.mean(kept == 0)), float(np.mean(low)), float(np.mean(np.isinf(kept)))


FLOAT32 = Format("float32", 8, 23)
BFLOAT16 = Format("bfloat16", 8, 7)
FLOAT16 = Format("float16", 5, 10)
FORMATS = {each.name: each for each in (FLOAT32, BFLOAT16, FLOAT16)}
