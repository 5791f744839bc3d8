"""INTO (N11): the attributes of the events that a query's results become, and checks of them.

An attribute has one kind throughout a stream, whatever the event type, so the values of RETURN must have it too.
"""

from __future__ import annotations

from collections.abc import Mapping

from saffron.carets import quoted
from saffron.language.plan.clauses import Output, ReturnItem
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
)
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.scope.scope import Scope
from saffron.language.syntax import tree
from saffron.schema.computed import Computed
from saffron.schema.numbers import kind_of_number, number_of
from saffron.schema.schema import Kind, widened

_OWN = ("seq", "ts", "type")
"""Fields of every event, which no attribute may be named after."""
_WORDS = dict.fromkeys(Kind, "a number") | {Kind.STRING: "a string", Kind.BOOL: "a truth value", Kind.ARRAY: "an array"}


def attributes_of(made: MatchPlan) -> Mapping[str, Kind]:
    """Attribute -> kind, of the events that a query's results become."""
    return {item.name: kind_of(item.expr) for item in made.returns}


def kind_of(expr: Expr) -> Kind:
    """The kind of an expression's values; null has kind FLOAT."""
    match expr:
        case Const(value=bool()) | In():
            return Kind.BOOL
        case Const(value=value):
            if isinstance(value, str) or value is None:
                return Kind.FLOAT if value is None else Kind.STRING
            number = number_of(value)
            return Kind.FLOAT if number is None else kind_of_number(number)
        case Attribute() | TrendValue() | GroupValue() | Call():
            return expr.kind
        case Length():
            return Kind.INT
        case Aggregate(function="count"):
            return Kind.INT
        case Aggregate(function="min" | "max" | "first" | "last"):
            return Kind.FLOAT if expr.kind is None else expr.kind
        case Unary(operator="not"):
            return Kind.BOOL
        case Binary(operator=operator) if operator not in ("+", "-", "*", "/", "%"):
            return Kind.BOOL
    return Kind.FLOAT


def is_open_element(expr: Expr) -> bool:
    """True if an expression is an element of an array that is read as whatever it is."""
    one = Computed.of_name(expr.name) if isinstance(expr, Attribute) else None
    return one is not None and one.kind is Kind.ARRAY


def check_into(query: tree.Query, items: tuple[ReturnItem, ...], scope: Scope) -> None:
    """Raise QueryError if the results cannot be events of the type after INTO. `items`: RETURN, bound."""
    returns, output = query.returns, query.output
    if returns is None or returns.into is None:
        return
    if output is not None and output.mode == Output.COMPRESSED.value:
        hint = "Leave COMPRESSED out: each match becomes an event, with the values of RETURN."
        raise scope.plan_error("a result that stands for many matches is no event to other queries", output.span, hint)
    scope.check_type_name(returns.into, returns.into_span)
    schema = scope.schema
    if schema is not None and returns.into in schema.types and returns.into not in schema.derived:
        hint = "Results are events of a type of their own: choose another name."
        raise scope.plan_error(f"the stream itself has events of type {quoted(returns.into)}", returns.into_span, hint)
    for item, bound in zip(returns.items, items, strict=True):
        if bound.name in _OWN:
            hint = f"Every event has a {bound.name} of its own: name this one otherwise, ... AS name."
            raise scope.schema_error(f"an attribute cannot be called {quoted(bound.name)}", item.span, hint)
        if is_open_element(bound.expr):
            hint = "An attribute has one kind: return the whole array, or a number such as a.x[1] + 0."
            raise scope.schema_error("an element of an array may be of any kind", item.span, hint)
        known = None if schema is None else schema.kinds.get(bound.name)
        kind = kind_of(bound.expr)
        if known is not None and widened(known, kind) is None:
            hint = "An attribute has one kind throughout a stream: name this one otherwise, ... AS name."
            message = f"{quoted(bound.name)} is {_WORDS[known]} in the stream, and {_WORDS[kind]} here"
            raise scope.schema_error(message, item.span, hint)
