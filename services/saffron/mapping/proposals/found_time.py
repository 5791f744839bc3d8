"""The field of a topic's messages that is the time of their events."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from saffron.mapping.definition import TimeFormat
from saffron.mapping.message import Number
from saffron.mapping.paths import Path
from saffron.mapping.proposals.fields import Fields, Steps, is_most
from saffron.mapping.proposals.proposal import ProposedTime
from saffron.mapping.time_formats import TimeError, instant
from saffron.schema.likely_times import is_likely

PATTERNS = ("%a, %d %b %Y %H:%M:%S %Z", "%b %d %H:%M:%S", "%d/%b/%Y:%H:%M:%S %z", "%Y/%m/%d %H:%M:%S")
"""Patterns that are tried beside ISO 8601 and epochs; none of them can be read in two ways."""
_FORMS: tuple[TimeFormat | str, ...] = (*TimeFormat, *PATTERNS)
_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_NEAR = 2 * _DAY
"""A time this near to the messages' own is the time of the event; ms."""
_FARTHEST_ZONE = 14 * _HOUR
_NAME = re.compile(r"time|date|_at$|_ts|^ts|At$|stamp|created|occurred|when", re.IGNORECASE)
_ELSEWHERE = ZoneInfo("Asia/Tokyo")
"""A zone that moves a time without an offset; no other is moved."""


def found_time(own: Fields, beside: Collection[Steps] = ()) -> ProposedTime:
    """The field whose values are times, nearest to the messages' own; of equals that in most, and named like a time.

    `beside`: paths that are not asked for.
    """
    found = []
    for steps, values in own.values.items():
        if steps in beside or not own.in_most(steps):
            continue
        for form in _FORMS:
            ages = _ages(values, form, own.times, None)
            if ages and is_most(len(ages), own.count):
                named = bool(_NAME.search(steps[-1]))
                age = max(map(abs, ages))
                found.append((age > _NEAR, own.count - len(ages), not named, age, len(steps), steps, form, ages))
    if not found:
        return ProposedTime(None, TimeFormat.MILLISECONDS, "no field is a time in all messages: the message's own")
    far, others, _, age, _, steps, form, ages = min(found, key=lambda one: one[:6])
    where = (
        "all messages" if not others else f"{own.share(len(ages))} of events (check says what becomes of the others)"
    )
    near = "" if far or max(own.times) < 0 else f", within {_span(age)} of the message's own"
    lacks_offset = _ages(own.values[steps], form, own.times, _ELSEWHERE) != ages
    return ProposedTime(Path(steps), form, f"is a time in {where}{near}{_zone(ages) if lacks_offset else ''}")


def _ages(
    values: Sequence[tuple[int, Any]], form: TimeFormat | str, times: Sequence[int], zone: ZoneInfo | None
) -> list[int]:
    """The values of a time field less their messages' own times, in ms, without values that are no time in this format.

    `zone`: of times without an offset.
    """
    ages = []
    for row, value in values:
        if isinstance(form, str) and isinstance(value, Number):
            continue
        try:
            ms = instant(value, form, zone, times[row] if times[row] >= 0 else None)
        except TimeError:
            continue
        if is_likely(ms):
            ages.append(ms - times[row] if times[row] >= 0 else _DAY)
    return ages


def _zone(ages: Sequence[int]) -> str:
    """A word on times without an offset that are all whole hours off their messages' own times."""
    hours = {round(age / _HOUR) for age in ages}
    (off, *more) = hours
    if more or not off or abs(off) * _HOUR > _FARTHEST_ZONE or any(abs(age - off * _HOUR) > _MINUTE for age in ages):
        return ""
    return f"; it has no offset, and is {abs(off)} h {'ahead' if off > 0 else 'behind'}: add its `zone`"


def _span(ms: int) -> str:
    """A rough length of time."""
    for size, unit in ((_DAY, "days"), (_HOUR, "hours"), (_MINUTE, "minutes"), (1000, "seconds")):
        if ms >= size:
            return f"{ms // size + 1} {unit}"
    return "a second"
