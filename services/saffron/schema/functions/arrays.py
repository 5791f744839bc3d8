"""Functions of arrays, some of which are of texts too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saffron.schema.functions.operators import compared

Step = str | int
"""A field's name, or the number of an element, from 1."""


def length(value: Any) -> int | None:
    """The number of elements of an array, or of characters of a text."""
    return len(value) if isinstance(value, list | str) else None


def contains(value: Any, part: Any) -> bool | None:
    """True if an element of an array equals the part, or if a text contains it."""
    if isinstance(value, list):
        return any(compared("=", one, part) for one in value)
    return part in value if isinstance(value, str) and isinstance(part, str) else None


def element(value: Any, *steps: Step) -> Any:
    """The value at the end of the steps; None if there is none. A field named by all further steps counts first."""
    for number, step in enumerate(steps):
        if isinstance(step, int):
            if not isinstance(value, list) or step > len(value):
                return None
            value = value[step - 1]
            continue
        if not isinstance(value, dict):
            return None
        if (flat := _flat(value, steps[number:])) is not None:
            return flat
        value = value.get(step)
    return value


def _flat(value: Any, rest: Sequence[Step]) -> Any:
    return value.get(".".join(map(str, rest))) if all(isinstance(one, str) for one in rest) else None
