"""The field of a topic's messages that is the time of their events."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from saffron.mapping.definition import TimeFormat
from saffron.mapping.message import Number
from saffron.mapping.paths import Path
from saffron.mapping.proposals.fields import Fields, Steps
from saffron.mapping.proposals.proposal import ProposedTime
from saffron.mapping.times import TimeError, instant

PATTERNS = ("%a, %d %b %Y %H:%M:%S %Z", "%b %d %H:%M:%S", "%d/%b/%Y:%H:%M:%S %z", "%Y/%m/%d %H:%M:%S")
"""Patterns that are tried beside ISO 8601 and epochs; none of them can be read in two ways."""
_FORMS: tuple[TimeFormat | str, ...] = (*TimeFormat, *PATTERNS)
_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_NEAR = 2 * _DAY
"""A time this near to the messages' own is the time of the event; ms."""
_FARTHEST_ZONE = 14 * _HOUR
_EARLIEST, _LATEST = 315_532_800_000, 4_102_444_800_000
"""1980 and 2100: a time of an event lies between."""
_NAME = re.compile(r"time|date|_at$|_ts|^ts|At$|stamp|created|occurred|when", re.IGNORECASE)
_OFFSET = re.compile(r"(?:Z|[+-]\d\d:?(?:\d\d)?|UTC|GMT)$")


def found_time(own: Fields, beside: Collection[Steps] = ()) -> ProposedTime:
    """The field whose values are times, nearest to the messages' own; of equals the one that is named like a time.

    `beside`: paths that are not asked for.
    """
    found = []
    for steps, values in own.values.items():
        if steps in beside or not own.in_all(steps):
            continue
        for form in _FORMS:
            ages = _ages(values, form, own.times)
            if ages is not None:
                named = bool(_NAME.search(steps[-1]))
                age = max(map(abs, ages))
                found.append((age > _NEAR, not named, age, len(steps), steps, form, ages))
    if not found:
        return ProposedTime(None, TimeFormat.MILLISECONDS, "no field is a time in all messages: the message's own")
    far, _, age, _, steps, form, ages = min(found, key=lambda one: one[:5])
    what = "is a time in all messages"
    near = what if far or max(own.times) < 0 else f"{what}, within {_span(age)} of the message's own"
    return ProposedTime(Path(steps), form, near + _zone(own.values[steps], ages))


def _ages(values: Sequence[tuple[int, Any]], form: TimeFormat | str, times: Sequence[int]) -> list[int] | None:
    """How far each message's own time is behind its field, in ms; None where a value is no time in this format."""
    ages = []
    for row, value in values:
        if isinstance(form, str) and isinstance(value, Number):
            return None
        try:
            ms = instant(value, form, None, times[row] if times[row] >= 0 else None)
        except TimeError:
            return None
        if not _EARLIEST <= ms <= _LATEST:
            return None
        ages.append(ms - times[row] if times[row] >= 0 else _DAY)
    return ages


def _zone(values: Sequence[tuple[int, Any]], ages: Sequence[int]) -> str:
    """A word on the zone of texts without an offset that are all whole hours off their messages' own times."""
    if any(not isinstance(one, str) or isinstance(one, Number) or _OFFSET.search(one) for _, one in values):
        return ""
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
