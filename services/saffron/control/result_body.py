"""A result as the API shows it."""

from __future__ import annotations

from typing import Any

from saffron.engine.operators.result_values import read_result, within_64_bits

_MOST_BYTES = 65_536
"""Size in bytes (JSON) above which a result is shown without its events."""


def shown_text(text: bytes) -> dict[str, Any]:
    """The JSON values of a result that is given as JSON; without its events if it is too large."""
    return shown_result(read_result(text), len(text))


def shown_result(result: dict[str, Any], size: int) -> dict[str, Any]:
    """The values of a result for the API; without its events if its `size` in bytes is too large."""
    if "return" in result:
        result["return"] = within_64_bits(result["return"])
    if size > _MOST_BYTES:
        return {name: part for name, part in result.items() if name != "events"} | {"bytes": size}
    return result
