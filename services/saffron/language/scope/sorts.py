"""Types of expressions: the type check's knowledge of a bound expression's value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.language.plan.expressions import Expr
from saffron.schema.schema import Kind


class Sort(Enum):
    """The type of an expression's value. UNKNOWN (null, or any attribute without a schema) fits everywhere."""

    NUMBER = "a number"
    STRING = "a string"
    BOOLEAN = "true or false"
    ARRAY = "an array"
    UNKNOWN = "unknown"

    @property
    def noun(self) -> str:
        """The noun for messages."""
        return "a truth value" if self is Sort.BOOLEAN else self.value


@dataclass(frozen=True)
class Typed:
    """A bound expression and the type of its value."""

    expr: Expr
    sort: Sort


SORTS = {kind: Sort.NUMBER for kind in Kind if kind.is_number} | {
    Kind.BOOL: Sort.BOOLEAN,
    Kind.STRING: Sort.STRING,
    Kind.ARRAY: Sort.ARRAY,
    Kind.NULL: Sort.UNKNOWN,
}
OF_ELEMENT = {
    Sort.STRING: Kind.STRING,
    Sort.BOOLEAN: Kind.BOOL,
    Sort.NUMBER: Kind.NUMBER,
    Sort.ARRAY: Kind.ARRAY,
}
"""Type -> the kind as which an element of an array is read."""
GUESS = {Sort.STRING: Kind.STRING, Sort.BOOLEAN: Kind.BOOL}
"""Type -> the kind assumed for an attribute that is compared with such a value, without a schema."""


def literal_sort(value: float | str | bool) -> Sort:
    """The type of a literal."""
    if isinstance(value, bool):
        return Sort.BOOLEAN
    return Sort.STRING if isinstance(value, str) else Sort.NUMBER
