"""Expressions over the aggregates of a result, computed with fractions, or with decimals where numbers are huge."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal, DecimalException
from fractions import Fraction
from typing import Any

from saffron.language.plan.expressions import Binary, Call, Const, Expr, In, Unary
from saffron.schema.computed import applied_to
from saffron.schema.functions.built_in import CHOICES
from saffron.schema.numbers import LIMIT

Leaf = Callable[[Expr], Any]
Number = type[Fraction] | type[Decimal]


def computed(expr: Expr, leaf: Leaf, number: Number) -> Any:
    """The expression's value; None is null. `leaf`: of TrendValue and GroupValue; `number`: what all numbers are."""

    def inner(one: Expr) -> Any:
        return computed(one, leaf, number)

    match expr:
        case Const(value=value):
            return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
        case Unary(operator="not", operand=operand):
            return inner(operand) is not True
        case Unary(operand=operand):
            value = inner(operand)
            return -value if _is_number(value) else None
        case Binary(operator="and", left=left, right=right):
            return inner(left) is True and inner(right) is True
        case Binary(operator="or", left=left, right=right):
            return inner(left) is True or inner(right) is True
        case Binary(operator=operator, left=left, right=right) if operator in "+-*/%":
            return _arithmetic(operator, inner(left), inner(right))
        case Binary(operator=operator, left=left, right=right):
            return _compared(operator, inner(left), inner(right))
        case In(operand=operand, choices=choices):
            value = inner(operand)
            return any(_compared("=", value, inner(choice)) for choice in choices)
        case Call(function=function, arguments=arguments):
            return _called(function, [inner(argument) for argument in arguments], number)
    return leaf(expr)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Fraction | Decimal) and not isinstance(value, bool)


def _arithmetic(operator: str, a: Any, b: Any) -> Any:
    """The result of + - * / % on two values; None for null, for what is no number, and for a division by 0.

    A remainder has the sign of the dividend. One of decimals is None where its quotient has too many digits.
    """
    if not _is_number(a) or not _is_number(b) or (operator in "/%" and b == 0):
        return None
    if operator == "+":
        return a + b
    if operator == "-":
        return a - b
    if operator == "*":
        return a * b
    if operator == "/":
        return a / b
    if isinstance(a, Fraction):
        return a - b * math.trunc(a / b)
    try:
        return a % b
    except DecimalException:
        return None  # the quotient has more digits than are computed: the floor is unknown


def _compared(operator: str, a: Any, b: Any) -> bool:
    """True if a comparison holds. It is false for null, between kinds, and for an order of truth values."""
    if a is None or b is None or _is_number(a) is not _is_number(b) or isinstance(a, bool) is not isinstance(b, bool):
        return False
    if operator == "=":
        return bool(a == b)
    if operator == "!=":
        return bool(a != b)
    if isinstance(a, bool):
        return False
    if operator in ("<", "<="):
        return bool(a < b) or (operator == "<=" and bool(a == b))
    return bool(a > b) or (operator == ">=" and bool(a == b))


def _called(function: str, values: list[Any], number: Number) -> Any:
    """A function of values. Numbers beyond float64 have a value where the function is exact for them."""
    if function in _EXACT and len(values) == 1:
        return number(_EXACT[function](values[0])) if _is_number(values[0]) else None
    if function in ("least", "greatest"):
        if not all(map(_is_number, values)):
            return None
        return min(values) if function == "least" else max(values)
    if function == "sqrt":
        return _root(values[0], number) if _is_number(values[0]) else None
    if function == "nullif":
        return None if _compared("=", *values) else values[0]
    if function in CHOICES:
        return applied_to(function, values)
    try:
        found = applied_to(function, [_plain(value) for value in values])
    except OverflowError:
        return None
    return number(found) if _is_number(found) else found


def _sign(value: Any) -> int:
    return 1 if value > 0 else -1 if value < 0 else 0


_EXACT: Mapping[str, Callable[[Any], Any]] = {
    "abs": abs, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "sign": _sign,
}  # fmt: skip


def _plain(value: Any) -> Any:
    """A value as functions take it. OverflowError: a number beyond float64."""
    if not isinstance(value, Fraction | Decimal):
        return value
    whole = int(value)
    return whole if value == whole and abs(whole) < LIMIT else float(value)


def _root(value: Any, number: Number) -> Any:
    if value < 0:
        return None
    if number is Decimal:
        return value.sqrt()
    try:
        return Fraction(math.sqrt(value))
    except OverflowError:
        return Fraction(math.isqrt(math.trunc(value)))
