"""A dry run of a definition: how the newest messages of a source would be read."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from saffron.counted import counted
from saffron.mapping.definition import SourceDefinition, StreamDefinition, TimeFormat
from saffron.mapping.envelopes import Eventless
from saffron.mapping.mapper import Mapped, Refused, outcomes_of
from saffron.mapping.message import Message
from saffron.schema.event_types import is_type
from saffron.schema.likely_times import is_likely
from saffron.schema.schema import MAX_TS

_DAY = 86_400_000
_UNITS = {
    TimeFormat.SECONDS: 10**9,
    TimeFormat.MILLISECONDS: 10**6,
    TimeFormat.MICROSECONDS: 10**3,
    TimeFormat.NANOSECONDS: 1,
}
"""Nanoseconds of a unit."""
_SHOWN = 3


@dataclass(frozen=True)
class Refusals:
    """The elements that are no events for one reason: how many, and the first of them."""

    count: int
    message: Message
    first: Refused


@dataclass(frozen=True)
class Reading:
    """The result of reading a source's messages. `types`, `attributes`: the number of events that have each.

    `misfits`: values that do not fit their rule and are null, by attribute, and the first message of each. `warning`:
    a sentence on times that seem wrong, or "". `eventless`: by the reason, the number of values that were no event
    without being wrong. `not_found`: the number of events whose key no row has, by attribute of a table.
    """

    source: SourceDefinition
    messages: int
    events: int
    types: Mapping[str, int]
    attributes: Mapping[str, int]
    refused: Mapping[str, Refusals]
    misfits: Mapping[str, tuple[int, Message]]
    examples: Sequence[Mapped]
    warning: str
    eventless: Mapping[Eventless, int] = field(default_factory=dict)
    not_found: Mapping[str, int] = field(default_factory=dict)


LookUp = Callable[[Mapped], tuple[Mapped | Refused, Iterable[str]]]
"""A function from an event to the same with its attributes of tables, and those of them whose key no row has."""


def not_looked_up(event: Mapped) -> tuple[Mapped, Iterable[str]]:
    """The look-up of a stream without tables."""
    return event, ()


def read_all(
    stream: StreamDefinition,
    source: SourceDefinition,
    messages: Iterable[Message],
    max_future: int = _DAY,
    look_up: LookUp = not_looked_up,
) -> Reading:
    """Read the messages of a source as its stream would. `max_future`: how far events may be ahead of them (ms)."""
    strict = stream.dead_letters
    types: Counter[str] = Counter()
    attributes: Counter[str] = Counter()
    refused: dict[str, Refusals] = {}
    misfits: dict[str, tuple[int, Message]] = {}
    not_found: Counter[str] = Counter()
    examples: list[Mapped] = []
    times: list[int] = []
    arrived: list[tuple[int, int, int, int]] = []
    eventless: Counter[Eventless] = Counter()
    count = events = finer = 0
    for message in messages:
        count += 1
        for one in outcomes_of(message, source, strict=strict):
            if isinstance(one, Eventless):
                eventless[one] += 1
                continue
            if isinstance(one, Mapped):
                times.append(one.ts)
            one = judged(one, message, max_future)
            if isinstance(one, Mapped):
                one, missing = look_up(one)
                not_found.update(missing)
            if isinstance(one, Refused):
                before = refused.get(one.reason, Refusals(0, message, one))
                refused[one.reason] = replace(before, count=before.count + 1)
                continue
            events += 1
            arrived.append((message.partition, message.offset, one.number, one.ts))
            finer += one.finer
            types[one.type] += 1
            attributes.update(one.values.keys())
            for name in one.misfits:
                number, first = misfits.get(name, (0, message))
                misfits[name] = number + 1, first
            if len(examples) < _SHOWN:
                examples.append(one)
    behind = _late(arrived, stream.disorder_of(source))
    warning = "; ".join(filter(None, (_another_unit(source, times), behind, _finer(finer))))
    return Reading(source, count, events, types, attributes, refused, misfits, examples, warning, eventless, not_found)


def _finer(count: int) -> str:
    return f"{counted(count, 'time has', 'times have')} digits finer than milliseconds, which are cut" if count else ""


def _late(arrived: Iterable[tuple[int, int, int, int]], disorder: int) -> str:
    """A hint on events that would be late; "" if there are none. `arrived`: (partition, offset, number, time in ms)."""
    newest: dict[int, int] = {}
    behind = []
    for partition, _, _, ts in sorted(arrived):
        newest[partition] = max(ts, newest.get(partition, ts))
        if ts < newest[partition] - disorder:
            behind.append(newest[partition] - ts)
    if not behind:
        return ""
    most = f"the furthest is {max(behind):,} ms behind an earlier one of its partition, `disorder` is {disorder:,} ms"
    return f"{counted(len(behind), 'event')} would be late: {most}"


def _another_unit(source: SourceDefinition, times: Sequence[int]) -> str:
    """A hint that another unit of epoch time makes the times likely, where they are not so; "" if none does."""
    form = source.time.form
    if not times or not isinstance(form, TimeFormat) or form not in _UNITS:
        return ""
    median = statistics.median(times)
    for other, nanoseconds in _UNITS.items():
        if not is_likely(median) and is_likely(median * nanoseconds / _UNITS[form]):
            return f"times lie outside 1980 to 2100 as {form.value}; they fit as {other.value}"
    return ""


def judged(one: Mapped | Refused, message: Message, max_future: int) -> Mapped | Refused:
    """An event, refused as its stream would refuse it.

    `max_future`: how far it may be ahead of its message's own time (ms).
    """
    if isinstance(one, Refused):
        return one
    if not is_type(one.type):
        return Refused(one.number, "no-type", f"type {one.type!r} is empty or begins with $: `map` gives it another")
    if abs(one.ts) > MAX_TS:
        return Refused(one.number, "bad-ts", f"ts {one.ts} is beyond 2^53 ms: is it in another unit?")
    if message.time is None or one.ts <= message.time + max_future:
        return one
    detail = f"ts {one.ts} is more than {max_future} ms ahead of the message's own time {message.time}"
    return Refused(one.number, "future-ts", detail)


def place_of(message: Message, number: int) -> str:
    """The id of an element: TOPIC/PARTITION/OFFSET, and .NUMBER from the second one of its message on."""
    return f"{message.topic}/{message.partition}/{message.offset}" + (f".{number}" if number else "")


def sentences(one: Reading) -> Iterator[str]:
    """Warnings to show beside the counts."""
    topic = one.source.topic
    if not one.messages:
        yield f"{topic}: no message has been found, so that nothing could be tried"
    elif not (one.events or one.refused or one.eventless):
        columns = one.source.csv is not None and not one.source.csv.columns
        more = (
            ": each first line is read as names; without names say `format: {csv: {columns: [a, b]}}`"
            if columns
            else ""
        )
        yield f"{topic}: its messages hold no event{more}"
    for line in eventless_values(one.source, one.eventless):
        yield f"{topic}: {line}"
    for reason, each in one.refused.items():
        first = f"the first is {place_of(each.message, each.first.number)}: {each.first.detail}"
        yield f"{topic}: {each.count:,} refused ({reason}); {first}"
    for name, (count, message) in one.misfits.items():
        what = counted(count, "value")
        why = "not as its rule says, and null"
        if name not in one.source.attributes:
            why = "beside another field of that name, and left out"
        yield f"{topic}: {what} of {name!r} {why}; the first in {place_of(message, 0)}"
    for line in no_rows(one.not_found):
        yield f"{topic}: {line}"
    if one.warning:
        yield f"{topic}: {one.warning}"


def eventless_values(source: SourceDefinition, counts: Mapping[Eventless, int]) -> Iterator[str]:
    """Sentences on the values of a source's messages that were no event without being wrong."""
    if count := counts.get(Eventless.FILTERED):
        yield f"{count:,} left out by `where: {source.where}`"
    if count := counts.get(Eventless.NO_ARRAY):
        have = counted(count, "message has", "messages have")
        yield f"{have} no {str(source.explode)!r}, the array that `explode` names, and so no event"


def no_rows(not_found: Mapping[str, int]) -> Iterator[str]:
    """Sentences on keys that no row of a table has. `not_found`: attribute -> number of events."""
    for attribute, count in not_found.items():
        have = counted(count, "event has", "events have")
        yield f"{attribute}: {have} a key that no row of the table has; the attribute is null there"
