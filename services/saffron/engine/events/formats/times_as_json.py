"""Times and durations in the form of JSON: of any year, to the nanosecond."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson

from saffron.schema.iso_times import iso_text

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - beside times without their zone
_MICROSECOND = timedelta(microseconds=1)


class Moment:
    """A time of any year. `nanoseconds`: since 1970; `zone`: what stands behind its text, which is none without one."""

    __slots__ = ("nanoseconds", "zone")

    def __init__(self, nanoseconds: int, zone: str) -> None:
        self.nanoseconds = nanoseconds
        self.zone = zone

    def __str__(self) -> str:
        return iso_text(self.nanoseconds, self.zone)


def has_offset_of_iso(value: datetime) -> bool:
    """False: its offset from UTC has seconds, as those before 1900 may have, and ISO 8601 has none such."""
    offset = value.utcoffset()
    return offset is None or not (offset.seconds % 60 or offset.microseconds)


def datetime_as_text(value: datetime) -> str:
    """ISO 8601 text; in UTC, if its offset is none of ISO 8601."""
    if has_offset_of_iso(value):
        return value.isoformat()
    microseconds = (value.replace(tzinfo=None) - _EPOCH - (value.utcoffset() or timedelta())) // _MICROSECOND
    return iso_text(microseconds * 1000 + getattr(value, "nanosecond", 0), "+00:00")


def timedelta_as_json(value: timedelta) -> Any:
    """The milliseconds; a Timedelta of pandas has nanoseconds too."""
    return milliseconds(value // _MICROSECOND * 1000 + getattr(value, "nanoseconds", 0))


def milliseconds(nanoseconds: int) -> Any:
    """A duration in milliseconds, exactly."""
    whole, rest = divmod(nanoseconds, 1_000_000)
    return orjson.Fragment(f"{Decimal(nanoseconds).scaleb(-6).normalize():f}") if rest else whole
