"""Times for the flattening kernel: the common forms of `times`, to the same milliseconds."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
# Chains of comparisons stand as the compiler likes them:
# ruff: noqa: PLR1714

from __future__ import annotations

import numpy as np

from saffron.engine.kernels.jit import inlined

_ZERO, _NINE, _DASH, _PLUS, _COLON, _DOT, _COMMA, _SPACE = 48, 57, 45, 43, 58, 46, 44, 32
_LETTERS_T, _LETTERS_Z = (84, 116), (90, 122)
_MOST_POWER = 18
_POWERS = np.array([10**power for power in range(_MOST_POWER + 1)], np.int64)
_MOST = np.int64(2**63 - 1)
_MOST_MS = np.int64(10**17)
_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int64)


@inlined
def of_units(mantissa, power):
    """(sure, mantissa * 10**power cut off towards the past), in milliseconds."""
    if power >= 0:
        if power > _MOST_POWER or abs(mantissa) > _MOST // _POWERS[power]:
            return False, np.int64(0)
        return True, np.int64(mantissa * _POWERS[power])
    if power < -_MOST_POWER:
        return False, np.int64(0)
    return True, np.int64(mantissa // _POWERS[-power])


@inlined
def iso_instant(buffer, begin, end):
    """(sure, milliseconds) of YYYY-MM-DDThh:mm:ss[.digits](Z|+hh:mm|+hhmm|+hh); other forms are left to `times`."""
    if end - begin < 20:
        return False, np.int64(0)
    year, month, day = _number(buffer, begin, 4), _number(buffer, begin + 5, 2), _number(buffer, begin + 8, 2)
    hour, minute, second = (
        _number(buffer, begin + 11, 2),
        _number(buffer, begin + 14, 2),
        _number(buffer, begin + 17, 2),
    )
    middle = buffer[begin + 10]
    if not (
        buffer[begin + 4] == _DASH and buffer[begin + 7] == _DASH
        and buffer[begin + 13] == _COLON and buffer[begin + 16] == _COLON
        and (middle == _LETTERS_T[0] or middle == _LETTERS_T[1] or middle == _SPACE)
    ):  # fmt: skip
        return False, np.int64(0)
    if year < 1 or month < 1 or month > 12 or day < 1 or hour < 0 or hour > 23 or minute < 0 or minute > 59:
        return False, np.int64(0)
    if second < 0 or second > 59:
        return False, np.int64(0)
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day > _DAYS[month - 1] + leap:
        return False, np.int64(0)
    p = begin + 19
    ms = np.int64(0)
    if buffer[p] == _DOT or buffer[p] == _COMMA:
        p += 1
        first = p
        while p < end and _ZERO <= buffer[p] <= _NINE:
            if p < first + 3:
                ms += (np.int64(buffer[p]) - _ZERO) * _POWERS[2 - (p - first)]
            p += 1
        if p == first:
            return False, np.int64(0)
    sure, offset = _offset(buffer, p, end)
    if not sure:
        return False, np.int64(0)
    of_day = ((hour * 60 + minute - offset) * 60 + second) * 1000 + ms
    return True, np.int64(_day_number(year, month, day) * 86_400_000 + of_day)


@inlined
def _offset(buffer, p, end):
    """(sure, minutes that local time is ahead of UTC)."""
    if p + 1 == end:
        return buffer[p] == _LETTERS_Z[0] or buffer[p] == _LETTERS_Z[1], np.int64(0)
    length = end - p
    if (length != 3 and length != 5 and length != 6) or (buffer[p] != _PLUS and buffer[p] != _DASH):
        return False, np.int64(0)
    if length == 6 and buffer[p + 3] != _COLON:
        return False, np.int64(0)
    hours = _number(buffer, p + 1, 2)
    minutes = _number(buffer, end - 2, 2) if length > 3 else np.int64(0)
    if hours < 0 or hours > 23 or minutes < 0 or minutes > 59:
        return False, np.int64(0)
    ahead = hours * 60 + minutes
    return True, (ahead if buffer[p] == _PLUS else -ahead)


@inlined
def _number(buffer, p, digits):
    """The number of so many digits, -1 where something else stands there."""
    found = np.int64(0)
    for k in range(digits):
        byte = buffer[p + k]
        if byte < _ZERO or byte > _NINE:
            return np.int64(-1)
        found = found * 10 + (np.int64(byte) - _ZERO)
    return found


@inlined
def _day_number(year, month, day):
    """Days since 1970-01-01. Years begin in March here, so that the leap day is the last one."""
    shifted = year - (1 if month <= 2 else 0)
    era = shifted // 400
    year_of_era = shifted - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + of_year - 719_468
