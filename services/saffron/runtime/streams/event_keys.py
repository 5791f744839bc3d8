"""The message key of an event, when an attribute is to be it."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from saffron.engine.events.decoding.exact import Bad, parse_object
from saffron.schema.numbers import number_of, shown


def keys_of(lines: Sequence[bytes], attribute: str) -> list[bytes | None]:
    """Message keys: the attribute's text, of a number that of its value; none where an event has no such attribute.

    Equal numbers have one text, whatever was written (1, 1.0, 1e0), as results print them.
    """
    return [_key(line, attribute) for line in lines]


def _key(line: bytes, attribute: str) -> bytes | None:
    event = parse_object(line)
    if isinstance(event, Bad):
        return None  # windowing makes a dead letter of it
    value = event.get(attribute)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = number_of(value)
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else orjson.dumps(shown(value))
