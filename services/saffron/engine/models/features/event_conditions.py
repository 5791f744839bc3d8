"""Conditions on one event by itself, as data that a model carries as JSON: trees, not text, computed by NumPy.

A number of an event is the name of an attribute, a constant, or an operator with the numbers that it takes. As in
queries (`plan.expressions.Binary`), null is NaN, arithmetic with it is null, and a comparison with null is false.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_PARTS = 32
"""Names, constants and operators of one condition, at most."""

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
OPERATORS = tuple(_COMPARE)
MIRRORED = {"<": ">", "<=": ">=", "=": "=", "!=": "!=", ">": "<", ">=": "<="}
"""Operator -> the equivalent one with its sides exchanged."""


class ConditionError(ValueError):
    """An invalid condition; the message has the reason."""


def _quotient(a: Floats, b: Floats) -> Floats:
    return np.where(b == 0.0, np.nan, a / b)


def _remainder(a: Floats, b: Floats) -> Floats:
    return np.where(b == 0.0, np.nan, np.fmod(a, b))


def _root(a: Floats) -> Floats:
    return np.where(a >= 0.0, np.sqrt(a), np.nan)


_COMPUTE: dict[tuple[str, int], Callable[..., Any]] = {
    ("+", 2): operator.add,
    ("-", 2): operator.sub,
    ("-", 1): operator.neg,
    ("*", 2): operator.mul,
    ("/", 2): _quotient,
    ("%", 2): _remainder,
    ("abs", 1): np.abs,
    ("sqrt", 1): _root,
}


@dataclass(frozen=True)
class Computed:
    """A number computed from one event. `operator`: + - * / % of two operands, - abs sqrt of one."""

    operator: str
    operands: tuple[Number, ...]


Number = str | float | Computed


@dataclass(frozen=True)
class Comparison:
    """A comparison of two numbers of one event, as float64; false if one of them is null."""

    left: Number
    operator: str
    right: Number

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that are read, each once."""
        return tuple(dict.fromkeys(part for part in self._parts() if isinstance(part, str)))

    @property
    def mirrored(self) -> Comparison:
        """The comparison with its sides exchanged, and so with the mirrored operator."""
        return Comparison(self.right, MIRRORED[self.operator], self.left)

    @property
    def wrong(self) -> str:
        """The error of the condition; "" if it is right."""
        if self.operator not in OPERATORS:
            return f"a condition has one of {OPERATORS}"
        parts = list(self._parts())
        if len(parts) > MOST_PARTS:
            return f"a condition has {MOST_PARTS} parts at most"
        known = all((one.operator, len(one.operands)) in _COMPUTE for one in parts if isinstance(one, Computed))
        return "" if known else f"a condition computes with {sorted({name for name, _ in _COMPUTE})}"

    def holds(self, numbers: Callable[[str], Floats]) -> NDArray[np.bool_]:
        """bool [n]: whether the comparison is true; `numbers`: an attribute's values [n], NaN for null."""
        with np.errstate(all="ignore"):
            left, right = (_value(part, numbers) for part in (self.left, self.right))
            true: NDArray[np.bool_] = _COMPARE[self.operator](left, right) & ~(np.isnan(left) | np.isnan(right))
        return true

    def body(self) -> list[Any]:
        """The comparison as JSON, which `of` reads."""
        return [_body(self.left), self.operator, _body(self.right)]

    @classmethod
    def of(cls, body: Any) -> Comparison:
        """The condition whose `body` this is; ConditionError or ValueError if it is none."""
        left, operator, right = body
        return cls(_number(left), str(operator), _number(right))

    def _parts(self) -> Iterator[Number]:
        yield from _parts(self.left)
        yield from _parts(self.right)


def _parts(number: Number) -> Iterator[Number]:
    yield number
    for operand in number.operands if isinstance(number, Computed) else ():
        yield from _parts(operand)


def _value(number: Number, numbers: Callable[[str], Floats]) -> Any:
    if isinstance(number, str):
        return numbers(number)
    if isinstance(number, Computed):
        operands = (_value(operand, numbers) for operand in number.operands)
        return _COMPUTE[number.operator, len(number.operands)](*operands)
    return np.float64(number)


def _body(number: Number) -> Any:
    if isinstance(number, Computed):
        return [number.operator, *(_body(operand) for operand in number.operands)]
    return number


def _number(body: Any, depth: int = 0) -> Number:
    """The number whose `_body` this is. ConditionError: it is none, or is nested deeper than MOST_PARTS.

    `depth`: of the operators around it.
    """
    if depth > MOST_PARTS:
        raise ConditionError(f"a condition has {MOST_PARTS} parts at most")
    if isinstance(body, str):
        return body
    if isinstance(body, int | float) and not isinstance(body, bool):
        return float(body)
    if isinstance(body, list | tuple) and len(body) > 1:
        return Computed(str(body[0]), tuple(_number(operand, depth + 1) for operand in body[1:]))
    raise ConditionError(f"{body!r} is no number of an event")
