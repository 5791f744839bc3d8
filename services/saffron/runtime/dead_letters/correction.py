"""Correction of a message before it is sent again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.events.decoding.exact_json import roughly_parsed
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
        if not _has(around, last):
            raise InputError(f"attribute {name!r} cannot be left out: the message has {', '.join(event) or 'none'}")
        del around[last]
    for name, one in correction.put.items():
        around, last = _place(event, name)
        around[last] = one
    return written(whole)


def _place(event: dict[str, Any], name: str) -> tuple[Any, Any]:
    """The object or array that a name or path is in, and its key there; the field itself may be missing.

    The message's own field of that name counts first. A path of names whose object is missing is a name with dots,
    which every reader takes for the path. InputError: the path has an element of an array that is not there.
    """
    try:
        steps = Path.parse(name).steps
    except PathError:
        return event, name
    if name in event:
        return event, name
    *before, last = steps
    around = Path(tuple(before)).of(event)
    if isinstance(last, str) and isinstance(around, dict):
        return around, last
    if isinstance(last, int) and isinstance(around, list) and last <= len(around):
        return around, last - 1
    if all(isinstance(step, str) for step in steps):
        return event, ".".join(map(str, steps))
    raise InputError(f"{name!r} leads nowhere in the message; it has {', '.join(event) or 'nothing'}")


def _has(around: Any, last: Any) -> bool:
    return isinstance(last, int) or last in around


def _parsed(value: bytes) -> Any:
    """The JSON in a message, numbers as they are written; None: it is none."""
    try:
        return parse(value)
    except MessageError:
        return None


def event_of(value: bytes | None) -> dict[str, Any] | None:
    """The message as a JSON object, or None if it is none."""
    try:
        event = roughly_parsed(value or b"")
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
