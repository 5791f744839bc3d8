"""Control records as bytes: a JSON object with the number of its format, and fields that are checked one by one.

A field that a reader does not know is kept and written again, so that an older version that changes a record loses
nothing of a newer one. Such a field leaves the number as it is. The number grows only with a change that makes older
readers wrong; they refuse the record then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import orjson

from saffron.errors import SaffronError

FORMAT = 1
"""The format of records that this version writes, and the newest one that it reads. One without a number has 1."""
_FORMAT_FIELD = "record"

T = TypeVar("T")


class RecordError(SaffronError):
    """A control record cannot be read; the message says why."""


def decode(value: bytes) -> dict[str, Any]:
    """The fields of a record, without the number of its format. RecordError: it is none, or of a later version."""
    try:
        body = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise RecordError(f"it is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise RecordError("it is not a JSON object")
    number = body.pop(_FORMAT_FIELD, 1)
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise RecordError(f'"{_FORMAT_FIELD}" should be a number from 1 up, and is {number!r}')
    if number > FORMAT:
        raise RecordError(f"a later version of Saffron wrote it (format {number}, this one reads {FORMAT}): upgrade")
    return body


def encode(body: Mapping[str, Any]) -> bytes:
    """The bytes of a record with these fields."""
    return orjson.dumps({_FORMAT_FIELD: FORMAT, **body})


def require(body: Mapping[str, Any], field: str, kind: type[T]) -> T:
    """A field that must be there. RecordError: it is not, or of another type (true and false are no numbers)."""
    value = body.get(field)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise RecordError(f'"{field}" should be a {_NAMES.get(kind, kind.__name__)}, and is {value!r}')
    return value


def optional(body: Mapping[str, Any], field: str, kind: type[T]) -> T | None:
    """A field that may be absent or null."""
    return None if body.get(field) is None else require(body, field, kind)


def others(body: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """The fields that this version does not know."""
    return {name: value for name, value in body.items() if name not in known}


_NAMES: Mapping[type, str] = {str: "text", int: "whole number", dict: "JSON object"}
