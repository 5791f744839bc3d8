"""Texts of a plan's expressions and windows in the query language, for explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from saffron.language.plan import plan
from saffron.language.plan.event_formulas import COUNTED, formula_of_name
from saffron.language.plan.pairs import rest_of_name
from saffron.language.plan.plan import Which
from saffron.language.syntax import tree
from saffron.language.syntax.durations import duration
from saffron.language.syntax.expressions import AND
from saffron.language.syntax.printer import expression_text
from saffron.schema.computed import ELEMENT, Computed

INDEX = {
    Which.SINGLE: tree.Index.NONE,
    Which.CURRENT: tree.Index.CURRENT,
    Which.PREVIOUS: tree.Index.PREVIOUS,
    Which.FIRST: tree.Index.FIRST,
    Which.NTH: tree.Index.NTH,
    Which.LAST: tree.Index.LAST,
}
SCOPE = {
    plan.Scope.BEFORE: tree.Index.BEFORE,
    plan.Scope.THROUGH: tree.Index.THROUGH,
    plan.Scope.CLOSED: tree.Index.ALL,
}


def formula(
    expr: plan.Expr, names: Sequence[str], *, conjunct: bool = False, trends: plan.TrendPlan | None = None
) -> str:
    """The text of an expression. `names[c]`: the variable of component c. `conjunct`: in brackets where AND needs them.

    `trends`: the plan whose aggregates and group attributes the expression reads, if it reads any.
    """
    return expression_text(_Writer(names, trends).written(expr), AND + 1 if conjunct else 1)


@dataclass(frozen=True)
class _Writer:
    """The writer of expressions as syntax trees. `names`, `trends`: see `formula`.

    `index`: of all references of a formula, over whose events an aggregate runs; None elsewhere.
    """

    names: Sequence[str]
    trends: plan.TrendPlan | None = None
    index: tree.Index | None = None

    def written(self, expr: plan.Expr) -> tree.Expression:
        """The syntax tree of an expression."""
        match expr:
            case plan.Const(value=value):
                return tree.Name("null") if value is None else tree.Literal(value)
            case plan.Attribute(name=name) if (whole := rest_of_name(name)) is not None:
                return tree.Call("rest", (self.written(replace(expr, name=whole)),))
            case plan.Aggregate(function=function, component=component, scope=scope, name=str() as name) if (
                inner := formula_of_name(name)
            ) is not None:
                return tree.Call(function, (_of_event(inner, self.names[component], SCOPE[scope]),))
            case plan.Attribute(name=name) | plan.Aggregate(name=str() as name) if (
                one := Computed.of_name(name)
            ) is not None:
                return _computed(self.written(replace(expr, name=one.attribute)), one)
            case plan.Attribute(component=component, which=Which.ADJACENT, name=name):
                return tree.Next(self.names[component], name)
            case plan.Attribute(component=component, which=which, name=name, back=back):
                return tree.Reference(self.names[component], self.index or INDEX[which], name, back)
            case plan.Aggregate(function=function, component=component, scope=scope, name=name):
                return tree.Call(function, (tree.Reference(self.names[component], SCOPE[scope], name),))
            case plan.Length(component=component):
                return tree.Reference(self.names[component], tree.Index.NONE, "len")
            case plan.Unary(operator=operator, operand=operand):
                return tree.Prefix(operator, self.written(operand))
            case plan.Binary(operator=("and" | "or") as operator):
                # A comparison of elements of arrays stands once for each kind, and all are written alike.
                operands = tuple(dict.fromkeys(self.written(part) for part in _row(expr, operator)))
                return operands[0] if len(operands) == 1 else tree.Logic(operator, operands)
            case plan.Binary(operator=operator, left=left, right=right):
                return tree.Operation(operator, self.written(left), self.written(right))
            case plan.Call(function=function, arguments=arguments) if function in plan.JOINS:
                calls = [self.written(one) for one in arguments]
                lists = tuple(one.arguments[0] if isinstance(one, tree.Call) else one for one in calls)
                name = plan.JOINS[function]
                return tree.Call({"min": "least", "max": "greatest"}.get(name, name), lists)
            case plan.Call(function=function, arguments=arguments):
                return tree.Call(function, tuple(self.written(argument) for argument in arguments))
            case plan.In(operand=operand, choices=choices):
                literals = tuple(tree.Literal(choice.value) for choice in choices if choice.value is not None)
                return tree.Membership(self.written(operand), literals)
            case plan.TrendValue(index=index):
                assert self.trends is not None
                return aggregate_call(self.trends.aggregates[index], self.names)
            case plan.GroupValue(index=index):
                assert self.trends is not None
                return tree.Name(self.trends.group[index])


def _of_event(expr: plan.Expr, variable: str, index: tree.Index) -> tree.Expression:
    """A formula of one event, with references to the events of a variable."""
    if isinstance(expr, plan.Call) and expr.function == COUNTED:
        return _of_event(expr.arguments[0], variable, index)
    return _Writer((variable,), index=index).written(expr)


def _computed(array: tree.Expression, one: Computed) -> tree.Expression:
    """A computed value of an array, or of the one that is the argument of an aggregate."""
    if isinstance(array, tree.Call):
        return replace(array, arguments=tuple(_computed(argument, one) for argument in array.arguments))
    assert isinstance(array, tree.Reference | tree.Next)
    read = replace(array, steps=one.steps)
    if one.function == ELEMENT:
        return read
    values = () if one.value is None else (tree.Literal(one.value),)
    return tree.Call(one.function, (read, *values))


def aggregate_call(aggregate: plan.TrendAggregate, names: Sequence[str]) -> tree.Call:
    """The call of an aggregate over trends: COUNT(*), COUNT(A), SUM(A.x), ..."""
    argument: tree.Expression
    if aggregate.component is None:
        argument = tree.Star()
    elif aggregate.attribute is None:
        argument = tree.Name(names[aggregate.component])
    elif (inner := formula_of_name(aggregate.attribute)) is not None:
        argument = _of_event(inner, names[aggregate.component], tree.Index.NONE)
    else:
        one = Computed.of_name(aggregate.attribute)
        name, steps = (aggregate.attribute, ()) if one is None else (one.attribute, one.steps)
        argument = tree.Reference(names[aggregate.component], tree.Index.NONE, name, steps=steps)
    return tree.Call(aggregate.function, (argument,))


def _row(expr: plan.Expr, operator: str) -> list[plan.Expr]:
    """The operands of a row of ANDs, or of ORs, in order."""
    if isinstance(expr, plan.Binary) and expr.operator == operator:
        return _row(expr.left, operator) + _row(expr.right, operator)
    return [expr]


def amount(window: plan.Window, size: int) -> str:
    """A size or slide of a window: `1 hour`, `500 events`."""
    if window.events:
        return "1 event" if size == 1 else f"{size} events"
    return duration(size)


def window_line(window: plan.Window, *, trends: bool) -> str:
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
