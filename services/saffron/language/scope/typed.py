"""From expressions of the tree to expressions of a plan, with the errors of kind that can be known beforehand.

What a reference means depends on where it stands (a match's condition, RETURN, a trend's edge): each place brings a
function that binds those leaves; all else is bound here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from saffron.language.plan import plan
from saffron.language.scope.scope import NULL, Found, Scope
from saffron.language.syntax import tree
from saffron.schema.schema import Kind


class Sort(Enum):
    """What an expression's value is. UNKNOWN: null, or an attribute of a stream without schema; fits everywhere."""

    NUMBER = "a number"
    STRING = "a string"
    BOOLEAN = "true or false"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Typed:
    expr: plan.Expr
    sort: Sort


SORTS = {kind: Sort.NUMBER for kind in Kind if kind.is_number} | {
    Kind.BOOL: Sort.BOOLEAN,
    Kind.STRING: Sort.STRING,
    Kind.NULL: Sort.UNKNOWN,
}
GUESS = {Sort.STRING: Kind.STRING, Sort.BOOLEAN: Kind.BOOL}
SCALARS = {"abs": (1, 1), "sqrt": (1, 1), "least": (2, None), "greatest": (2, None)}
AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last", "stddev")

Leaves = Callable[[tree.Expression], Typed]
"""Binds a Reference, a Next, a Name, or a Call of an aggregate; raises QueryError where it cannot stand."""


def kind_or_guess(found: Found) -> Kind:
    """The kind of an attribute; without a schema a float (such a plan can be explained, not run)."""
    return Kind.FLOAT if found.kind is None else found.kind


def attribute(found: Found, component: int, which: plan.Which, back: int = 0) -> Typed:
    """An attribute of a component, or null."""
    if found.null:
        return Typed(NULL, Sort.UNKNOWN)
    expr = plan.Attribute(component, which, found.name, kind_or_guess(found), back)
    return Typed(expr, Sort.UNKNOWN if found.kind is None else SORTS[found.kind])


def bind_condition(expression: tree.Expression, scope: Scope, leaves: Leaves) -> plan.Expr:
    """A whole condition: true or false."""
    typed = _Binder(scope, leaves).bind(expression)
    if typed.sort in (Sort.NUMBER, Sort.STRING):
        message = f"a condition is true or false, this is {typed.sort.value}"
        raise scope.wrong(message, expression.span, "Compare it with something: =, !=, <, <=, >, >= or IN.")
    return _settled(typed, Sort.BOOLEAN).expr


def bind_value(expression: tree.Expression, scope: Scope, leaves: Leaves) -> Typed:
    """An expression of any kind."""
    return _Binder(scope, leaves).bind(expression)


def balanced(operator: str, parts: Sequence[plan.Expr]) -> plan.Expr:
    """`and` or `or` over many operands as a tree of small depth, so that later walks stay off the stack limit."""
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    return plan.Binary(operator, balanced(operator, parts[:middle]), balanced(operator, parts[middle:]))


def _settled(typed: Typed, sort: Sort) -> Typed:
    """Without a schema, an attribute's kind is guessed from what it is compared with."""
    expr = typed.expr
    if typed.sort is Sort.UNKNOWN and isinstance(expr, plan.Attribute) and expr.kind is not Kind.NULL and sort in GUESS:
        return Typed(replace(expr, kind=GUESS[sort]), sort)
    return typed


class _Binder:
    def __init__(self, scope: Scope, leaves: Leaves) -> None:
        self.scope = scope
        self.leaves = leaves

    def bind(self, expression: tree.Expression) -> Typed:
        match expression:
            case tree.Literal(value=value):
                return Typed(plan.Const(value), _literal_sort(value))
            case tree.Prefix(operator="not", operand=operand):
                return Typed(plan.Unary("not", self._truth(operand, "NOT")), Sort.BOOLEAN)
            case tree.Prefix(operator=operator, operand=operand):
                return Typed(plan.Unary(operator, self._number(operand, "negate")), Sort.NUMBER)
            case tree.Logic(operator=operator, operands=operands):
                parts = [self._truth(operand, operator.upper()) for operand in operands]
                return Typed(balanced(operator, parts), Sort.BOOLEAN)
            case tree.Operation(operator=operator) if operator in ("+", "-", "*", "/", "%"):
                verb = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "take the remainder of"}
                left = self._number(expression.left, verb[operator])
                right = self._number(expression.right, verb[operator])
                return Typed(plan.Binary(operator, left, right), Sort.NUMBER)
            case tree.Operation():
                return self._comparison(expression)
            case tree.Membership():
                return self._membership(expression)
            case tree.Call(function=function) if function in SCALARS:
                return self._scalar(expression)
            case tree.Call(function=function) if function not in AGGREGATES and function not in self.scope.aggregates:
                hint = self.scope.near_function(function, [*SCALARS, *AGGREGATES, *sorted(self.scope.aggregates)])
                raise self.scope.wrong(f"unknown function '{function[:40]}'", expression.span, hint)
            case _:
                return self.leaves(expression)

    def _number(self, expression: tree.Expression, verb: str) -> plan.Expr:
        typed = self.bind(expression)
        if typed.sort in (Sort.STRING, Sort.BOOLEAN):
            noun = "a string" if typed.sort is Sort.STRING else "a truth value"
            raise self.scope.wrong(f"cannot {verb} {noun}", expression.span, "Arithmetic takes numbers.")
        return typed.expr

    def _truth(self, expression: tree.Expression, operator: str) -> plan.Expr:
        typed = self.bind(expression)
        if typed.sort in (Sort.NUMBER, Sort.STRING):
            message = f"{operator} joins what is true or false, this is {typed.sort.value}"
            raise self.scope.wrong(message, expression.span, "Compare it with something.")
        return _settled(typed, Sort.BOOLEAN).expr

    def _comparison(self, operation: tree.Operation) -> Typed:
        left, right = self.bind(operation.left), self.bind(operation.right)
        left, right = _settled(left, right.sort), _settled(right, left.sort)
        if operation.operator not in ("=", "!="):
            for typed, side in ((left, operation.left), (right, operation.right)):
                if typed.sort is Sort.BOOLEAN:
                    message = f"truth values have no order: {operation.operator} cannot compare them"
                    raise self.scope.wrong(message, side.span, "Compare them with = or !=.")
        if left.sort is not right.sort and Sort.UNKNOWN not in (left.sort, right.sort):
            message = f"{_noun(left.sort)} is compared with {_noun(right.sort)}: always false"
            self.scope.warn(message, operation.span)
        return Typed(plan.Binary(operation.operator, left.expr, right.expr), Sort.BOOLEAN)

    def _membership(self, membership: tree.Membership) -> Typed:
        sorts = [_literal_sort(choice.value) for choice in membership.choices]
        for choice, sort in zip(membership.choices, sorts, strict=True):
            if sort is not sorts[0]:
                message = f"IN mixes {_noun(sorts[0])} with {_noun(sort)}"
                raise self.scope.wrong(message, choice.span, "All choices are of one kind.")
        operand = _settled(self.bind(membership.operand), sorts[0])
        if operand.sort not in (sorts[0], Sort.UNKNOWN):
            message = f"{_noun(operand.sort)} is compared with {_noun(sorts[0])}: always false"
            self.scope.warn(message, membership.span)
        choices = tuple(plan.Const(choice.value) for choice in membership.choices)
        return Typed(plan.In(operand.expr, choices), Sort.BOOLEAN)

    def _scalar(self, call: tree.Call) -> Typed:
        low, high = SCALARS[call.function]
        count = len(call.arguments)
        if count < low or (high is not None and count > high):
            need = "one argument" if high == 1 else "two arguments or more"
            raise self.scope.wrong(f"{call.function} takes {need}, not {count}", call.span)
        arguments = tuple(self._number(argument, f"take {call.function} of") for argument in call.arguments)
        return Typed(plan.Call(call.function, arguments), Sort.NUMBER)


def _literal_sort(value: float | str | bool) -> Sort:
    if isinstance(value, bool):
        return Sort.BOOLEAN
    return Sort.STRING if isinstance(value, str) else Sort.NUMBER


def _noun(sort: Sort) -> str:
    return "a truth value" if sort is Sort.BOOLEAN else sort.value
