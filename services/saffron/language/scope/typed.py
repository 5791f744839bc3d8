"""The type check and binding of expressions: from the syntax tree to a plan.

The meaning of a reference depends on its context (a condition of a match, RETURN, an edge of a trend). So each context
brings a function that binds its leaves; this module binds everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import reduce

from saffron.language.plan import plan
from saffron.language.scope.arrays import ARRAY_HINT, computed, is_open, no_array, settled
from saffron.language.scope.scope import NULL, Found, Scope
from saffron.language.syntax import tree
from saffron.schema.computed import ELEMENT, FUNCTIONS, LENGTH, Computed
from saffron.schema.schema import Kind


class Sort(Enum):
    """The type of an expression's value. UNKNOWN (null, or any attribute without a schema) fits everywhere."""

    NUMBER = "a number"
    STRING = "a string"
    BOOLEAN = "true or false"
    ARRAY = "an array"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Typed:
    """A bound expression and the type of its value."""

    expr: plan.Expr
    sort: Sort


SORTS = {kind: Sort.NUMBER for kind in Kind if kind.is_number} | {
    Kind.BOOL: Sort.BOOLEAN,
    Kind.STRING: Sort.STRING,
    Kind.ARRAY: Sort.ARRAY,
    Kind.NULL: Sort.UNKNOWN,
}
_OF_ELEMENT = {
    Sort.STRING: Kind.STRING,
    Sort.BOOLEAN: Kind.BOOL,
    Sort.NUMBER: Kind.NUMBER,
    Sort.ARRAY: Kind.ARRAY,
}
"""Type -> the kind as which an element of an array is read."""
GUESS = {Sort.STRING: Kind.STRING, Sort.BOOLEAN: Kind.BOOL}
"""Type -> the kind assumed for an attribute that is compared with such a value, without a schema."""
SCALARS = {"abs": (1, 1), "sqrt": (1, 1), "least": (2, None), "greatest": (2, None)}
"""Scalar function -> least and greatest number of arguments."""
OF_LISTS = {aggregate: function for function, aggregate in plan.JOINS.items()}
"""Aggregate over several lists -> the scalar function that joins those of each list."""
LISTS = (tree.Index.BEFORE, tree.Index.THROUGH, tree.Index.ALL)
"""References to a list of events, which an aggregate runs over."""
AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last", "stddev")

Leaves = Callable[[tree.Expression], Typed]
"""A binder of a Reference, Next, Name, or a Call of an aggregate; raises QueryError where it cannot stand."""


def kind_or_guess(found: Found) -> Kind:
    """The kind of an attribute; FLOAT without a schema, as such a plan is explained but never run."""
    return Kind.FLOAT if found.kind is None else found.kind


def attribute(found: Found, component: int, which: plan.Which, back: int = 0) -> Typed:
    """A resolved attribute of a component as an expression; null if no event can have it."""
    if found.null:
        return Typed(NULL, Sort.UNKNOWN)
    expr = plan.Attribute(component, which, found.name, kind_or_guess(found), back)
    return Typed(expr, Sort.UNKNOWN if found.kind is None else SORTS[found.kind])


def bind_condition(expression: tree.Expression, scope: Scope, leaves: Leaves) -> plan.Expr:
    """A condition as an expression of a plan; QueryError if its value is not true or false."""
    typed = _settled(_Binder(scope, leaves).bind(expression), Sort.BOOLEAN, scope)
    if typed.sort in (Sort.NUMBER, Sort.STRING, Sort.ARRAY):
        message = f"a condition is true or false, this is {typed.sort.value}"
        raise scope.schema_error(message, expression.span, "Compare it with something: =, !=, <, <=, >, >= or IN.")
    return typed.expr


def bind_value(expression: tree.Expression, scope: Scope, leaves: Leaves, *, of_event: bool = False) -> Typed:
    """An expression of any type as an expression of a plan; an element of an array by itself is of any kind.

    `of_event`: references to a list are to one event of it, over which an aggregate around the expression runs.
    """
    return _settled(_Binder(scope, leaves, of_event).bind(expression), Sort.ARRAY, scope)


def balanced(operator: str, parts: Sequence[plan.Expr]) -> plan.Expr:
    """`and` or `or` over many operands as a tree of logarithmic depth, so that recursion over it stays shallow."""
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    return plan.Binary(operator, balanced(operator, parts[:middle]), balanced(operator, parts[middle:]))


def _settled(typed: Typed, sort: Sort, scope: Scope) -> Typed:
    """The expression, with an attribute's unknown kind guessed from the `sort` that it is compared with."""
    expr = typed.expr
    if is_open(expr):
        assert isinstance(expr, plan.Attribute)
        return Typed(settled(expr, _OF_ELEMENT[sort], scope), sort) if sort in _OF_ELEMENT else typed
    if typed.sort is Sort.UNKNOWN and isinstance(expr, plan.Attribute) and expr.kind is not Kind.NULL and sort in GUESS:
        return Typed(replace(expr, kind=GUESS[sort]), sort)
    return typed


class _Binder:
    """The recursive binder of one expression."""

    def __init__(self, scope: Scope, leaves: Leaves, of_event: bool = False) -> None:
        self.scope = scope
        self.leaves = leaves
        self.of_event = of_event

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
            case tree.Call() if not self.of_event and _over_lists(expression):
                return self._of_lists(expression)
            case tree.Call(function=function) if function in SCALARS:
                return self._scalar(expression)
            case tree.Call(function=function) if function in FUNCTIONS:
                return self._of_array(expression)
            case tree.Reference(steps=steps) | tree.Next(steps=steps) if steps:
                return self._read(expression, Computed(ELEMENT, "", steps, Kind.NULL))
            case tree.Call(function=function) if function not in AGGREGATES and function not in self.scope.aggregates:
                hint = self.scope.function_hint(
                    function, [*SCALARS, *FUNCTIONS, *AGGREGATES, *sorted(self.scope.aggregates)]
                )
                raise self.scope.schema_error(f"unknown function '{function[:40]}'", expression.span, hint)
            case _:
                return self.leaves(expression)

    def _number(self, expression: tree.Expression, verb: str) -> plan.Expr:
        """An operand that must be a number. `verb`: for the error, "cannot add a string"."""
        typed = _settled(self.bind(expression), Sort.NUMBER, self.scope)
        if typed.sort in (Sort.STRING, Sort.BOOLEAN, Sort.ARRAY):
            raise self.scope.schema_error(
                f"cannot {verb} {_noun(typed.sort)}", expression.span, "Arithmetic takes numbers."
            )
        return typed.expr

    def _truth(self, expression: tree.Expression, operator: str) -> plan.Expr:
        """An operand of AND, OR or NOT, which must be true or false."""
        typed = _settled(self.bind(expression), Sort.BOOLEAN, self.scope)
        if typed.sort in (Sort.NUMBER, Sort.STRING, Sort.ARRAY):
            message = f"{operator} joins what is true or false, this is {typed.sort.value}"
            raise self.scope.schema_error(message, expression.span, "Compare it with something.")
        return typed.expr

    def _comparison(self, operation: tree.Operation) -> Typed:
        """A bound comparison. It warns of operands of different types; QueryError for an order of truth values."""
        left, right = self._compared(operation.left), self._compared(operation.right)
        if is_open(left.expr) and right.sort is Sort.UNKNOWN:
            return self._of_any_kind(operation.operator, left, right)
        if is_open(right.expr) and left.sort is Sort.UNKNOWN:
            return self._of_any_kind(operation.operator, left, right)
        left, right = _settled(left, right.sort, self.scope), _settled(right, left.sort, self.scope)
        if operation.operator not in ("=", "!="):
            for typed, side in ((left, operation.left), (right, operation.right)):
                if typed.sort is Sort.BOOLEAN:
                    message = f"truth values have no order: {operation.operator} cannot compare them"
                    raise self.scope.schema_error(message, side.span, "Compare them with = or !=.")
        if left.sort is not right.sort and Sort.UNKNOWN not in (left.sort, right.sort):
            message = f"{_noun(left.sort)} is compared with {_noun(right.sort)}: always false"
            self.scope.warn(message, operation.span)
        return Typed(plan.Binary(operation.operator, left.expr, right.expr), Sort.BOOLEAN)

    def _of_any_kind(self, operator: str, left: Typed, right: Typed) -> Typed:
        """A comparison of values of unknown kinds: it holds if it does of strings, numbers or truth values."""
        sorts = [Sort.STRING, Sort.NUMBER, *([Sort.BOOLEAN] if operator in ("=", "!=") else [])]
        pairs = [[_settled(side, sort, self.scope).expr for side in (left, right)] for sort in sorts]
        return Typed(balanced("or", [plan.Binary(operator, one, two) for one, two in pairs]), Sort.BOOLEAN)

    def _compared(self, expression: tree.Expression) -> Typed:
        """A side of a comparison; QueryError for an array."""
        typed = self.bind(expression)
        if typed.sort is Sort.ARRAY:
            raise self.scope.schema_error("an array is not compared as a whole", expression.span, ARRAY_HINT)
        return typed

    def _membership(self, membership: tree.Membership) -> Typed:
        """A bound IN. It warns of an operand of another type; QueryError for choices of different types."""
        sorts = [_literal_sort(choice.value) for choice in membership.choices]
        for choice, sort in zip(membership.choices, sorts, strict=True):
            if sort is not sorts[0]:
                message = f"IN mixes {_noun(sorts[0])} with {_noun(sort)}"
                raise self.scope.schema_error(message, choice.span, "All choices are of one kind.")
        operand = _settled(self._compared(membership.operand), sorts[0], self.scope)
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
            raise self.scope.schema_error(f"{call.function} takes {need}, not {count}", call.span)
        arguments = tuple(self._number(argument, f"take {call.function} of") for argument in call.arguments)
        return Typed(plan.Call(call.function, arguments), Sort.NUMBER)

    def _of_lists(self, call: tree.Call) -> Typed:
        """An aggregate over the events of several lists, made of those over each; QueryError for one that is not."""
        function = {"least": "min", "greatest": "max"}.get(call.function, call.function)

        def each(name: str) -> tuple[plan.Expr, ...]:
            return tuple(self.leaves(replace(call, function=name, arguments=(one,))).expr for one in call.arguments)

        def added(parts: Sequence[plan.Expr]) -> plan.Expr:
            return reduce(lambda left, right: plan.Binary("+", left, right), parts)

        if function == "count":
            return Typed(added(each("count")), Sort.NUMBER)
        if function == "avg":
            return Typed(plan.Binary("/", plan.Call(OF_LISTS["sum"], each("sum")), added(each("count"))), Sort.NUMBER)
        if function not in OF_LISTS:
            hint = "Over several lists run count, sum, avg, min and max."
            raise self.scope.schema_error(f"{function} runs over the events of one list", call.span, hint)
        return Typed(plan.Call(OF_LISTS[function], each(function)), Sort.NUMBER)

    def _of_array(self, call: tree.Call) -> Typed:
        """length(a.x), or contains(a.x, 'v'): of one array of one event, or of one inside it."""
        form = "length(a.x)" if call.function == LENGTH else "contains(a.x, 'v')"
        array, *values = call.arguments or (call,)
        if not isinstance(array, tree.Reference | tree.Next) or len(values) != form.count(","):
            raise self.scope.schema_error(f"{call.function} is written as {form}", call.span)
        value = None
        if values:
            if not isinstance(values[0], tree.Literal):
                raise self.scope.schema_error("contains looks for a literal", values[0].span, f"Write {form}.")
            value = values[0].value
        kind = Kind.INT if call.function == LENGTH else Kind.BOOL
        return self._read(array, Computed(call.function, "", array.steps, kind, value))

    def _read(self, array: tree.Reference | tree.Next, one: Computed) -> Typed:
        """A computed value (but for its attribute) of the attribute that a reference names."""
        base = self.leaves(array)
        if base.expr == NULL:
            return base
        if not isinstance(base.expr, plan.Attribute) or base.sort not in (Sort.ARRAY, Sort.UNKNOWN):
            raise no_array(_noun(base.sort), self.scope, array.span)
        return Typed(computed(base.expr, replace(one, attribute=base.expr.name), self.scope), SORTS[one.kind])


def _over_lists(call: tree.Call) -> bool:
    """Whether a call has several arguments, each over the events of a list: min(a[].x, b[].x), not min(a.len, 3).

    An aggregate of its own, as in min(count(a[]), 3), is one value.
    """
    return len(call.arguments) > 1 and all(map(_of_list, call.arguments))


def _of_list(expression: tree.Expression) -> bool:
    """Whether an expression reads a list by its events, and nothing else."""
    if isinstance(expression, tree.Call) and expression.function not in (*SCALARS, *FUNCTIONS):
        return False
    if isinstance(expression, tree.Reference):
        return expression.index in LISTS
    inner = [one for one in tree.operands(expression) if not isinstance(one, tree.Literal)]
    return bool(inner) and all(map(_of_list, inner))


def _literal_sort(value: float | str | bool) -> Sort:
    if isinstance(value, bool):
        return Sort.BOOLEAN
    return Sort.STRING if isinstance(value, str) else Sort.NUMBER


def _noun(sort: Sort) -> str:
    return "a truth value" if sort is Sort.BOOLEAN else sort.value
