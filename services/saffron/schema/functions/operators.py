"""The operators of the language over Python's values; None is null."""

from __future__ import annotations

import math
from typing import Any

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
ARITHMETIC = ("+", "-", "*", "/", "%")


def number(value: Any) -> float | None:
    """The value as float64; None if it is no number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value)


def negative(a: float | None) -> float | None:
    """The negative of a."""
    return None if a is None else -a


def arithmetic(operator: str, a: float | None, b: float | None) -> float | None:
    """The value of a operator b in float64; null where there is no such number."""
    if a is None or b is None:
        return None
    if operator in ("/", "%"):
        if b == 0.0 or (operator == "%" and math.isinf(a)):
            return None
        return a / b if operator == "/" else math.fmod(a, b)
    result = a + b if operator == "+" else a - b if operator == "-" else a * b
    return None if math.isnan(result) else result


def compared(operator: str, a: Any, b: Any) -> bool:
    """The truth of a operator b: exact between numbers; False with null, between kinds, and for an order of truth
    values.
    """
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    if isinstance(a, bool) or isinstance(b, bool):
        numbers = False
    if not numbers and (type(a) is not type(b) or not isinstance(a, str | bool)):
        return False
    if isinstance(a, bool) and operator not in ("=", "!="):
        return False
    return bool(
        a == b
        if operator == "="
        else a != b
        if operator == "!="
        else a < b
        if operator == "<"
        else a <= b
        if operator == "<="
        else a > b
        if operator == ">"
        else a >= b
    )


def applied(operator: str, values: list[Any]) -> Any:
    """An operator of a computed value: those of the language, "and", "or", "not", "negate", "in"."""
    match operator:
        case "and":
            return all(value is True for value in values)
        case "or":
            return any(value is True for value in values)
        case "not":
            return values[0] is not True
        case "negate":
            return negative(number(values[0]))
        case "in":
            return any(compared("=", values[0], choice) for choice in values[1:])
    if operator in COMPARISONS:
        return compared(operator, values[0], values[1])
    return arithmetic(operator, number(values[0]), number(values[1]))


OPERATORS = frozenset({*COMPARISONS, *ARITHMETIC, "and", "or", "not", "negate", "in"})
"""The operators of `applied`."""
