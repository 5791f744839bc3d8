"""JSON numbers for the scanner, exactly rounded or left to the exact path; `schema.numbers` defines the right value."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

import numpy as np

from saffron.engine.kernels.jit import inlined

_MINUS, _PLUS, _POINT, _ZERO, _NINE = 45, 43, 46, 48, 57
_UPPER_E, _LOWER_E = 69, 101
_MAX_DIGITS = 19
"""The most significant digits that fit a uint64; a larger number is negative as an int64."""
_MAX_EXPONENT_DIGITS = 4
_EXACT_MANTISSA = 2**53
_EXACT_POWER = 22
_POWERS = 10.0 ** np.arange(_EXACT_POWER + 1)
_WHOLE_POWER = 18
_WHOLE_POWERS = 10 ** np.arange(_WHOLE_POWER + 1, dtype=np.int64)
_MAX_INT = 2**63 - 1
_SHORT = 10**15
"""The least number of 16 digits: all numbers with fewer digits are distinct as float64."""


@inlined
def scan_number(buffer, p, end):
    """Read the number at `p`: (position behind it, mantissa, power of ten, whether it is an integer literal).

    The position is -1 where this is no number, or one that the exact path should read (minus zero, many digits).
    What follows the number is left to the caller, so "1.2.3" ends before its second point.
    """
    negative = buffer[p] == _MINUS
    if negative:
        p += 1
    if p >= end or buffer[p] < _ZERO or buffer[p] > _NINE:
        return -1, 0, 0, False
    first = p
    mantissa = np.int64(0)
    while p < end and _ZERO <= buffer[p] <= _NINE:
        mantissa = mantissa * 10 + (np.int64(buffer[p]) - _ZERO)
        p += 1
    digits = p - first
    if digits > 1 and buffer[first] == _ZERO:
        return -1, 0, 0, False
    exponent = np.int64(0)
    integer = True
    if p < end and buffer[p] == _POINT:
        integer = False
        p += 1
        point = p
        if mantissa == 0 and digits == 1:
            digits = 0
            while p < end and buffer[p] == _ZERO:
                p += 1
        significant = p
        while p < end and _ZERO <= buffer[p] <= _NINE:
            mantissa = mantissa * 10 + (np.int64(buffer[p]) - _ZERO)
            p += 1
        if p == point:
            return -1, 0, 0, False
        digits += p - significant
        exponent = point - p
    if digits > _MAX_DIGITS or mantissa < 0:
        return -1, 0, 0, False
    if p < end and (buffer[p] == _LOWER_E or buffer[p] == _UPPER_E):
        integer = False
        p, power = _scan_exponent(buffer, p + 1, end)
        if p < 0:
            return -1, 0, 0, False
        exponent += power
    if negative:
        if mantissa == 0:
            return -1, 0, 0, False
        mantissa = -mantissa
    return p, mantissa, exponent, integer


@inlined
def _scan_exponent(buffer, p, end):
    """(position behind the exponent or -1, its value); `p` is behind the letter."""
    negative = False
    if p < end and (buffer[p] == _MINUS or buffer[p] == _PLUS):
        negative = buffer[p] == _MINUS
        p += 1
    first = p
    power = np.int64(0)
    while p < end and _ZERO <= buffer[p] <= _NINE and p - first <= _MAX_EXPONENT_DIGITS:
        power = power * 10 + (np.int64(buffer[p]) - _ZERO)
        p += 1
    if p == first or p - first > _MAX_EXPONENT_DIGITS:
        return -1, 0
    return p, -power if negative else power


@inlined
def to_whole(mantissa, exponent):
    """(whether mantissa * 10**exponent is whole and fits an int64, the number)."""
    if exponent == 0 or mantissa == 0:
        return True, mantissa
    if exponent > _WHOLE_POWER or exponent < -_WHOLE_POWER:
        return False, 0
    power = _WHOLE_POWERS[abs(exponent)]
    if exponent > 0:
        return abs(mantissa) <= _MAX_INT // power, mantissa * power
    whole = mantissa // power
    return whole * power == mantissa, whole


@inlined
def to_number(mantissa, exponent):
    """(sure, mantissa * 10**exponent as the nearest float64): sure where that is the value, as `numbers.number_of` has
    it, and not another number's too."""
    sure, value = to_float(mantissa, exponent)
    if not sure or abs(value) < _EXACT_MANTISSA:
        return sure, value
    whole, number = to_whole(mantissa, exponent)
    if whole:
        return abs(value) < _MAX_INT and np.int64(value) == number, value
    return abs(mantissa) < _SHORT, value


@inlined
def to_float(mantissa, exponent):
    """(sure, mantissa * 10**exponent as the nearest float64), after Clinger (1990): one exact operation, one rounding.

    Not sure where the mantissa or the power of ten is not itself a float64.
    """
    if exponent == 0:
        return True, np.float64(mantissa)  # the conversion rounds to nearest
    if mantissa > _EXACT_MANTISSA or mantissa < -_EXACT_MANTISSA:
        return False, 0.0
    if 0 < exponent <= _EXACT_POWER:
        return True, np.float64(mantissa) * _POWERS[exponent]
    if -_EXACT_POWER <= exponent < 0:
        return True, np.float64(mantissa) / _POWERS[-exponent]
    return False, 0.0
