"""Texts of a plan's expressions and windows in the query language, for explanations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from saffron.durations import duration
from saffron.language.plan.clauses import Window
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
    Scope,
    TrendValue,
    Unary,
    Which,
)
from saffron.language.plan.pairs import rest_of_name
from saffron.language.plan.trend_plan import TrendAggregate, TrendPlan
from saffron.language.syntax import tree
from saffron.language.syntax.expression_printer import expression_text
from saffron.language.syntax.parsing.expressions import AND
from saffron.language.syntax.paths import attribute_text
from saffron.schema.computed import ELEMENT, Applied, Computed, Constant, Read, Tree, where_true
from saffron.schema.functions.operators import ARITHMETIC, COMPARISONS
from saffron.schema.table_names import Lookup

INDEX = {
    Which.SINGLE: tree.Index.NONE,
    Which.CURRENT: tree.Index.CURRENT,
    Which.PREVIOUS: tree.Index.PREVIOUS,
    Which.FIRST: tree.Index.FIRST,
    Which.NTH: tree.Index.NTH,
    Which.LAST: tree.Index.LAST,
}
SCOPE = {
    Scope.BEFORE: tree.Index.BEFORE,
    Scope.THROUGH: tree.Index.THROUGH,
    Scope.CLOSED: tree.Index.ALL,
}


def formula(expr: Expr, names: Sequence[str], *, conjunct: bool = False, trends: TrendPlan | None = None) -> str:
    """The text of an expression. `names[c]`: the variable of component c. `conjunct`: in brackets where AND needs them.

    `trends`: the plan whose aggregates and group attributes the expression reads, if it reads any.
    """
    return expression_text(_written(expr, names, trends), AND + 1 if conjunct else 1)


def _written(expr: Expr, names: Sequence[str], trends: TrendPlan | None) -> tree.Expression:
    """The syntax tree of an expression, as `formula` prints it."""
    match expr:
        case Const(value=value):
            return tree.Name("null") if value is None else tree.Literal(value)
        case Attribute(name=name) if (whole := rest_of_name(name)) is not None:
            return tree.Call("rest", (_written(replace(expr, name=whole), names, trends),))
        case Attribute(name=name) if (one := Computed.of_name(name)) is not None:
            return _computed(one.tree, lambda attribute: _written(replace(expr, name=attribute), names, trends))
        case Aggregate(function=function, component=component, scope=scope, name=str() as name):
            return _aggregate(function, name, names[component], SCOPE[scope])
        case Attribute(component=component, which=Which.ADJACENT, name=name):
            return tree.Next(names[component], name)
        case Attribute(component=component, which=which, name=name, back=back):
            return tree.Reference(names[component], INDEX[which], name, back)
        case Aggregate(function=function, component=component, scope=scope, name=name):
            return tree.Call(function, (tree.Reference(names[component], SCOPE[scope], name),))
        case Length(component=component):
            return tree.Reference(names[component], tree.Index.NONE, "len")
        case Unary(operator=operator, operand=operand):
            return tree.Prefix(operator, _written(operand, names, trends))
        case Binary(operator=("and" | "or") as operator):
            # A comparison of elements of arrays stands once for each kind, and all are written alike.
            operands = tuple(dict.fromkeys(_written(part, names, trends) for part in _row(expr, operator)))
            return operands[0] if len(operands) == 1 else tree.Logic(operator, operands)
        case Binary(operator=operator, left=left, right=right):
            return tree.Operation(operator, _written(left, names, trends), _written(right, names, trends))
        case Call(function=function, arguments=arguments):
            return tree.Call(function, tuple(_written(argument, names, trends) for argument in arguments))
        case In(operand=operand, choices=choices):
            literals = tuple(tree.Literal(choice.value) for choice in choices if choice.value is not None)
            return tree.Membership(_written(operand, names, trends), literals)
        case TrendValue(index=index):
            assert trends is not None
            return aggregate_call(trends.aggregates[index], names)
        case GroupValue(index=index):
            assert trends is not None
            one = Computed.of_name(trends.group[index])
            return tree.Name(trends.group[index]) if one is None else _computed(one.tree, _path)


def attribute_shown(name: str) -> str:
    """An attribute as results name it: a computed one by its text, as in lower(user); a look-up as ip IN blocked."""
    if (look := Lookup.of_name(name)) is not None:
        return look.shown
    one = Computed.of_name(name)
    return name if one is None else expression_text(_computed(one.tree, _path))


def attribute_written(name: str) -> str:
    """An attribute as a query writes it, also a computed one."""
    return attribute_text(name) if Computed.of_name(name) is None else attribute_shown(name)


def _path(attribute: str) -> tree.Expression:
    """An attribute without a variable."""
    return tree.Reference(attribute, tree.Index.NONE, None)


def _computed(one: Tree, leaf: Callable[[str], tree.Expression]) -> tree.Expression:
    """A computed value. `leaf`: an attribute of its event."""
    match one:
        case Read(attribute=attribute):
            return leaf(attribute)
        case Constant(value=value):
            return tree.Name("null") if value is None else tree.Literal(value)
        case Applied(function=function, arguments=arguments) if function == ELEMENT:
            array, *steps = arguments
            return _element(_computed(array, leaf), tuple(step.value for step in steps if isinstance(step, Constant)))
    parts = tuple(_computed(argument, leaf) for argument in one.arguments)
    match one.function, parts:
        case "and" | "or", _:
            row = (part.operands if isinstance(part, tree.Logic) and part.operator == one.function else (part,)
                   for part in parts)  # fmt: skip
            return tree.Logic(one.function, tuple(dict.fromkeys(operand for operands in row for operand in operands)))
        case "not" | "negate", (operand,):
            return tree.Prefix("-" if one.function == "negate" else "not", operand)
        case "in", (operand, *choices):
            return tree.Membership(operand, tuple(one for one in choices if isinstance(one, tree.Literal)))
        case operator, (left, right) if operator in (*ARITHMETIC, *COMPARISONS):
            return tree.Operation(operator, left, right)
    return tree.Call(one.function, parts)


def _element(array: tree.Expression, steps: tuple[Any, ...]) -> tree.Expression:
    """An element of an array."""
    assert isinstance(array, tree.Reference | tree.Next)
    return replace(array, steps=steps)


def aggregate_call(aggregate: TrendAggregate, names: Sequence[str]) -> tree.Call:
    """The call of an aggregate over trends: COUNT(*), COUNT(A), SUM(A.x), ..."""
    argument: tree.Expression
    if aggregate.component is None:
        argument = tree.Star()
    elif aggregate.attribute is None:
        argument = tree.Name(names[aggregate.component])
    else:
        variable = names[aggregate.component]
        return _aggregate(aggregate.function, aggregate.attribute, variable, tree.Index.NONE)
    return tree.Call(aggregate.function, (argument,))


def _aggregate(function: str, name: str, variable: str, index: tree.Index) -> tree.Call:
    """The call of an aggregate over values of the events of a variable; `count` of a condition as it was written."""
    one = Computed.of_name(name)
    value = Read(name) if one is None else one.tree
    if isinstance(value, Applied) and function == "count" and value == where_true(value.arguments[0]):
        value = value.arguments[0]
    return tree.Call(function, (_computed(value, lambda attribute: tree.Reference(variable, index, attribute)),))


def _row(expr: Expr, operator: str) -> list[Expr]:
    """The operands of a row of ANDs, or of ORs, in order."""
    if isinstance(expr, Binary) and expr.operator == operator:
        return _row(expr.left, operator) + _row(expr.right, operator)
    return [expr]


def amount(window: Window, size: int) -> str:
    """A size or slide of a window: `1 hour`, `500 events`."""
    if window.events:
        return "1 event" if size == 1 else f"{size} events"
    return duration(size)


def window_line(window: Window, *, trends: bool) -> str:
    """The condition of the window on a match, or on a trend, in one line."""
    size = amount(window, window.size)
    if window.opens is not None:
        where = "" if window.opens.expr is None else f" where {formula(window.opens.expr, [window.opens.type])}"
        return f"{size} from each {window.opens.type}{where}"
    if window.slide is not None:
        if window.slide == window.size:
            return f"{size}, one after the other"
        return f"{size}, one every {amount(window, window.slide)}"
    assert not trends
    return f"last.seq - first.seq < {window.size}" if window.events else f"last.ts - first.ts <= {size}"
