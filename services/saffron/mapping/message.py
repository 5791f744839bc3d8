"""A Kafka message, and its JSON with numbers as they are written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NoReturn

from saffron.engine.events.decoding.nesting import TOO_DEEP


class Number(str):
    """A JSON number as it is written: no digit is lost on its way into the inner topic."""

    __slots__ = ()


class MessageError(ValueError):
    """A message, or one of its parts, that is no event. `reason`: the dead letter's code."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Message:
    """One record of a topic. `time`: ms, None where it has none. `value` None: a tombstone."""

    value: bytes | None
    key: bytes | None = None
    time: int | None = None
    headers: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    topic: str = ""
    partition: int = 0
    offset: int = 0


def parse(text: bytes) -> Any:
    """The JSON value in `text`: objects, arrays, strings, Numbers, truth values, null. MessageError: it is none."""
    try:
        value = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=_refuse)
    except RecursionError:
        raise MessageError("too-deep", TOO_DEEP) from None
    except ValueError as error:
        raise MessageError("not-json", f"the message is no JSON: {error}") from None
    return value


def written(value: Any) -> bytes:
    """The JSON text of a parsed value, numbers as they were written."""
    return _text(value).encode()


def _text(value: Any) -> str:
    if isinstance(value, Number):
        return value
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{_text(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return json.dumps(value)


def object_of(value: Any, what: str = "the message") -> Mapping[str, Any]:
    """A value that must be a JSON object. MessageError: it is none."""
    if not isinstance(value, dict):
        raise MessageError("not-an-object", f"{what} is {noun(value)}, and should be a JSON object")
    return value


def noun(value: Any) -> str:
    """The name of a JSON value's kind, for people."""
    if value is None:
        return "null"
    if isinstance(value, Number):
        return "a number"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a text"
    return "an array" if isinstance(value, list) else "an object"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")
