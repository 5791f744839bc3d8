"""The message key of an event, when an attribute is to be it."""

from __future__ import annotations

from collections.abc import Sequence

import orjson


def keys_of(lines: Sequence[bytes], attribute: str) -> list[bytes | None]:
    """Message keys: the attribute's text (numbers as JSON writes them); none where an event has no such attribute."""
    return [_key(line, attribute) for line in lines]


def _key(line: bytes, attribute: str) -> bytes | None:
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None  # windowing makes a dead letter of it
    value = event.get(attribute) if isinstance(event, dict) else None
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else orjson.dumps(value)
