"""CAST: a value as one of another kind; null where it writes none."""

from __future__ import annotations

import math
import re
from typing import Any

import orjson

from saffron.schema.iso_times import parse_iso
from saffron.schema.numbers import LIMIT, number_of, number_of_text, shown

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LONGEST = 400
"""Characters of a number, at most."""

NAMES = {
    "number": "to_number", "double": "to_number", "float": "to_number", "decimal": "to_number", "numeric": "to_number",
    "real": "to_number", "integer": "to_integer", "int": "to_integer", "bigint": "to_integer", "string": "to_string",
    "varchar": "to_string", "text": "to_string", "char": "to_string", "boolean": "to_boolean", "bool": "to_boolean",
    "timestamp": "to_timestamp",
}  # fmt: skip
"""Name of a type behind AS -> the function that CAST is."""
TYPES = {"to_number": "number", "to_integer": "integer", "to_string": "string", "to_boolean": "boolean",
         "to_timestamp": "timestamp"}  # fmt: skip
"""The function that CAST is -> the type's own name."""


def to_number(value: Any) -> int | float | None:
    """A value as a number: the number in a text, without spaces around it; 1 for true, 0 for false."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str) or len(text := value.strip()) > _LONGEST or _NUMBER.fullmatch(text) is None:
        return None
    return number_of_text(text)


def to_integer(value: Any) -> int | None:
    """The whole part of `to_number`, within 64 bits."""
    number = to_number(value)
    if number is None or not abs(number) < LIMIT:
        return None
    return int(number)


def to_string(value: Any) -> str | None:
    """A value as a text: numbers and truth values as results write them."""
    if isinstance(value, str):
        return value
    if not isinstance(value, bool | int | float) or not math.isfinite(value):
        return None
    return orjson.dumps(shown(value)).decode()


def to_boolean(value: Any) -> bool | None:
    """A value as a truth value: of the texts true and false, in any case, and whether a number is not 0."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return bool(value) if isinstance(value, bool | int | float) else None


def to_timestamp(value: Any) -> int | float | None:
    """The ms since 1970 of a number, which they are, or of an ISO 8601 text, in UTC if it has no offset."""
    if isinstance(value, str):
        return parse_iso(value.strip())
    return None if isinstance(value, bool) or not isinstance(value, int | float) else number_of(value)
