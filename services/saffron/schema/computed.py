"""Values that are computed from an array of an event: its length, whether it contains a value, one of its elements.

A plan reads them as attributes, under names that no event can have. Engines add them to the columns of a block.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from saffron.schema.numbers import number_of
from saffron.schema.schema import COMPUTED_MARK, Kind

LENGTH, CONTAINS, ELEMENT = "length", "contains", "element"
FUNCTIONS = (LENGTH, CONTAINS)
"""Those that a query calls by name."""
Step = str | int
"""A field's name, or the number of an element, from 1."""


@dataclass(frozen=True)
class Computed:
    """A value computed from `attribute`, or from what lies at `steps` in it.

    `kind`: of the value; another one is null. Kind ARRAY stands for any JSON value. `value`: what CONTAINS looks for.
    """

    function: str
    attribute: str
    steps: tuple[Step, ...]
    kind: Kind
    value: float | str | bool | None = None

    @property
    def name(self) -> str:
        """The name under which a plan reads it."""
        parts = [self.function, self.attribute, self.steps, self.kind.value, self.value]
        return COMPUTED_MARK + json.dumps(parts, separators=(",", ":"))

    @classmethod
    def of_name(cls, name: str) -> Self | None:
        """What has this name; None if it is an attribute's own."""
        if not name.startswith(f"{COMPUTED_MARK}["):
            return None
        function, attribute, steps, kind, value = json.loads(name.removeprefix(COMPUTED_MARK))
        return cls(function, attribute, tuple(steps), Kind(kind), value)

    def of(self, array: Any) -> Any:
        """The value for the parsed value of the attribute; None for null."""
        found = _at(array, self.steps)
        if self.function == ELEMENT:
            return _of_kind(found, self.kind)
        if not isinstance(found, list):
            return None
        return len(found) if self.function == LENGTH else any(_same(one, self.value) for one in found)


def _at(value: Any, steps: Sequence[Step]) -> Any:
    """What lies at the end of the steps, None if nothing does. A field named as all of the rest counts first."""
    for number, step in enumerate(steps):
        if isinstance(step, int):
            if not isinstance(value, list) or step > len(value):
                return None
            value = value[step - 1]
            continue
        if not isinstance(value, dict):
            return None
        rest = steps[number:]
        if all(isinstance(one, str) for one in rest) and (flat := value.get(".".join(map(str, rest)))) is not None:
            return flat
        value = value.get(step)
    return value


def _of_kind(value: Any, kind: Kind) -> Any:
    """The value if it is of the kind, else None."""
    if kind is Kind.ARRAY:
        return value
    if kind.is_number:
        return number_of(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return value if isinstance(value, str if kind is Kind.STRING else bool) else None


def _same(one: Any, other: float | str | bool | None) -> bool:
    """Whether two values are equal: numbers by their value, and nothing of different kinds."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)
