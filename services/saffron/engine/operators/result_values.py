"""The values of a result, read from its JSON; counts and sums with EXACT are integers of any size."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import orjson

from saffron.schema.numbers import LIMIT, digits

_BEYOND_64_BITS = re.compile(rb"[0-9]{20}")


def read_result(text: bytes) -> dict[str, Any]:
    """The JSON values of a result. Raises json.JSONDecodeError where the text is no JSON."""
    if b'"exact":' not in text or _BEYOND_64_BITS.search(text) is None:
        found: dict[str, Any] = orjson.loads(text)
        return found
    read: dict[str, Any] = json.loads(text, parse_int=lambda written: int(Decimal(written)))  # int() takes 4,300 digits
    return read


def within_64_bits(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of RETURN for readers whose integers have 64 bits: longer ones are decimal strings."""
    return {name: digits(value) if _is_long(value) else value for name, value in values.items()}


def _is_long(value: Any) -> bool:
    return isinstance(value, int) and not -LIMIT <= value < LIMIT
