"""Values of expressions of the syntax tree; None is null."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from saffron.language.syntax import tree
from tests.reference.functions import FUNCTIONS

Aggregates = Mapping[str, Callable[[list[Any]], Any]]
"""User-defined aggregates: each from the values of a list that are not null, in order, at least one."""

BUILT_IN = ("count", "sum", "avg", "min", "max", "first", "last", "stddev")


def value(expression: tree.Expression, leaf: Callable[[Any], Any]) -> Any:
    """`leaf` gives the value of a reference, and of an aggregate over one."""
    match expression:
        case tree.Literal(value=literal):
            return literal
        case tree.Reference(steps=steps) | tree.Next(steps=steps):
            return at_steps(leaf(expression), steps)
        case tree.Call(function="length", arguments=(array,)):
            found = value(array, leaf)
            return len(found) if isinstance(found, list | str) else None
        case tree.Call(function="contains", arguments=(array, part)):
            found, wanted = value(array, leaf), value(part, leaf)
            if isinstance(found, str) or wanted is None:
                return wanted in found if isinstance(found, str) and isinstance(wanted, str) else None
            scalars = [one for one in found if not isinstance(one, list | dict)] if isinstance(found, list) else []
            return any(compared("=", one, wanted) for one in scalars) if isinstance(found, list) else None
        case tree.Call(function="nullif", arguments=(one, other)):
            found = value(one, leaf)
            return None if compared("=", found, value(other, leaf)) else found
        case tree.Call(function=function, arguments=arguments):
            if function not in FUNCTIONS or over_lists(arguments):
                return leaf(expression)
            return FUNCTIONS[function](*(value(argument, leaf) for argument in arguments))
        case tree.Name(name="null"):
            return None
        case tree.Prefix(operator="not", operand=operand):
            return value(operand, leaf) is not True
        case tree.Prefix(operand=operand):
            number = _real(value(operand, leaf))
            return None if number is None else -number
        case tree.Logic(operator=operator, operands=operands):
            truths = [value(operand, leaf) is True for operand in operands]
            return all(truths) if operator == "and" else any(truths)
        case tree.Membership(operand=operand, choices=choices):
            found = value(operand, leaf)
            return any(compared("=", found, choice.value) for choice in choices)
        case tree.Operation(operator=operator, left=first, right=second):
            pair = value(first, leaf), value(second, leaf)
            return _arithmetic(operator, *map(_real, pair)) if operator in "+-*/%" else compared(operator, *pair)
    raise ValueError(f"{expression} has no value in a match query")


def over_lists(arguments: Sequence[tree.Expression]) -> bool:
    """Whether a call has several arguments, each over the events of a list."""

    def read(one: tree.Expression) -> list[tree.Index]:
        if isinstance(one, tree.Call) and one.function not in (*FUNCTIONS, "length", "contains", "nullif"):
            return [tree.Index.NONE]  # an aggregate of its own
        mine = [one.index] if isinstance(one, tree.Reference) else []
        return mine + [index for part in tree.operands(one) for index in read(part)]

    lists = (tree.Index.BEFORE, tree.Index.THROUGH, tree.Index.ALL)
    return len(arguments) > 1 and all(found and set(found) <= set(lists) for found in map(read, arguments))


def at_steps(found: Any, steps: Sequence[str | int]) -> Any:
    """What lies in an array: elements by number, from 1, and fields of objects by name."""
    for step in steps:
        if isinstance(step, int):
            found = found[step - 1] if isinstance(found, list) and step <= len(found) else None
        else:
            found = found.get(step) if isinstance(found, dict) else None
    return found


def aggregate(function: str, values: Sequence[Any], own: Aggregates) -> Any:
    """An aggregate over an attribute of a list of events."""
    present = [x for x in values if x is not None]
    if function in ("first", "last"):
        return values[0 if function == "first" else -1] if values else None
    if function == "count":
        return len(present)
    if not values:
        return None
    if function == "sum":
        return sum(present)
    if not present:
        return None
    if function == "stddev":
        return statistics.stdev(present) if len(present) > 1 else None
    known: Aggregates = {"avg": lambda x: sum(x) / len(x), "min": min, "max": max, **own}
    if function not in known:
        raise ValueError(f"unknown function {function}")
    return known[function](present)


def _real(x: Any) -> float | None:
    return None if x is None or isinstance(x, bool | str | list | dict) else float(x)


def _kind(x: Any) -> str:
    return "bool" if isinstance(x, bool) else "text" if isinstance(x, str) else "number"


def compared(operator: str, left: Any, right: Any) -> bool:
    """False between kinds and with null; strings by their bytes; truth values have no order."""
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        return False
    if left is None or right is None or _kind(left) != _kind(right):
        return False
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    if isinstance(left, bool) and operator not in ("=", "!="):
        return False
    answers = {
        "=": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }
    return bool(answers[operator])


def _arithmetic(operator: str, left: float | None, right: float | None) -> float | None:
    if left is None or right is None or (operator in ("/", "%") and right == 0):
        return None
    if operator == "/":
        return left / right
    if operator == "%":
        return math.fmod(left, right)
    return left + right if operator == "+" else left - right if operator == "-" else left * right
