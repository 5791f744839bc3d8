"""Places of a stream's elements: each is a message, or one of several in a message."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.engine.events.decoding.exact_json import roughly_parsed
from saffron.schema.origin import NUMBER, OFFSET, PARTITION, TOPIC


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
        event = roughly_parsed(value or b"")
        return Place(str(event[TOPIC]), int(event[PARTITION]), int(event[OFFSET]), int(event.get(NUMBER, 0)))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
