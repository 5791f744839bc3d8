"""What a definition of a stream may be, by the newest messages of its topics: each proposal with its reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saffron.mapping.definition import Envelope, SourceDefinition, TimeFormat, TypeRule
from saffron.mapping.envelopes import Filtered, elements
from saffron.mapping.mapper import leaves
from saffron.mapping.message import Message, MessageError, Number, parse
from saffron.mapping.paths import Path
from saffron.mapping.proposal import ProposedKey, ProposedSource, ProposedTime
from saffron.mapping.times import TimeError, instant

PATTERNS = ("%a, %d %b %Y %H:%M:%S %Z", "%b %d %H:%M:%S", "%d/%b/%Y:%H:%M:%S %z", "%Y/%m/%d %H:%M:%S")
"""Patterns that are tried beside ISO 8601 and epochs; none of them can be read in two ways."""
_FORMS: tuple[TimeFormat | str, ...] = (*TimeFormat, *PATTERNS)
_DAY = 86_400_000
_NEAR = 2 * _DAY
"""A time this near to the messages' own is the time of the event; ms."""
_EARLIEST, _LATEST = 315_532_800_000, 4_102_444_800_000
"""1980 and 2100: a time of an event lies between."""
_MOST_KINDS = 12
"""Different values of a field that may be the event's type."""
_TIME_NAME = re.compile(r"time|date|_at$|_ts|^ts|At$|stamp|created|occurred|when", re.IGNORECASE)
_KIND_NAME = re.compile(r"type|status|state|event|action|kind|name$", re.IGNORECASE)
_VERSION_NAME = re.compile(r"version", re.IGNORECASE)
_ID_NAME = re.compile(r"(^|[._])id$|_id$|Id$|key|uuid|number$", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?", re.ASCII)
_LEAST_SHARED = 0.2
"""Of a topic's values of a field, those that another topic has too, at least, for a key."""


@dataclass(frozen=True)
class Topic:
    """The newest messages of a topic, in order."""

    name: str
    messages: Sequence[Message]


@dataclass(frozen=True)
class _Fields:
    """The leaves of a topic's messages: values by path, and how many messages have been read."""

    values: Mapping[tuple[str, ...], Sequence[Any]]
    times: Sequence[int]
    count: int


def infer(topics: Sequence[Topic]) -> list[ProposedSource]:
    """A source for each topic, with the key by whose values the topics agree."""
    envelopes = [_envelope(topic) for topic in topics]
    fields = [_fields(topic, envelope) for topic, envelope in zip(topics, envelopes, strict=True)]
    keys = _keys([topic.name for topic in topics], fields)
    return [
        ProposedSource(
            topic.name,
            own.count,
            envelope,
            time := _time(own),
            key,
            _numbers(own, time),
            _kinds(own),
        )
        for topic, envelope, own, key in zip(topics, envelopes, fields, keys, strict=True)
    ]


# ------------------------------------------------------------ what is around an event


def _envelope(topic: Topic) -> Envelope:
    """The envelope that most messages have."""
    found = Counter(_envelope_of(message) for message in topic.messages if message.value is not None)
    return found.most_common(1)[0][0] if found else Envelope.NONE


def _envelope_of(message: Message) -> Envelope:
    assert message.value is not None
    try:
        value = parse(message.value)
    except MessageError:
        return Envelope.LINES if b"\n" in message.value.strip() else Envelope.NONE
    if isinstance(value, list):
        return Envelope.ARRAY
    if not isinstance(value, dict):
        return Envelope.NONE
    if "specversion" in value or "ce_specversion" in message.headers:
        return Envelope.CLOUDEVENTS
    change = value.get("payload") if "schema" in value else value
    debezium = isinstance(change, dict) and "op" in change and "source" in change and "after" in change
    return Envelope.DEBEZIUM if debezium else Envelope.NONE


def _fields(topic: Topic, envelope: Envelope) -> _Fields:
    source = SourceDefinition(topic.name, 0, TypeRule(constant=topic.name), envelope=envelope)
    values: dict[tuple[str, ...], list[Any]] = {}
    times, count = [], 0
    for message, content in _read(topic, source):
        count += 1
        times.append(message.time if message.time is not None else -1)
        for steps, value in leaves(content):
            values.setdefault(steps, []).append((count - 1, value))
    return _Fields(values, times, count)


def _read(topic: Topic, source: SourceDefinition) -> Iterator[tuple[Message, Mapping[str, Any]]]:
    for message in topic.messages:
        for element in elements(message, source):
            if not isinstance(element.content, MessageError | Filtered):
                yield message, element.content


# ------------------------------------------------------------ time


def _time(own: _Fields) -> ProposedTime:
    """The field whose values are times, nearest to the messages' own; of equals the one that is named like a time."""
    found = []
    for steps, values in own.values.items():
        if len(values) < own.count:
            continue
        for form in _FORMS:
            ages = _ages(values, form, own.times)
            if ages is not None:
                named = bool(_TIME_NAME.search(steps[-1]))
                found.append((max(ages) > _NEAR, not named, max(ages), len(steps), steps, form))
    if not found:
        return ProposedTime(None, TimeFormat.MILLISECONDS, "no field is a time in all messages: the message's own")
    far, _, age, _, steps, form = min(found, key=lambda one: one[:-1])
    what = "is a time in all messages"
    near = what if far or max(own.times) < 0 else f"{what}, within {_span(age)} of the message's own"
    return ProposedTime(Path(steps), form, near)


def _ages(values: Sequence[Any], form: TimeFormat | str, times: Sequence[int]) -> list[int] | None:
    """How far each time is from its message's own, in ms; None where a value is no time in this format."""
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
        ages.append(abs(ms - times[row]) if times[row] >= 0 else _DAY)
    return ages


def _span(ms: int) -> str:
    """A rough length of time."""
    for size, unit in ((_DAY, "days"), (3_600_000, "hours"), (60_000, "minutes"), (1000, "seconds")):
        if ms >= size:
            return f"{ms // size + 1} {unit}"
    return "a second"


# ------------------------------------------------------------ key, numbers, types


def _keys(names: Sequence[str], fields: Sequence[_Fields]) -> list[ProposedKey | None]:
    """For each topic the path whose values the other topics have too."""
    if len(fields) < 2:
        return [None] * len(fields)
    texts = [{steps: _texts(values) for steps, values in own.values.items()} for own in fields]
    first = max(
        ((steps, [_best(own, other) for other in texts[1:]]) for steps, own in texts[0].items()),
        key=lambda one: (min((share for share, _ in one[1]), default=0.0), bool(_ID_NAME.search(one[0][-1]))),
        default=None,
    )
    if first is None or min(share for share, _ in first[1]) < _LEAST_SHARED:
        return [None] * len(fields)
    steps, others = first
    shown = ".".join(steps)
    own = ProposedKey(Path(steps), f"the other topics have its values, too ({min(texts[0][steps])})")
    return [
        own,
        *(ProposedKey(Path(path), f"has values of {names[0]}'s {shown}: {share:.0%}") for share, path in others),
    ]


def _texts(values: Sequence[Any]) -> set[str]:
    """Different values that may be keys: texts and whole numbers."""
    return {str(value) for _, value in values if isinstance(value, str) and "." not in value[:1] and value}


def _best(own: set[str], other: Mapping[tuple[str, ...], set[str]]) -> tuple[float, tuple[str, ...]]:
    """The path of another topic that shares most of its values with these, and the share."""
    return max(
        ((len(own & values) / len(values) if len(values) > 1 else 0.0, steps) for steps, values in other.items()),
        default=(0.0, ()),
    )


def _numbers(own: _Fields, time: ProposedTime) -> list[Path]:
    """Fields whose values are texts that hold numbers, with a point or a sign in some: no ids, no versions."""
    found = []
    for steps, values in own.values.items():
        texts = [value for _, value in values]
        mixed = any(isinstance(one, Number) for one in texts)
        written = [one for one in texts if isinstance(one, str) and not isinstance(one, Number)]
        is_other = Path(steps) == time.path or _VERSION_NAME.search(str(steps[-1])) is not None
        if not written or is_other or not all(_NUMBER.fullmatch(one) for one in written):
            continue
        if mixed or any("." in one or "-" in one for one in written):
            found.append(Path(steps))
    return found


def _kinds(own: _Fields) -> tuple[Path, Sequence[str]] | None:
    """A field of few texts in all messages, named like a type or a status."""
    found = []
    for steps, values in own.values.items():
        texts = {value for _, value in values if isinstance(value, str) and not isinstance(value, Number)}
        if len(values) == own.count and 1 < len(texts) <= _MOST_KINDS and _KIND_NAME.search(steps[-1]):
            found.append((len(steps), len(texts), steps, sorted(texts)))
    if not found:
        return None
    _, _, steps, texts_found = min(found)
    return Path(steps), texts_found
