"""Results that are the same, for tests."""

from __future__ import annotations

from typing import Any


def close(left: Any, right: Any) -> bool:
    """Equal, but for the last bits of sums and deviations."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(close(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(close, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return left == right or abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    return bool(left == right)
