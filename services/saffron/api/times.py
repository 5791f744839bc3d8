"""Numbers as users of the Python API give them: times and durations, in milliseconds, and counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import floor
from numbers import Integral, Real

from saffron.errors import InputError
from saffron.schema.schema import MAX_TS

_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(ts: float | datetime) -> int:
    """The whole milliseconds since 1970 UTC, rounded down; a datetime without a zone is in UTC.

    InputError: it is no time.
    """
    if isinstance(ts, datetime):
        return (ts.replace(tzinfo=ts.tzinfo or UTC) - _EPOCH) // _MILLISECOND
    _require_number(ts, "ts", "a datetime, or milliseconds since 1970 UTC")
    if not abs(ts) <= MAX_TS:  # NaN, too
        raise InputError(f"ts is {ts!r}: beyond 2^53 ms there are no times")
    return floor(ts)


def duration(name: str, given: float | timedelta) -> int:
    """The milliseconds, rounded, of an argument of that name. InputError: it is no duration, or below 0."""
    length = given / _MILLISECOND if isinstance(given, timedelta) else given
    _require_number(length, name, "a timedelta, or milliseconds")
    if not 0 <= length <= MAX_TS:  # NaN, too
        raise InputError(f"{name} is {given!r}: it is from 0 to 2^53 ms")
    return round(length)


def require_count(name: str, given: object) -> None:
    """InputError: an argument of that name is no whole number from 1 on."""
    if not isinstance(given, Integral) or given < 1:
        raise InputError(f"{name} is {given!r}: it should be a whole number from 1 on")


def _require_number(value: object, name: str, wanted: str) -> None:
    if not isinstance(value, Real):
        raise InputError(f"{name} is {value!r}: it should be {wanted}")
