"""Quantities as people read them: `0.0123` seconds shown as "12.3 ms".

Everything in `bench` is stored in plain units (seconds, bytes, samples/s); a prefix appears only here, when shown.
"""

from __future__ import annotations

import math
from numbers import Integral, Real

_PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}
_SYMBOLS = {
    "s": "s",
    "B": "B",
    "byte": "B",
    "bytes": "B",
    "bit": "bit",
    "bits": "bit",
    "FLOP": "FLOP",
    "FLOPs": "FLOP",
    "Hz": "Hz",
    "W": "W",
    "J": "J",
}
_COUNTED_WHOLE = {"B", "bit", "FLOP"}


def format_si(value: float, unit: str, digits: int = 3) -> str:
    """Show `value`, given in plain `unit`, with `digits` significant digits: 0.0123, "s" -> '12.3 ms'.

    Symbols (s, bytes, FLOP, Hz, W, J, and any of them "/s") take an SI prefix: 16.2e6, "bytes" -> '16.2 MB'.
    Words take none: 28004, "samples/s" -> '28,000 samples/s', 1.2e6 -> '1.20 million samples/s'.
    Zero, infinities and nan are shown as such. Raises TypeError for a value that is no number or a unit that
    is no string, ValueError for fewer than one digit.
    """
    return format_si_together([value], unit, digits)[0] + _tail(value, unit, digits)


def format_si_together(values: list[float], unit: str, digits: int = 3) -> list[str]:
    """Show numbers without their unit, all in the prefix that suits the first: for "12.3 (12.1 to 12.6) ms"."""
    _check(values, unit, digits)
    power = _power(values[0], unit, digits)
    return [_number(value, power, unit, digits) for value in values]


def unit_of(value: float, unit: str, digits: int = 3) -> str:
    """The unit with the prefix that `format_si` gives to `value`: 0.0123, "s" -> 'ms'."""
    _check([value], unit, digits)
    return _tail(value, unit, digits).strip()


def format_ratio(ratio: float) -> str:
    """A speed-up as '1.25x', with as many decimals as its size deserves; nan is '-'."""
    if math.isnan(ratio):
        return "-"
    if math.isinf(ratio):
        return "infx"
    decimals = 0 if ratio >= 99.95 else 1 if ratio >= 9.995 else 2 if ratio >= 0.0995 or ratio == 0 else 3
    return f"{ratio:,.{decimals}f}x"


def _check(values, unit, digits) -> None:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"A quantity is one number; this one is {value!r}. Pass a float, in plain units.")
    if not isinstance(unit, str):
        raise TypeError(f"A unit is a string such as 's' or 'samples/s'; this one is {unit!r}.")
    if isinstance(digits, bool) or not isinstance(digits, Integral) or digits < 1:
        raise ValueError(f"digits counts the significant digits, so it is 1 or more; it was {digits!r}.")


def _split(unit: str) -> tuple[str | None, str]:
    """('B', '/s') for 'bytes/s'; (None, 'samples/s') where no prefix belongs."""
    head, slash, rest = unit.partition("/")
    return (_SYMBOLS[head], slash + rest) if head in _SYMBOLS else (None, unit)


def _round(value: float, digits: int) -> float:
    """`value` to significant digits, so that 999.9 ms chooses its prefix as the second it is shown as."""
    return float(f"{value:.{digits - 1}e}")


def _power(value: float, unit: str, digits: int) -> int:
    """The power of ten that the shown number is divided by."""
    symbol, _ = _split(unit)
    size = abs(_round(value, digits))
    if size == 0 or not math.isfinite(size):
        return 0
    if symbol is None:
        return 9 if size >= 1e9 and unit else 6 if size >= 1e6 and unit else 0
    # The small tolerance keeps 1e-3 itself, whose logarithm may fall a hair short of -3, with its own prefix.
    power = 3 * math.floor(math.log10(size) / 3 + 1e-12)
    highest = 0 if symbol == "s" and "/" not in unit else max(_PREFIXES)  # nobody reads kiloseconds
    lowest = 0 if symbol in _COUNTED_WHOLE else min(_PREFIXES)  # and there are no millibytes
    return min(max(power, lowest), highest)


def _number(value: float, power: int, unit: str, digits: int) -> str:
    symbol, _ = _split(unit)
    if not math.isfinite(value):
        return f"{value}"
    if value == 0:
        return "0"
    if power == 0 and symbol in _COUNTED_WHOLE and value == int(value):
        return f"{int(value):,}"
    scaled = _round(value, digits) / 10.0**power
    if abs(scaled) < 1e-3:
        return f"{scaled:.{digits - 1}e}"
    decimals = digits - 1 - math.floor(math.log10(abs(scaled)) + 1e-12)
    return f"{scaled:,.{max(decimals, 0)}f}"


def _tail(value: float, unit: str, digits: int) -> str:
    symbol, rest = _split(unit)
    power = _power(value, unit, digits)
    if symbol is not None:
        return f" {_PREFIXES[power]}{symbol}{rest}"
    word = {0: "", 6: " million", 9: " billion"}[power]
    return f"{word} {unit}" if unit else ""
