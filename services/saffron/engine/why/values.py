"""Expressions over bindings: references are replaced by values, and evaluated as RETURN's are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from saffron.engine.match.output.returns import aggregate, evaluator
from saffron.engine.operators.aggregates import BUILT_IN, require
from saffron.engine.why.bindings import Bound, Event
from saffron.language.plan.expressions import (
    Aggregate,
    Attribute,
    Binary,
    Call,
    Const,
    Expr,
    In,
    Length,
    Scope,
    Unary,
    Which,
)
from saffron.language.plan.formulas import formula
from saffron.schema.computed import Computed
from saffron.schema.functions.operators import COMPARISONS
from saffron.schema.numbers import shown as shown_number

Lists = Mapping[int, Sequence[Bound]]
"""Component -> its bound events."""
At = Mapping[int, int]
"""Component -> the place of its event that is being taken (v[i])."""


def settled(expr: Expr, lists: Lists, at: At) -> Expr:
    """The expression with every reference replaced by its value."""
    match expr:
        case Attribute():
            return Const(_attribute(expr, lists[expr.component], at))
        case Aggregate():
            return Const(_aggregate(expr, lists[expr.component], at))
        case Length():
            return Const(len(lists[expr.component]))
        case Unary():
            return Unary(expr.operator, settled(expr.operand, lists, at))
        case Binary():
            return Binary(expr.operator, settled(expr.left, lists, at), settled(expr.right, lists, at))
        case Call():
            return replace(expr, arguments=tuple(settled(argument, lists, at) for argument in expr.arguments))
        case In():
            return In(settled(expr.operand, lists, at), expr.choices)
    return expr


def value(expr: Expr) -> Any:
    """The value of a settled expression."""
    return evaluator(expr, _nothing)(())


def shown(expr: Expr) -> str:
    """A settled condition for people: both sides of a comparison as values, any other form with values put in."""
    if isinstance(expr, Binary) and expr.operator in COMPARISONS:
        return f"{_text(value(expr.left))} {expr.operator} {_text(value(expr.right))}"
    return formula(_rounded(expr), ())


def _attribute(leaf: Attribute, bound: Sequence[Bound], at: At) -> Any:
    """The value of an attribute of one event of a component; None for null.

    `bound`: the events of the component; the caller knows that the event is among them.
    """
    match leaf.which:
        case Which.SINGLE | Which.FIRST:
            place = 0
        case Which.NTH:
            place = leaf.back - 1
        case Which.LAST:
            place = len(bound) - 1
        case _:
            place = at[leaf.component] - leaf.back
    return read(bound[place].event, leaf.name)


def read(event: Event, name: str) -> Any:
    """An attribute of an event, or a value computed from one."""
    one = Computed.of_name(name)
    return event.get(name) if one is None else one.of(event.get)


def _aggregate(leaf: Aggregate, bound: Sequence[Bound], at: At) -> Any:
    """The value of an aggregate over those of a component's events that are in its scope; None for null.

    AggregateError: a user's function failed.
    """
    chosen = bound if leaf.scope is Scope.CLOSED else bound[: at[leaf.component] + (leaf.scope is Scope.THROUGH)]
    if leaf.name is None:
        return len(chosen)
    values = [read(one.event, leaf.name) for one in chosen]
    if leaf.function in ("first", "last"):
        return values[0 if leaf.function == "first" else -1] if values else None
    if not values and leaf.function != "count":
        return None
    present = [x for x in values if x is not None]
    return aggregate(leaf.function, present) if leaf.function in BUILT_IN else require(leaf.function).fold(present)


def _rounded(expr: Expr) -> Expr:
    """Floats at six digits."""
    match expr:
        case Const(value=float() as number):
            return Const(float(f"{number:.6g}"))
        case Unary():
            return Unary(expr.operator, _rounded(expr.operand))
        case Binary():
            return Binary(expr.operator, _rounded(expr.left), _rounded(expr.right))
        case Call():
            return replace(expr, arguments=tuple(map(_rounded, expr.arguments)))
        case In():
            return In(_rounded(expr.operand), expr.choices)
    return expr


def _text(found: Any) -> str:
    if found is None:
        return "null"
    if isinstance(found, bool):
        return "true" if found else "false"
    found = shown_number(found)
    return f"{found:.6g}" if isinstance(found, float) else f"'{found}'" if isinstance(found, str) else str(found)


def _nothing(name: str, event: int) -> Any:
    raise AssertionError(f"a settled expression reads nothing, and this one {name} of {event}")
