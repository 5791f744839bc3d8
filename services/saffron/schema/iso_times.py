"""Event times: ISO 8601 text to milliseconds, and back.

By our own arithmetic on the Gregorian calendar, since what `datetime.fromisoformat` takes differs from one Python to
the next, and the years of Python's calendar end.
"""

from __future__ import annotations

import re
from calendar import monthrange

# A date alone has hyphens: eight digits may be any number. A time is written with signs throughout, or without.
_FORM = re.compile(
    r"""
      (?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)
      (?:
        [Tt ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?
        (?P<zone>Z|z|[+-]\d\d(?::?\d\d)?)?
      )?
    | (?P<year_>\d{4})(?P<month_>\d\d)(?P<day_>\d\d)
        [Tt](?P<hour_>\d\d)(?P<minute_>\d\d)(?:(?P<second_>\d\d)(?:[.,](?P<fraction_>\d+))?)?
        (?P<zone_>Z|z|[+-]\d\d(?:\d\d)?)?
    """,
    flags=re.ASCII | re.VERBOSE,
)
_PARTS = ("year", "month", "day", "hour", "minute", "second")
_MS_OF_DAY, NS_OF_DAY = 86_400_000, 86_400_000_000_000


def parse_iso(text: str) -> int | None:
    """Milliseconds since 1970 UTC of an ISO 8601 date or date and time, or None where `text` is none.

    Without Z or an offset it is UTC. Digits beyond the millisecond are cut off (towards the past); second 60, a leap
    second, is the second that follows. Forms: `2026-05-01`, `2026-05-01T12:00[:00[.123]]`, `20260501T1200[00[.123]]`,
    with a blank in place of the T, each time with `Z`, `+02`, `+0200` or `+02:00`.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    form = "" if found["year"] else "_"
    year, month, day, hour, minute, second = (int(found[part + form] or 0) for part in _PARTS)
    if not 1 <= month <= 12 or not 1 <= day <= _days_of_month(year, month):
        return None
    if hour > 23 or minute > 59 or second > 60:
        return None
    offset = _offset(found["zone" + form])
    if offset is None:
        return None
    fraction = int((found["fraction" + form] or "")[:3].ljust(3, "0"))
    of_day = ((hour * 60 + minute - offset) * 60 + second) * 1000 + fraction
    return _day_number(year, month, day) * _MS_OF_DAY + of_day


def iso_text(nanoseconds: int, zone: str) -> str:
    """A time since 1970 as ISO 8601 text, of any year; `zone` stands behind it."""
    days, of_day = divmod(nanoseconds, NS_OF_DAY)
    return f"{iso_date(days)}T{iso_of_day(of_day)}{zone}"


def iso_of_day(nanoseconds: int) -> str:
    """A time of day as ISO 8601 text: no fraction, six digits of it, or nine."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    fraction = f".{rest:09d}" if rest % 1000 else f".{rest // 1000:06d}" if rest else ""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"


def iso_duration(months: int, days: int, nanoseconds: int) -> str:
    """A duration with months or days, which have no fixed length, as ISO 8601 text; each part has its own sign."""
    seconds, rest = divmod(abs(nanoseconds), 1_000_000_000)
    number = f"{'-' if nanoseconds < 0 else ''}{seconds}" + (f".{rest:09d}".rstrip("0") if rest else "")
    date = "".join(f"{count}{unit}" for count, unit in ((months, "M"), (days, "D")) if count)
    return f"P{date}T{number}S" if nanoseconds or not date else f"P{date}"


def iso_date(days: int) -> str:
    """A day since 1970 as YYYY-MM-DD; a year of more digits, or before 0, as it is."""
    era, of_era = divmod(days + 719_468, 146_097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * of_year + 2) // 153
    year = year_of_era + 400 * era + (month >= 10)
    return f"{year:04d}-{month + (3 if month < 10 else -9):02d}-{of_year - (153 * month + 2) // 5 + 1:02d}"


def _day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01. Years begin in March here, so that the leap day is the last one."""
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + of_year - 719_468


def _days_of_month(year: int, month: int) -> int:
    return monthrange(year + 400, month)[1]  # the calendar repeats, and Python's has no year 0


def _offset(zone: str | None) -> int | None:
    """Minutes that local time is ahead of UTC; None where it is none."""
    if zone is None or zone in "Zz":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:]) if len(zone) > 3 else 0
    if hours > 23 or minutes > 59:
        return None
    return (hours * 60 + minutes) * (1 if zone[0] == "+" else -1)
