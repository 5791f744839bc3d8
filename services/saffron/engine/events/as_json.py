"""Values of other formats as JSON can carry them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any


def as_json(value: Any) -> Any:
    """What orjson does not write by itself: a decimal is a number, bytes and all else are text."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)
