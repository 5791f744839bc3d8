"""A function of the language: its row in the table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

from saffron.schema.schema import Kind

_FORM = re.compile(r"(\w+)\((.*)\)")


class Takes(Enum):
    """The kind of an argument."""

    TEXT = "text"
    NUMBER = "number"
    TRUTH = "truth"
    SERIES = "series"
    VALUE = "value"


_TYPES: Mapping[Takes, frozenset[type]] = {
    Takes.TEXT: frozenset({str}),
    Takes.NUMBER: frozenset({int, float}),
    Takes.TRUTH: frozenset({bool}),
    Takes.SERIES: frozenset({str, list}),
    Takes.VALUE: frozenset({str, int, float, bool, list, dict}),
}
"""Python's types of such values."""


@dataclass(frozen=True)
class Function:
    """A function by its form, such as "substring(text, number, [number])".

    In the form stand what the arguments are (`Takes`), or in quotes the name of a literal, which `checks` knows. Those
    in square brackets may be left out; the last may be repeated, if dots follow.
    `gives`: the kind of the value; None: that of the values among which it chooses.
    `meaning`: from Python's values, of which none is null unless the function is not `strict`.
    `kernel`: a function of float64, NaN for null, that kernels compile.
    """

    form: str
    gives: Kind | None
    meaning: Callable[..., Any]
    strict: bool = True
    kernel: Callable[..., float] | None = None
    checks: Mapping[str, Callable[[str], str]] = field(default_factory=dict)

    @cached_property
    def name(self) -> str:
        return self._parsed[0]

    @cached_property
    def takes(self) -> tuple[Takes, ...]:
        """The kind that each argument takes; the last one also stands for all further arguments."""
        return tuple(Takes.TEXT if word in self.checks else Takes(word) for word in self._words)

    @property
    def least(self) -> int:
        """The least number of arguments."""
        return sum(not part.startswith("[") for part in self._parsed[1])

    @property
    def most(self) -> int | None:
        """The greatest number of arguments; None: any number."""
        return None if self.repeats else len(self._parsed[1])

    @property
    def repeats(self) -> bool:
        return bool(self._parsed[1]) and self._parsed[1][-1].endswith("...")

    def literal(self, place: int) -> Callable[[str], str] | None:
        """The check of the literal that an argument must be (its error, or ""); None: it may be any expression."""
        return self.checks.get(self._words[place]) if place < len(self._words) else None

    def taken(self, place: int) -> Takes:
        """The kind of the argument at a place."""
        return self.takes[min(place, len(self.takes) - 1)]

    def of(self, values: Sequence[Any]) -> Any:
        """The value for arguments; None where it has no value."""
        if self.strict:
            types = self._types
            if len(values) > len(types):
                types = types + types[-1:] * (len(values) - len(types))
            for value, taken in zip(values, types, strict=False):
                if type(value) not in taken:
                    return None
        found = self.meaning(*values)
        return None if isinstance(found, float) and not math.isfinite(found) else found

    @cached_property
    def _types(self) -> tuple[frozenset[type], ...]:
        return tuple(_TYPES[takes] for takes in self.takes)

    @cached_property
    def _parsed(self) -> tuple[str, list[str]]:
        found = _FORM.fullmatch(self.form)
        assert found is not None
        return found[1], [part.strip() for part in found[2].split(",") if part.strip()]

    @cached_property
    def _words(self) -> list[str]:
        return [part.strip("[]'.") for part in self._parsed[1]]


def of_floats(form: str, kernel: Callable[..., float]) -> Function:
    """A function of numbers that is defined on float64, NaN for null."""

    def meaning(*values: float) -> float:
        found = kernel(*map(float, values[:2])) if repeated else kernel(*map(float, values))
        for value in values[2:] if repeated else ():
            found = kernel(found, float(value))
        return found

    repeated = "..." in form
    return Function(form, Kind.FLOAT, meaning, kernel=kernel)
