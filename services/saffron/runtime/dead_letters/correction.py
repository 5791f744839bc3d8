"""Correction of a message before it is sent again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from saffron.errors import InputError


@dataclass(frozen=True)
class Correction:
    """The changes to a message: `value` replaces its bytes, then attributes are `put`, and others left `out`."""

    value: bytes | None = None
    put: Mapping[str, Any] = field(default_factory=dict)
    out: tuple[str, ...] = ()


def correct(original: bytes | None, correction: Correction) -> bytes:
    """The bytes to send; the original ones without changes. InputError: the correction is impossible."""
    value = original if correction.value is None else correction.value
    if value is None:
        raise InputError("the message had no value, so there is nothing to send: give one")
    if not correction.put and not correction.out:
        return value
    event = event_of(value)
    if event is None:
        raise InputError("attributes can only be changed in a JSON object, and this is none: give the whole message")
    if missing := [name for name in correction.out if name not in event]:
        raise InputError(f"attribute {missing[0]!r} cannot be left out: the message has {', '.join(event) or 'none'}")
    kept = {name: one for name, one in event.items() if name not in correction.out}
    return orjson.dumps({**kept, **correction.put})


def event_of(value: bytes | None) -> dict[str, Any] | None:
    """The message as a JSON object, or None if it is none."""
    try:
        event = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return None
    return event if isinstance(event, dict) else None
