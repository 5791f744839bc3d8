"""The message of a dead letter, as a service writes it (schemas/dead-letters.yaml)."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from saffron.engine.windows.origin import NUMBER, OFFSET, PARTITION, TOPIC
from saffron.runtime.dead_letters.showing import encoded


@dataclass(frozen=True)
class Place:
    """The place of an element: its message, and its number in the message where that has several."""

    topic: str
    partition: int
    offset: int
    number: int = 0

    @property
    def id(self) -> str:
        """TOPIC/PARTITION/OFFSET, and .NUMBER from the second element on."""
        return f"{self.topic}/{self.partition}/{self.offset}" + (f".{self.number}" if self.number else "")


def origin_of(value: bytes | None) -> Place | None:
    """The place of the element that an inner event of a merged stream was read from; None: it names none."""
    try:
        event = orjson.loads(value or b"")
        return Place(str(event[TOPIC]), int(event[PARTITION]), int(event[OFFSET]), int(event.get(NUMBER, 0)))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


@dataclass(frozen=True)
class LetterMessage:
    """A message for the topic `dead-letters`."""

    topic: str
    partition: int
    key: bytes
    value: bytes


def letter_message(
    letters: str, partitions: int, place: Place, timestamp: int, reason: str, detail: str, value: bytes | None
) -> LetterMessage:
    """The message of a dead letter. `letters`: the topic, which has `partitions`. `value`: of the element alone."""
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
    }
    return LetterMessage(letters, place.partition % partitions, place.id.encode(), orjson.dumps(body))
