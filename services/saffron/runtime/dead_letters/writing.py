"""The message of a dead letter, as a service writes it (schemas/dead-letters.yaml)."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from saffron.runtime.dead_letters.showing import encoded
from saffron.runtime.streams.places import Place


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

    `value`: of the element alone. `stream`: the name of a merged stream.
    """
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
    return LetterMessage(letters, place.partition % partitions, place.id.encode(), orjson.dumps(body))
