"""Checks of arguments, each raising a ValueError that says what is wrong, what was seen and what to do."""

import math
import numbers
import operator


def number(name, value, hint, *, positive=False, infinite=False):
    """Return `value` as a float, at least 0 (above 0 if `positive`), finite unless `infinite` is allowed.

    Raises ValueError with `hint` (what to pass instead) for anything else, NaN and bool included.
    """
    least = "above zero" if positive else "zero or more"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError(f"{name} must be one number, {least}, but it is {value!r}: {hint}.")
    as_float = float(value)
    wrong_sign = as_float <= 0 if positive else as_float < 0
    if math.isnan(as_float) or wrong_sign or (math.isinf(as_float) and not infinite):
        finite = "" if infinite else "finite and "
        raise ValueError(f"{name} must be {finite}{least}, but it is {value}: {hint}.")
    return as_float


def count(name, value, hint, *, least=1):
    """Return `value` as an int of at least `least`; raises ValueError with `hint` for anything else.

    A float is refused even when it is whole: 8 / 2 where 8 // 2 was meant hides a batch that does not divide.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        whole = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number of at least {least}, but it is {value!r}: {hint}.") from None
    if whole < least:
        raise ValueError(f"{name} must be at least {least}, but it is {whole}: {hint}.")
    return whole


def one_of(name, value, choices):
    """Return `value` if it is among `choices`; raises ValueError that lists them otherwise."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} is {value!r}, which is not known here: choose one of {', '.join(choices)}.")
    return value


def flag(name, value):
    """Return `value` if it is True or False; raises ValueError otherwise, as "False" in quotes is true."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, but it is {value!r}: write it without quotes.")
    return value
