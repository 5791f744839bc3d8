"""Functions of times, which are milliseconds since 1970 (UTC), in a time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

_FIRST, _LAST = -62_135_596_800_000 + 172_800_000, 253_402_300_799_999 - 172_800_000
"""The first and last ms whose local time has a year from 1 to 9999 in every zone."""
_WHOLE_MINUTES = 94_694_400_000
"""1973: since then every clock has been put on or back at a whole minute of UTC."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SIZES = {"second": 1000, "minute": 60_000, "hour": 3_600_000}
UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")


def hour(ts: float, zone: str = "UTC") -> int | None:
    """The hour of a time in a zone, 0 to 23."""
    local = _shown(ts, zone)
    return None if local is None else local // 3_600_000 % 24


def minute(ts: float, zone: str = "UTC") -> int | None:
    """The minute of a time in a zone, 0 to 59."""
    local = _shown(ts, zone)
    return None if local is None else local // 60_000 % 60


def day_of_week(ts: float, zone: str = "UTC") -> int | None:
    """The day of the week in a zone, 1 (Monday) to 7 (Sunday), as in ISO 8601; 1970 began on a Thursday."""
    local = _shown(ts, zone)
    return None if local is None else (local // 86_400_000 + 3) % 7 + 1


def date_trunc(unit: str, ts: float, zone: str = "UTC") -> int | None:
    """The beginning of the second, minute, hour, day, week (Monday), month, quarter or year of a time.

    Where a clock is put back, an hour that comes twice has two beginnings.
    """
    shown = _shown(ts, zone)
    if shown is None:
        return None
    if unit in _SIZES:
        # These are as long on every clock: the time since the begin of one is subtracted, across clock changes.
        return int(ts) - shown % _SIZES[unit]
    local = _local(int(ts), zone)
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if unit == "week":
        day -= timedelta(days=day.weekday())
    elif unit != "day":
        month = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}[unit]
        day = day.replace(day=1, month=month)
    return _milliseconds(day)


def _shown(ts: float, zone: str) -> int | None:
    """The local time of a zone, as ms since its 1970; None for a time that is not whole, or too far off."""
    if not _FIRST <= ts <= _LAST or ts != int(ts):
        return None
    return int(ts) + (_offset(int(ts) // 60_000, zone) if ts >= _WHOLE_MINUTES else _offset_of(int(ts), zone))


@lru_cache(maxsize=65_536)
def _offset(minute: int, zone: str) -> int:
    """The offset of a zone from UTC (ms) in a minute since 1970."""
    return _offset_of(minute * 60_000, zone)


def _offset_of(ts: int, zone: str) -> int:
    ahead = _local(ts, zone).utcoffset()
    assert ahead is not None
    return ahead // timedelta(milliseconds=1)


def _local(ts: int, zone: str) -> datetime:
    """A time on the clocks of a zone."""
    return (_EPOCH + timedelta(milliseconds=ts)).astimezone(_zone(zone))


def _milliseconds(local: datetime) -> int:
    return (local - _EPOCH) // timedelta(milliseconds=1)


def wrong_zone(name: str) -> str:
    """The error of the name of a time zone; "" if it is right."""
    try:
        _zone(name)
    except (ValueError, OSError, KeyError):
        return f"no time zone is called '{name[:60]}'"
    return ""


def wrong_unit(name: str) -> str:
    """The error of a unit of `date_trunc`; "" if it is right."""
    return "" if name in UNITS else f"units are: {', '.join(UNITS)}"


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
