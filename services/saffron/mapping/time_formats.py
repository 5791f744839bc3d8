"""Event times as companies write them, to milliseconds since 1970 UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from saffron.language.syntax.hints import suggestion
from saffron.mapping.definition import TimeFormat
from saffron.schema.iso_times import parse_iso

UNITS = {
    TimeFormat.SECONDS: Decimal(1000),
    TimeFormat.MILLISECONDS: Decimal(1),
    TimeFormat.MICROSECONDS: Decimal("0.001"),
    TimeFormat.NANOSECONDS: Decimal("0.000001"),
}
"""Milliseconds of one unit."""

_DAY = 86_400_000
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,2})?", re.ASCII)
_MOST_DIGITS = 40
_ISO = re.compile(
    r"""
    (?P<local>\d{4}-?\d\d-?\d\d (?: [Tt\ ] (?P<clock>[\d:]+ (?:[.,]\d+)?) )? )
    \ ? (?P<offset>Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?
    (?:\[(?P<zone>[A-Za-z0-9_+/-]+)\])?
    """,
    flags=re.ASCII | re.VERBOSE,
)
_FINER = re.compile(r":\d\d[.,]\d{3}\d*[1-9]", re.ASCII)
_MIDNIGHT = re.compile(r"24:?00(:?00([.,]0+)?)?")
_WITH_YEAR = re.compile(r"%(?:[YyGCcDFx]|\+)")
_WITH_DATE = re.compile(r"%[mbBhdejUW]")
"""Parts of a date in a pattern without a year; a pattern without any is a time of day."""
_UTC_NAME = re.compile(r"\b(?:UTC|GMT)\b")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


class TimeError(ValueError):
    """A value that is no time in the format that was stated."""


def instant(value: object, form: TimeFormat | str, zone: ZoneInfo | None, received: int | None) -> int:
    """Milliseconds since 1970 UTC; finer digits are cut off, towards the past. TimeError where `value` is no time.

    `value`: a JSON value, numbers as they are written. `form`: a TimeFormat or a strptime pattern. `zone`: of times
    without an offset; None: UTC. `received`: the message's own time, whose year or day is meant where a pattern has
    none.
    """
    if form is TimeFormat.ISO:
        return _of_iso(value, zone)
    if isinstance(form, TimeFormat):
        return _of_number(value, form)
    return _of_pattern(value, form, zone, received)


def is_finer(value: object, form: TimeFormat | str) -> bool:
    """True if a time, which `instant` reads, has digits finer than milliseconds that are not 0."""
    text = str(value)
    if isinstance(form, TimeFormat) and form is not TimeFormat.ISO:
        milliseconds = Decimal(text.strip()) * UNITS[form]
        return milliseconds != milliseconds.to_integral_value()
    return _FINER.search(text) is not None


def _of_number(value: object, form: TimeFormat) -> int:
    """A time in ms since 1970, from a number in the unit of `form`. TimeError: it is no number."""
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > _MOST_DIGITS or not _NUMBER.fullmatch(text):
        raise TimeError(f"{form.value} is a number, or a text that holds one")
    try:
        milliseconds = Decimal(text) * UNITS[form]
    except InvalidOperation:
        raise TimeError(f"{form.value} is a number, or a text that holds one") from None
    return int(milliseconds.to_integral_value("ROUND_FLOOR"))


def _of_iso(value: object, zone: ZoneInfo | None) -> int:
    """A time in ms since 1970, from ISO 8601 text; `zone`: of text without an offset. TimeError: it is none."""
    found = _ISO.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise TimeError("iso8601 is a text like 2026-05-01T12:00:00.123+02:00")
    local, clock, offset = found["local"], found["clock"] or "", found["offset"]
    later = 0
    if _MIDNIGHT.fullmatch(clock):
        local, later = local[: -len(clock)] + "00:00:00" if ":" in clock else local[: -len(clock)] + "000000", _DAY
    ms = parse_iso(local)
    if ms is None:
        raise TimeError("there is no such date or time of day")
    if offset is not None:
        with_offset = parse_iso(local + ("Z" if offset in ("UTC", "GMT") else offset))
        if with_offset is None:
            raise TimeError("there is no such date, time of day or offset")
        return with_offset + later
    named = zone_of(found["zone"]) if found["zone"] else zone
    return _in_zone(ms + later, named)


def _of_pattern(value: object, pattern: str, zone: ZoneInfo | None, received: int | None) -> int:
    """A time in ms since 1970, by a strptime pattern.

    `received`: the message's time (ms), which gives the year to a pattern without one, and the day to one of a time of
    day. TimeError: the text does not fit.
    """
    if not isinstance(value, str):
        raise TimeError(f"the pattern {pattern} reads texts")
    text, form = " ".join(value.split()), pattern
    if "%Z" in form:  # Python takes names of the machine's own zone there, and forgets which it was
        text, form = _UTC_NAME.sub("+0000", text), form.replace("%Z", "%z")
    if _WITH_YEAR.search(form):
        parsed = [_parsed(text, form)]
    elif received is None:
        lacks = "year" if _WITH_DATE.search(form) else "day"
        raise TimeError(f"the pattern {pattern} has no {lacks}, and the message has no time to take it from")
    elif _WITH_DATE.search(form):
        year = (_EPOCH + received * _MS).year
        parsed = [_parsed(f"{near} {text}", f"%Y {form}") for near in range(year - 1, year + 2)]
    else:
        day = (_EPOCH + received * _MS).date()
        near_days = (day + timedelta(days=days) for days in range(-2, 3))  # zones are up to 14 hours apart from UTC
        parsed = [_parsed(f"{near:%Y-%m-%d} {text}", f"%Y-%m-%d {form}") for near in near_days]
    found = [_ms_of(one, zone) for one in parsed if one is not None]
    if not found:
        raise TimeError(f"it does not fit the pattern {pattern}")
    return min(found, key=lambda ms: abs(ms - (received or 0)))


def _parsed(text: str, pattern: str) -> datetime | None:
    try:
        return datetime.strptime(text, pattern)  # noqa: DTZ007 (its zone is looked for)
    except ValueError:
        return None


def _ms_of(parsed: datetime, zone: ZoneInfo | None) -> int:
    if parsed.tzinfo is not None:
        return (parsed - _EPOCH) // _MS
    return _in_zone((parsed.replace(tzinfo=UTC) - _EPOCH) // _MS, zone)


def _in_zone(ms: int, zone: ZoneInfo | None) -> int:
    """The instant at which clocks of a zone showed this time; of two, when summer time ends, the first."""
    if zone is None:
        return ms
    try:
        local = (_EPOCH + (ms // 1000) * timedelta(seconds=1)).replace(tzinfo=None)
    except OverflowError:
        raise TimeError("zones are known for the years 1 to 9999") from None
    offset = local.replace(tzinfo=zone).utcoffset() or timedelta()
    return ms - offset // _MS


def zone_of(name: str) -> ZoneInfo:
    """The time zone of that name. TimeError where there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = suggestion(name, sorted(available_timezones()))
        raise TimeError(f"there is no time zone {name!r}. {near}".removesuffix(". ")) from None
