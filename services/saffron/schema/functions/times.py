"""Functions of times, which are milliseconds since 1970 (UTC), in a time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

_FIRST, _LAST = -62_135_596_800_000 + 172_800_000, 253_402_300_799_999 - 172_800_000
"""The first and last ms whose local time has a year from 1 to 9999 in every zone."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")


def hour(ts: float, zone: str = "UTC") -> int | None:
    """0 to 23."""
    local = _local(ts, zone)
    return None if local is None else local.hour


def minute(ts: float, zone: str = "UTC") -> int | None:
    """0 to 59."""
    local = _local(ts, zone)
    return None if local is None else local.minute


def day_of_week(ts: float, zone: str = "UTC") -> int | None:
    """1 (Monday) to 7 (Sunday), as in ISO 8601."""
    local = _local(ts, zone)
    return None if local is None else local.isoweekday()


def date_trunc(unit: str, ts: float, zone: str = "UTC") -> int | None:
    """The beginning of the second, minute, hour, day, week (Monday), month, quarter or year of a time.

    Where a clock is put back, an hour that comes twice has two beginnings.
    """
    local = _local(ts, zone)
    if local is None:
        return None
    if unit in ("second", "minute", "hour"):
        # These are as long on every clock: what has passed of one is taken off, whatever the clock is put to.
        size = {"second": 1, "minute": 60, "hour": 3600}[unit]
        passed = (local.minute * 60 + local.second) % size
        return int(ts) - passed * 1000 - local.microsecond // 1000
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if unit == "week":
        day -= timedelta(days=day.weekday())
    elif unit != "day":
        month = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}[unit]
        day = day.replace(day=1, month=month)
    return _milliseconds(day)


def _local(ts: float, zone: str) -> datetime | None:
    """A time on the clocks of a zone; None for one that is not whole, or too far off."""
    if ts != int(ts) or not _FIRST <= ts <= _LAST:
        return None
    return (_EPOCH + timedelta(milliseconds=int(ts))).astimezone(_zone(zone))


def _milliseconds(local: datetime) -> int:
    return (local - _EPOCH) // timedelta(milliseconds=1)


def wrong_zone(name: str) -> str:
    """What is wrong with the name of a time zone; "" if nothing is."""
    try:
        _zone(name)
    except (ValueError, OSError, KeyError):
        return f"no time zone is called '{name[:60]}'"
    return ""


def wrong_unit(name: str) -> str:
    """The same of a unit of `date_trunc`."""
    return "" if name in UNITS else f"units are: {', '.join(UNITS)}"


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def milliseconds_of(text: str) -> int | None:
    """The time that an ISO 8601 text writes, in UTC if it names no offset; None: it writes none, or parts of a ms."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return _milliseconds(found) if found.microsecond % 1000 == 0 else None
