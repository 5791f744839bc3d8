"""Message keys of events, taken from an attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from saffron.engine.events.decoding.exact import parse_object
from saffron.engine.events.decoding.exact_json import roughly_parsed
from saffron.engine.events.decoding.rules.outcomes import Bad
from saffron.schema.numbers import number_of, shown


def keys_of(lines: Sequence[bytes], attribute: str) -> list[bytes | None]:
    """The message key of each event: the attribute's text, or its number's text. None where the attribute is missing.

    Equal numbers have one text, as results print them: 1, 1.0 and 1e0 give the same key.
    """
    return [_key(line, attribute) for line in lines]


def no_key_notice(attribute: str) -> str:
    """The message where none of the events has the key's attribute."""
    return f"no event has the key {attribute!r}: all are in one partition"


def keys_of_good(events: Sequence[bytes], attribute: str) -> list[bytes | None]:
    """The message key of each event as `keys_of` gives it, faster, for events that were decoded before."""
    return keys_of_parsed(events, list(map(roughly_parsed, events)), attribute)


def keys_of_parsed(events: Sequence[bytes], parsed: Sequence[Mapping[str, Any]], attribute: str) -> list[bytes | None]:
    """The message key of each event as `keys_of` gives it. `parsed`: the object of each event."""
    return [
        value.encode() if isinstance(value, str) else None if value is None else _key(event, attribute)
        for value, event in zip((one.get(attribute) for one in parsed), events, strict=True)
    ]


def _key(line: bytes, attribute: str) -> bytes | None:
    """The message key of one event. None: its attribute is missing or null, or the line is no event."""
    event = parse_object(line)
    if isinstance(event, Bad):
        return None  # it becomes a dead letter in windowing
    value = event.get(attribute)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = number_of(value)
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else orjson.dumps(shown(value))
