"""Values of other formats in the form of JSON, for readers of tables, dicts, Avro and Protobuf.

A value then means what the JSON of it would mean, whatever it came in, and the decoder alone judges it.

| value | as JSON |
|---|---|
| integer, decimal | the number with all its digits |
| NaN, infinity | the text "NaN", "Infinity" or "-Infinity", which is no number |
| bytes | text where they are UTF-8, else `\\x` and hexadecimal digits |
| date and time | ISO 8601 text |
| duration | milliseconds; one that has months and days apart is ISO 8601 text |
| missing (None, NaT, NA) | null |
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import orjson

# orjson rounds the seconds of an offset away, and the time is another one then: a datetime is written here.
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME
_HEX = b"\\x"
_MISSING = frozenset(("NaTType", "NAType"))
_MOST_BITS = 1024
"""An integer of more bits is beyond every float64."""


class NoJsonError(ValueError):
    """An event holds a value that JSON cannot hold; the message names the value and its place."""


def event_as_json(event: Mapping[Any, Any]) -> bytes:
    """An event of another format as a JSON object; NoJsonError: it holds an object that is no value."""
    try:
        return _as_json(event)
    except RecursionError:
        raise NoJsonError("an attribute holds itself, or is nested too deep") from None


def _as_json(event: Mapping[Any, Any]) -> bytes:
    try:
        text = orjson.dumps(event if isinstance(event, dict) else dict(event), option=_OPTIONS, default=value_as_json)
    except TypeError:
        return _written(event)  # an integer beyond 64 bits, half a character
    if b"null" in text and not all(map(_is_finite, event.values())):
        return _written(event)
    return text


def value_as_json(value: Any) -> Any:
    """A value of a type that orjson cannot write, in a form that it can."""
    if type(value).__name__ in _MISSING:  # NaT is a datetime, too
        return None
    if isinstance(value, datetime):
        return _as_iso(value)
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value)) if value.is_finite() else number_as_text(_as_float(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes_as_text(bytes(value))
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return milliseconds(value // timedelta(microseconds=1) * 1000)
    raise TypeError(f"a {type(value).__name__} is no value of JSON")


def _as_iso(value: datetime) -> str:
    """ISO 8601 text. Its offsets have no seconds, which those before 1900 may have: such a time is written in UTC."""
    if value.tzinfo is not None and value.tzinfo is not UTC:
        offset = value.utcoffset()
        if offset is not None and (offset.seconds % 60 or offset.microseconds):
            value = value.astimezone(UTC)
    return value.isoformat()


def bytes_as_text(value: bytes) -> str:
    r"""UTF-8 as text, other bytes as `\x8081`; those that begin with `\x` too, so that different ones stay so."""
    if not value.startswith(_HEX):
        try:
            return value.decode()
        except UnicodeDecodeError:
            pass
    return "\\x" + value.hex()


def number_as_text(value: float) -> str:
    """One of NO_NUMBERS."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _as_float(value: Decimal) -> float:
    return math.nan if value.is_nan() else float(value)


def milliseconds(nanoseconds: int) -> Any:
    """A duration in milliseconds, exactly."""
    whole, rest = divmod(nanoseconds, 1_000_000)
    return orjson.Fragment(f"{Decimal(nanoseconds).scaleb(-6).normalize():f}") if rest else whole


def _written(event: Mapping[Any, Any]) -> bytes:
    """The slow way, which takes every value by itself."""
    return b"{" + b",".join(_name(name) + b":" + _value(name, value) for name, value in event.items()) + b"}"


def _name(name: Any) -> bytes:
    if isinstance(name, str):
        return json.dumps(name).encode()
    try:
        return orjson.dumps({name: None}, option=_OPTIONS)[1 : -len(":null}")]
    except TypeError as error:
        raise NoJsonError(f"{name!r} is no name of an attribute ({error})") from None


def _value(name: Any, value: Any) -> bytes:
    """A value as JSON. NoJsonError: its type has no JSON form."""
    if isinstance(value, str):
        return json.dumps(value).encode()  # escapes half surrogates
    if isinstance(value, int) and not isinstance(value, bool):
        if value.bit_length() > _MOST_BITS:
            return _value(name, math.inf if value > 0 else -math.inf)
        return str(int(value)).encode()
    if isinstance(value, list | tuple):
        return b"[" + b",".join(_value(name, item) for item in value) + b"]"
    if isinstance(value, dict):
        return _written(value)
    if not _is_finite(value):
        return orjson.dumps(number_as_text(float(value)))
    try:
        return orjson.dumps(value, option=_OPTIONS, default=value_as_json)
    except TypeError as error:
        raise NoJsonError(
            f"attribute {name!r} cannot be written as JSON: {error}; attributes are plain values"
        ) from None


def _is_finite(value: Any) -> bool:
    """True if a value has no float that is not finite."""
    if isinstance(value, list | tuple | dict):
        return all(map(_is_finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float | np.floating) or math.isfinite(value)
