"""A result as the API shows it."""

from __future__ import annotations

from typing import Any

from saffron.engine.operators.result_values import read_result, within_64_bits

_MOST_BYTES = 65_536
"""Size in bytes (JSON) above which a result is shown without its events."""


def shown_result(text: bytes) -> dict[str, Any]:
    """The JSON values of a result; without its events if it is too large."""
    result = read_result(text)
    if "return" in result:
        result["return"] = within_64_bits(result["return"])
    if len(text) > _MOST_BYTES:
        return {name: part for name, part in result.items() if name != "events"} | {"bytes": len(text)}
    return result
