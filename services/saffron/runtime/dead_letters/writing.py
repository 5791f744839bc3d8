"""The message of a dead letter, as a service writes it (schemas/dead-letters.yaml)."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from saffron.counted import counted
from saffron.runtime.dead_letters.showing import encoded
from saffron.runtime.streams.places import Place

_MOST_BYTES = 4_000_000
"""Bytes of a letter; the topic takes 4 MiB."""
_KEPT = 65_536
"""Bytes of a value that stay of one that is too long."""
_MOST_DETAIL = 2_000
"""Characters of a sentence that stay: it may quote the message, whatever the length of a name or a text in it."""


@dataclass(frozen=True)
class LetterMessage:
    """A message for the topic `dead-letters`."""

    topic: str
    partition: int
    key: bytes
    value: bytes


def letter_message(
    letters: str,
    partitions: int,
    place: Place,
    timestamp: int,
    reason: str,
    detail: str,
    value: bytes | None,
    stream: str = "",
) -> LetterMessage:
    """The message of a dead letter. `letters`: the topic, which has `partitions`.

    `value`: of the element alone; of one too long for the topic, its beginning. `stream`: the name of one
    that is made from the topic, or from several.
    """
    detail = detail if len(detail) <= _MOST_DETAIL else f"{detail[:_MOST_DETAIL]}..."
    written = _body(place, timestamp, reason, detail, value, stream)
    if value is not None and len(value) > _KEPT and len(written) > _MOST_BYTES:
        cut = f"{detail} (here are {_KEPT:,} of {counted(len(value), 'byte')})"
        written = _body(place, timestamp, reason, cut, value[:_KEPT], stream)
    return LetterMessage(letters, place.partition % partitions, place.id.encode(), written)


def _body(place: Place, timestamp: int, reason: str, detail: str, value: bytes | None, stream: str) -> bytes:
    """The value of a dead letter's message."""
    text, encoding = encoded(value)
    body = {
        "topic": place.topic,
        "partition": place.partition,
        "offset": place.offset,
        "timestamp": timestamp,
        "reason": reason,
        "detail": detail,
        "value": text,
        "encoding": encoding,
        **({"number": place.number} if place.number else {}),
        **({"stream": stream} if stream else {}),
    }
    return orjson.dumps(body)
