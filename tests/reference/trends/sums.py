"""Aggregates over trends, and what RETURN and HAVING compute with them: integers and fractions, nothing rounded."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from typing import Any

from saffron.language.syntax import tree
from tests.reference.functions import FUNCTIONS as FUNCTIONS_OF_VALUES
from tests.reference.match.conditions import formula_value, references
from tests.reference.match.events import Event
from tests.reference.match.shape import Pattern
from tests.reference.match.values import compared
from tests.reference.trends.asked import FUNCTIONS
from tests.reference.trends.windows import Trend

_ARITHMETIC: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def aggregate(call: tree.Call, pattern: Pattern, trends: Collection[Trend]) -> Any:
    """COUNT(*), COUNT(E), or MIN, MAX, SUM, AVG, COUNT of E.x: null is skipped."""
    (argument,) = call.arguments
    if isinstance(argument, tree.Star):
        return len(trends)
    if isinstance(argument, tree.Name):
        number = pattern.leaf(argument.name).number
        return sum(leaf == number for trend in trends for leaf, _ in trend)
    number = pattern.leaf(next(references(argument)).variable).number
    given = [_given(argument, event) for trend in trends for leaf, event in trend if leaf == number]
    present = [Fraction(x) for x in given if x is not None]
    if call.function == "count":
        return len(present)
    if call.function == "sum":
        return sum(present, Fraction(0))
    if not present:
        return None
    if call.function == "avg":
        return sum(present, Fraction(0)) / len(present)
    return {"min": min, "max": max}[call.function](present)


def _given(argument: tree.Expression, event: Event) -> Any:
    """E.x of an event, or the value of a formula over it."""
    if isinstance(argument, tree.Reference):
        return event.get(str(argument.attribute))
    return formula_value(argument, event)


def computed(expression: tree.Expression, known: Callable[[tree.Expression], Any]) -> Any:
    """`known`: the value of an aggregate or of a group attribute."""

    def inner(one: tree.Expression) -> Any:
        return computed(one, known)

    match expression:
        case tree.Name(name="null"):
            return None
        case tree.Literal(value=literal):
            return literal if isinstance(literal, str | bool) else Fraction(literal)
        case tree.Prefix(operator="not", operand=operand):
            return inner(operand) is not True
        case tree.Prefix(operand=operand):
            return None if inner(operand) is None else -inner(operand)
        case tree.Logic(operator="and", operands=operands):
            return all(inner(one) is True for one in operands)
        case tree.Logic(operands=operands):
            return any(inner(one) is True for one in operands)
        case tree.Membership(operand=operand, choices=choices):
            return any(compared("=", inner(operand), inner(choice)) for choice in choices)
        case tree.Operation(operator=sign, left=left, right=right):
            return _operation(sign, inner(left), inner(right))
        case tree.Call(function=function, arguments=arguments) if function not in FUNCTIONS or len(arguments) > 1:
            return _called(function, [inner(argument) for argument in arguments])
    return known(expression)


def _operation(sign: str, left: Any, right: Any) -> Any:
    if sign not in "+-*/%":
        return compared(sign, left, right)
    if left is None or right is None or (sign in "/%" and right == 0):
        return None
    if sign == "%":
        return left - right * math.trunc(Fraction(left) / right)
    return _ARITHMETIC[sign](Fraction(left), Fraction(right))


def _called(function: str, values: list[Any]) -> Any:
    if function in ("coalesce", "case", "is_null"):
        return FUNCTIONS_OF_VALUES[function](*values)
    if None in values:
        return None
    if function in ("floor", "ceil"):
        return Fraction(math.floor(values[0]) if function == "floor" else math.ceil(values[0]))
    if function == "sqrt":
        return Fraction(math.sqrt(values[0])) if values[0] >= 0 else None
    return {"abs": lambda: abs(values[0]), "least": lambda: min(values), "greatest": lambda: max(values)}[function]()
