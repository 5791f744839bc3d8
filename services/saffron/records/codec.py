"""The codec of control records: JSON objects with a format number, and checked fields.

Unknown fields are kept and written again, so that an older version that changes a record loses nothing. New fields
leave the format number as it is. It grows only with a change that makes older readers wrong; they then refuse the
record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import orjson

from saffron.errors import SaffronError

FORMAT = 1
"""The format that this version writes, and the newest that it reads. A record without a number has format 1."""
_FORMAT_FIELD = "record"
_LARGEST = 2**63 - 1

T = TypeVar("T")


class RecordError(SaffronError):
    """A control record that cannot be read, with the reason."""


def decode(value: bytes) -> dict[str, Any]:
    """The fields of a record, without its format number. RecordError: not a record, or of a later format."""
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
    """The value of a required field. RecordError: missing, or of another type (true and false are no numbers).

    Whole numbers have 64 bits, as where services keep them.
    """
    value = body.get(field)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise RecordError(f'"{field}" should be a {_NAMES.get(kind, kind.__name__)}, and is {value!r}')
    if isinstance(value, int) and value > _LARGEST:
        raise RecordError(f'"{field}" should be at most {_LARGEST}, and is {value}')
    return value


def optional(body: Mapping[str, Any], field: str, kind: type[T]) -> T | None:
    """The value of an optional field; None if absent or null."""
    return None if body.get(field) is None else require(body, field, kind)


def unknown_fields(body: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """The fields that are not in `known`."""
    return {name: value for name, value in body.items() if name not in known}


_NAMES: Mapping[type, str] = {str: "text", int: "whole number", dict: "JSON object"}
