"""Correction of a message before it is sent again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from saffron.errors import InputError
from saffron.mapping.message import MessageError, parse, written
from saffron.mapping.paths import Path, PathError


@dataclass(frozen=True)
class Correction:
    """The changes to a message: `value` replaces its bytes, then attributes are `put`, and others left `out`.

    A name is that of a field of the message, or the path of one that it has inside: `Records[1].at`.
    """

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
    whole = _parsed(value)
    event = whole[0] if isinstance(whole, list) and len(whole) == 1 else whole
    if not isinstance(event, dict):
        raise InputError("attributes can only be changed in a JSON object, and this is none: give the whole message")
    for name in correction.out:
        around, last = _place(event, name)
        if last not in around:
            raise InputError(f"attribute {name!r} cannot be left out: the message has {', '.join(event) or 'none'}")
        del around[last]
    for name, one in correction.put.items():
        around, last = _place(event, name)
        around[last] = one
    return written(whole)


def _place(event: dict[str, Any], name: str) -> tuple[dict[str, Any], str]:
    """The object that has a field, and the field's name in it: inside, if the name is the path of a field there."""
    try:
        steps = Path.parse(name).steps
    except PathError:
        return event, name
    around = Path(steps[:-1]).of(event)
    last = steps[-1]
    if name in event or not isinstance(around, dict) or last not in around:
        return event, name
    return around, str(last)


def _parsed(value: bytes) -> Any:
    """The JSON in a message, numbers as they are written; None: it is none."""
    try:
        return parse(value)
    except MessageError:
        return None


def event_of(value: bytes | None) -> dict[str, Any] | None:
    """The message as a JSON object, or None if it is none."""
    try:
        event = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return None
    return event if isinstance(event, dict) else None
