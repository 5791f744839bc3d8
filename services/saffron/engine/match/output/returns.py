"""RETURN items, and any expression of a plan, evaluated on a finished match (`plan.Binary` defines the meaning)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from saffron.engine.operators.aggregates import BUILT_IN, require
from saffron.language.plan.expressions import (
    Aggregate,
    Attribute,
    Binary,
    Call,
    Const,
    Expr,
    GroupValue,
    In,
    Length,
    TrendValue,
    Unary,
    Which,
)
from saffron.schema.computed import applied_to
from saffron.schema.functions.operators import ARITHMETIC, arithmetic, compared, negative, number

Bound = Sequence[Sequence[int]]
"""[component][number]: the events of a match, as whatever `Value` understands."""

Value = Callable[[str, int], Any]
"""(attribute, event) -> int, float, bool, str or None"""

Evaluate = Callable[[Bound], Any]


def evaluator(expr: Expr, value: Value) -> Evaluate:
    """The expression as a function of a match's events; null is None."""
    match expr:
        case Const():
            return lambda _: expr.value
        case Attribute():
            return _attribute(expr, value)
        case Length():
            return lambda bound: len(bound[expr.component])
        case Aggregate():
            return _aggregate(expr, value)
        case Unary():
            operand = evaluator(expr.operand, value)
            if expr.operator == "not":
                return lambda bound: operand(bound) is not True
            return lambda bound: negative(number(operand(bound)))
        case Binary():
            return _binary(expr, value)
        case Call():
            arguments = [evaluator(argument, value) for argument in expr.arguments]
            return lambda bound: applied_to(expr.function, [argument(bound) for argument in arguments])
        case In():
            member = evaluator(expr.operand, value)
            return lambda bound: any(compared("=", member(bound), choice.value) for choice in expr.choices)
        case TrendValue() | GroupValue():
            message = "no match has aggregates over trends"
            raise ValueError(message)


def _attribute(leaf: Attribute, value: Value) -> Evaluate:
    if leaf.which is Which.NTH:
        number, own = leaf.back, leaf.component
        return lambda bound: value(leaf.name, bound[own][number - 1]) if len(bound[own]) >= number else None
    index = 0 if leaf.which in (Which.FIRST, Which.SINGLE) else -1
    return lambda bound: value(leaf.name, bound[leaf.component][index]) if bound[leaf.component] else None


def _aggregate(leaf: Aggregate, value: Value) -> Evaluate:
    """An aggregate as a function of a match's events. An empty list gives 0 for count, null for all others.

    first and last read one event, null or not; the others leave nulls out.
    """
    name, component, function = leaf.name, leaf.component, leaf.function
    if name is None:
        return lambda bound: len(bound[component])
    if function not in BUILT_IN:
        own = require(function)
        return lambda bound: own.fold(x for event in bound[component] if (x := value(name, event)) is not None)
    if function in ("first", "last"):
        end = 0 if function == "first" else -1
        return lambda bound: value(name, bound[component][end]) if bound[component] else None

    def evaluate(bound: Bound) -> Any:
        if not bound[component]:
            return 0 if function == "count" else None
        values = [x for x in (value(name, event) for event in bound[component]) if x is not None]
        return aggregate(function, values)

    return evaluate


def aggregate(function: str, values: Sequence[Any]) -> Any:
    """The count, sum, avg, min, max or stddev (of a sample) of values, computed in order as kernels do.

    The caller has left out nulls. Of no values count and sum are 0, the others null; so is stddev of one value.
    """
    if function == "count":
        return len(values)
    if function in ("min", "max"):
        return None if not values else (min if function == "min" else max)(values)
    total = 0.0
    for x in values:
        total += x
    if function == "sum":
        exact = all(isinstance(x, int) for x in values) and abs(total) < 2**53
        return int(total) if exact and values else total
    if function == "avg":
        return total / len(values) if values else None
    return _deviation(values)


def _deviation(values: Sequence[Any]) -> float | None:
    mean = spread = 0.0
    for count, x in enumerate(values, 1):
        moved = mean + (x - mean) / count
        spread += (x - mean) * (x - moved)
        mean = moved
    return math.sqrt(spread / (len(values) - 1)) if len(values) > 1 else None


def _binary(expr: Binary, value: Value) -> Evaluate:
    """A binary operation as a function of a match's events. For "and" and "or" anything but true is false."""
    left, right = evaluator(expr.left, value), evaluator(expr.right, value)
    operator = expr.operator
    if operator == "and":
        return lambda bound: left(bound) is True and right(bound) is True
    if operator == "or":
        return lambda bound: left(bound) is True or right(bound) is True
    if operator in ARITHMETIC:
        return lambda bound: arithmetic(operator, number(left(bound)), number(right(bound)))
    return lambda bound: compared(operator, left(bound), right(bound))
