"""A result as the API shows it."""

from __future__ import annotations

import json
from typing import Any

import orjson

_MOST_BYTES = 65_536
"""Size in bytes (JSON) above which a result is shown without its events."""
_DIGITS = 18
"""Up to so many digits, any integer has 64 bits."""


def shown_result(text: bytes) -> dict[str, Any]:
    """The JSON values of a result; without its events if it is too large."""
    result: dict[str, Any]
    try:
        result = orjson.loads(text)
    except orjson.JSONDecodeError:  # a count with EXACT may be beyond every float
        result = json.loads(text, parse_int=_integer)
    if len(text) > _MOST_BYTES:
        return {name: part for name, part in result.items() if name != "events"} | {"bytes": len(text)}
    return result


def _integer(digits: str) -> int | str:
    """An integer, or its digits where it is long."""
    return int(digits) if len(digits) <= _DIGITS else digits
