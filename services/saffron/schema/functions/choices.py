"""Functions that choose among values of any kind; None is null, and none of them is strict."""

from __future__ import annotations

from typing import Any

from saffron.schema.functions.operators import compared


def is_null(value: Any) -> bool:
    return value is None


def coalesce(*values: Any) -> Any:
    """The first value that is not null."""
    return next((value for value in values if value is not None), None)


def nullif(value: Any, other: Any) -> Any:
    """The value; null if it equals the other one."""
    return None if compared("=", value, other) else value


def case(*parts: Any) -> Any:
    """The value after the first true condition in (condition, value, condition, value, ..., otherwise)."""
    for place in range(0, len(parts) - 1, 2):
        if parts[place] is True:
            return parts[place + 1]
    return parts[-1]
