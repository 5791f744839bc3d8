"""Values of other formats in the form of JSON, for readers of tables, dicts, Avro and Protobuf.

A value then means what the JSON of it would mean, whatever it came in, and the decoder alone judges it.

| value | as JSON |
|---|---|
| integer, decimal, whole float | the number with all its digits |
| NaN, infinity | the text "NaN", "Infinity" or "-Infinity", which is no number |
| bytes | text where they are UTF-8, else `\\x` and hexadecimal digits |
| date and time | ISO 8601 text |
| duration | milliseconds; one that has months and days apart is ISO 8601 text |
| missing (None, NaT, NA) | null |
| scalar or array of NumPy | the value, or the array of the values, that it stands for |
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import numpy as np
import orjson

from saffron.engine.events.formats.numpy_values import numpy_value
from saffron.engine.events.formats.times_as_json import Moment, datetime_as_text, timedelta_as_json
from saffron.schema.numbers import EXACT, LIMIT

# orjson rounds the seconds of an offset away, and the time is another one then: a datetime is written here. So are
# names that are no text, and values of NumPy, of which orjson loses nanoseconds, and what is no number in an array.
_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME
_HEX = b"\\x"
_LARGE = orjson.dumps(1e16)[1:-1]
"""In what orjson writes of a whole float between 10^16 and 2^63: the shortest text, which as JSON is another number.

It is "e+1", or "e1" of older versions.
"""
_MISSING = frozenset(("NaTType", "NAType"))
_MOST_BITS = 1024
"""An integer of more bits is beyond every float64."""
_LEAVES = (type(None), str, int, bytes, Decimal, date, time, timedelta)
"""Types whose null in JSON is a missing value."""


class NoJsonError(ValueError):
    """An event holds a value that JSON cannot hold; the message names the value and its place."""


class NoValue:
    """What stands in a row where the value is none; `why` says so."""

    def __init__(self, why: str) -> None:
        self.why = why


def event_as_json(event: Mapping[Any, Any]) -> bytes:
    """An event of another format as a JSON object; NoJsonError: it holds an object that is no value."""
    if isinstance(when := event.get("ts"), Moment):  # any year, which text has not
        event = {**event, "ts": when.nanoseconds // 1_000_000}
    try:
        return _as_json(event)
    except RecursionError:
        raise NoJsonError("an attribute holds itself, or is nested too deep") from None


def _as_json(event: Mapping[Any, Any]) -> bytes:
    try:
        text = orjson.dumps(event if isinstance(event, dict) else dict(event), option=_OPTIONS, default=value_as_json)
    except TypeError:
        return _written(event)  # an integer beyond 64 bits, half a character, a name that is no text
    if (b"null" in text or _LARGE in text) and not all(map(_is_plain, event.values())):
        return _written(event)
    return text


def value_as_json(value: Any) -> Any:
    """A value of a type that orjson cannot write, in a form that it can. TypeError: JSON has no form of it."""
    if type(value).__name__ in _MISSING:  # NaT is a datetime, too
        return None
    if isinstance(value, datetime):
        return datetime_as_text(value)
    if isinstance(value, Moment):
        return str(value)
    if isinstance(value, float):  # of a type derived from it
        return float(value) if math.isfinite(value) else number_as_text(value)
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value)) if value.is_finite() else number_as_text(_as_float(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes_as_text(bytes(value))
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return timedelta_as_json(value)
    if isinstance(value, np.generic | np.ndarray):
        return numpy_value(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, NoValue):
        raise TypeError(value.why)
    raise TypeError(f"JSON has no value of type {type(value).__name__}")


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


def name_as_text(name: Any) -> str:
    """The name in an object of a key that may be any scalar: the text that its value is, or is written as."""
    if isinstance(name, str):
        return name
    if isinstance(name, list | tuple | Mapping):
        raise NoJsonError(f"{name!r} is no name of an attribute")
    text = _value(name, name)
    return str(json.loads(text)) if text.startswith(b'"') else text.decode()


def _as_float(value: Decimal) -> float:
    return math.nan if value.is_nan() else float(value)


def _written(event: Mapping[Any, Any]) -> bytes:
    """The slow way, which takes every value by itself."""
    members = (json.dumps(name_as_text(name)).encode() + b":" + _value(name, value) for name, value in event.items())
    return b"{" + b",".join(members) + b"}"


def _value(name: Any, value: Any) -> bytes:
    """A value as JSON. NoJsonError: its type has no JSON form."""
    if isinstance(value, Enum):
        return _value(name, value.value)
    if isinstance(value, str):
        return json.dumps(value).encode()  # escapes half surrogates
    if isinstance(value, int) and not isinstance(value, bool):
        if value.bit_length() > _MOST_BITS:
            return _value(name, math.inf if value > 0 else -math.inf)
        return str(int(value)).encode()
    if isinstance(value, list | tuple):
        return b"[" + b",".join(_value(name, item) for item in value) + b"]"
    if isinstance(value, Mapping):
        return _written(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _written({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, float) and EXACT < abs(value) < LIMIT:
        return str(int(value)).encode()
    if (
        value is None
        or isinstance(value, bool | UUID | orjson.Fragment)
        or (type(value) is float and math.isfinite(value))
    ):
        return orjson.dumps(value)
    try:
        plain = value_as_json(value)
    except TypeError as error:
        raise NoJsonError(
            f"attribute {name!r} cannot be written as JSON: {error}; attributes are plain values"
        ) from None
    return _value(name, plain)


def _is_plain(value: Any) -> bool:
    """True if orjson writes a value as it is, and it holds nothing that it could write otherwise unseen."""
    if isinstance(value, float):
        return abs(value) <= EXACT or LIMIT <= abs(value) < math.inf
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return all(map(_is_plain, value.values())) if isinstance(value, dict) else isinstance(value, _LEAVES)
