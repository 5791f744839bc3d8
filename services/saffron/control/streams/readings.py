"""Messages, and how a definition reads them, as JSON values for commands and the API."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from saffron.mapping.definition import SourceDefinition, StreamDefinition
from saffron.mapping.dry_run import (
    LookUp,
    Reading,
    Refusals,
    judged,
    not_looked_up,
    place_of,
    read_all,
    sentences,
)
from saffron.mapping.envelopes import Eventless
from saffron.mapping.mapper import Mapped, Refused, events_of, flat
from saffron.mapping.message import Message
from saffron.runtime.streams.source_messages import SourceMessage

MOST_SHOWN = 16_384
"""Bytes of a message's value that are shown."""


def read_source(
    stream: StreamDefinition,
    source: SourceDefinition,
    messages: Sequence[SourceMessage],
    max_future: int,
    look_up: LookUp = not_looked_up,
) -> Reading:
    """The reading of a source's messages, those included that could not be translated. `max_future`: ms."""
    known = [one.message for one in messages if one.refusal is None]
    found = read_all(stream, source, known, max_future, look_up)
    refused = dict(found.refused)
    for one in messages:
        if one.refusal is not None:
            reason, detail = one.refusal
            before = refused.get(reason, Refusals(0, one.message, Refused(0, reason, detail)))
            refused[reason] = replace(before, count=before.count + 1)
    return replace(found, messages=len(messages), refused=refused)


def reading_body(one: Reading) -> dict[str, Any]:
    """The reading of a source's messages as JSON: counts, and the first message of each kind of refusal."""
    refused = {
        reason: {"count": each.count, "first": place_of(each.message, each.first.number), "detail": each.first.detail}
        for reason, each in one.refused.items()
    }
    misfits = {name: {"count": count, "first": place_of(message, 0)} for name, (count, message) in one.misfits.items()}
    return {
        "source": one.source.topic,
        "messages": one.messages,
        "events": one.events,
        "filtered": one.eventless.get(Eventless.FILTERED, 0),
        "types": one.types,
        "attributes": one.attributes,
        "refused": refused,
        "misfits": misfits,
        "warning": one.warning or None,
        "told": list(sentences(one)),
        "examples": [orjson.Fragment(flat(each)) for each in one.examples],
    }


def message_body(message: Message) -> dict[str, Any]:
    """A message. `value`: as `encoding` says, cut after `MOST_SHOWN` bytes; `bytes`: its whole size."""
    value = message.value
    text = _text(value)
    shown = None if value is None else b64encode(value[:MOST_SHOWN]).decode() if text is None else text
    return {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "time": message.time,
        "key": None if message.key is None else message.key.decode("utf-8", "backslashreplace"),
        "headers": {name: one.decode("utf-8", "backslashreplace") for name, one in message.headers.items()},
        "value": shown,
        "encoding": "base64" if text is None and value is not None else "utf-8",
        "bytes": len(value or b""),
    }


def message_readings(
    messages: Iterable[SourceMessage],
    source: SourceDefinition,
    *,
    strict: bool,
    max_future: int,
    look_up: LookUp = not_looked_up,
) -> list[Mapping[str, Any]]:
    """Each message with its reading: the events and refused elements made of it. `strict`: as in `events_of`."""

    def elements(one: SourceMessage) -> Iterator[Mapped | Refused]:
        if one.refusal is not None:
            yield Refused(0, *one.refusal)
            return
        for each in events_of(one.message, source, strict=strict):
            event = judged(each, one.message, max_future)
            yield event if isinstance(event, Refused) else look_up(event)[0]

    return [{**message_body(one.message), "read": list(map(_element, elements(one)))} for one in messages]


def _element(one: Mapped | Refused) -> Mapping[str, Any]:
    if isinstance(one, Refused):
        return {"number": one.number, "reason": one.reason, "detail": one.detail}
    return {"number": one.number, "event": orjson.Fragment(flat(one)), "misfits": list(one.misfits)}


def _text(value: bytes | None) -> str | None:
    """The beginning of a value as text; None: it is no text."""
    if value is None:
        return None
    try:
        value.decode()
    except UnicodeDecodeError:
        return None
    return value[:MOST_SHOWN].decode("utf-8", "ignore")
