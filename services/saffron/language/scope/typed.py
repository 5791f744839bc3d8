"""The type check and binding of expressions: from the syntax tree to a plan.

The meaning of a reference depends on its context (a condition of a match, RETURN, an edge of a trend). So each context
brings a function that binds its leaves; this module binds everything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from saffron.language.plan.expressions import Attribute, Binary, Call, Const, Expr, In, Length, Unary, Which
from saffron.language.plan.rewrite import reads
from saffron.language.scope.array_elements import ARRAY_HINT, holds_element, no_array, open_element
from saffron.language.scope.functions import bind_function, is_wide, settle
from saffron.language.scope.scope import NULL, Found, Scope
from saffron.language.scope.sorts import SORTS, Sort, Typed, literal_sort
from saffron.language.syntax import tree
from saffron.language.syntax.hints import listing, suggestion
from saffron.language.syntax.sql import foreign_function
from saffron.schema.functions import own
from saffron.schema.functions.built_in import BUILT_IN, find
from saffron.schema.iso_times import parse_iso
from saffron.schema.schema import COMPUTED_MARK, Kind

LISTS = (tree.Index.BEFORE, tree.Index.THROUGH, tree.Index.ALL)
"""References to a list of events, which an aggregate runs over."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last", "stddev")

Leaves = Callable[[tree.Expression], Typed]
"""A binder of a Reference, Next, Name, or a Call of an aggregate; raises QueryError where it cannot stand."""


def kind_or_guess(found: Found) -> Kind:
    """The kind of an attribute; FLOAT without a schema, as such a plan is explained but never run."""
    return Kind.FLOAT if found.kind is None else found.kind


def attribute(found: Found, component: int, which: Which, back: int = 0) -> Typed:
    """A resolved attribute of a component as an expression; null if no event can have it."""
    if found.null:
        return Typed(NULL, Sort.UNKNOWN)
    expr = Attribute(component, which, found.name, kind_or_guess(found), back)
    return Typed(expr, Sort.UNKNOWN if found.kind is None else SORTS[found.kind])


def bind_condition(expression: tree.Expression, scope: Scope, leaves: Leaves, *, returned: bool = False) -> Expr:
    """A condition as an expression of a plan; QueryError if its value is not true or false.

    `returned`: Python evaluates it on results (HAVING).
    """
    typed = settle(_Binder(scope, leaves, returned=returned).bind(expression), Sort.BOOLEAN)
    if typed.sort in (Sort.NUMBER, Sort.STRING, Sort.ARRAY):
        message = f"a condition is true or false, this is {typed.sort.value}"
        hint = "Compare it with something: =, !=, <, <=, >, >= or IN."
        raise scope.schema_error(message, expression.span, _of_bits(hint, typed, scope))
    return _noted(typed, scope).expr


def bind_value(expression: tree.Expression, scope: Scope, leaves: Leaves, *, of_event: bool = False) -> Typed:
    """An item of RETURN as an expression of a plan; an element of an array by itself is of any kind.

    `of_event`: references to a list are to one event of it, over which an aggregate around the expression runs; the
    aggregate notes the whole expression as one computed value.
    """
    bound = _Binder(scope, leaves, returned=True, of_event=of_event).bind(expression)
    return settle(bound, Sort.NUMBER) if of_event else _noted(settle(bound, Sort.ARRAY), scope)


def _noted(typed: Typed, scope: Scope) -> Typed:
    """The expression, with the computed values that it reads noted in the scope."""
    for leaf in reads(typed.expr):
        if not isinstance(leaf, Length) and leaf.name is not None and leaf.name.startswith(COMPUTED_MARK):
            # A condition on a message, not on events of a pattern, has no components.
            scope.note_computed(leaf.name, (one.types for one in scope.places[leaf.component : leaf.component + 1]))
    return typed


def _function_hint(name: str, scope: Scope) -> str:
    """The hint for an unknown function: its name here, or else the most similar one and those of a user's own."""
    if hint := foreign_function(name):
        return hint
    mine = sorted({*own.registered(), *scope.aggregates})
    near = suggestion(name, [*BUILT_IN, *AGGREGATES, "cast", *mine])
    near = near or "docs/language.md has a table of all functions."
    return f"Your own: {listing(mine)}. {near}" if mine else near


def balanced(join: Callable[[Expr, Expr], Expr], parts: Sequence[Expr]) -> Expr:
    """Many operands joined as a tree of logarithmic depth.

    So recursion over it stays shallow, and a join that writes an operand several times stays polynomial.
    """
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    return join(balanced(join, parts[:middle]), balanced(join, parts[middle:]))


class _Binder:
    """The recursive binder of one expression."""

    def __init__(self, scope: Scope, leaves: Leaves, *, returned: bool, of_event: bool = False) -> None:
        self.scope = scope
        self.leaves = leaves
        self.returned = returned
        self.of_event = of_event

    def bind(self, expression: tree.Expression) -> Typed:
        """An expression of the tree, bound to the plan's form, with the type of its value.

        QueryError: an operand is of a wrong type, or a function is unknown. The context binds the leaves (`Leaves`).
        """
        match expression:
            case tree.Literal(value=value):
                return Typed(Const(value), literal_sort(value))
            case tree.Prefix(operator="not", operand=operand):
                return Typed(Unary("not", self._truth(operand, "NOT")), Sort.BOOLEAN)
            case tree.Prefix(operator=operator, operand=operand):
                return Typed(Unary(operator, self._number(operand, "negate")), Sort.NUMBER)
            case tree.Logic(operator=operator, operands=operands):
                parts = [self._truth(operand, operator.upper()) for operand in operands]
                return Typed(balanced(partial(Binary, operator), parts), Sort.BOOLEAN)
            case tree.Operation(operator=operator) if operator in ("+", "-", "*", "/", "%"):
                verb = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "take the remainder of"}
                left = self._number(expression.left, verb[operator])
                right = self._number(expression.right, verb[operator])
                return Typed(Binary(operator, left, right), Sort.NUMBER)
            case tree.Operation():
                return self._comparison(expression)
            case tree.Membership():
                return self._membership(expression)
            case tree.Call() if not self.of_event and _over_lists(expression):
                return self._of_lists(expression)
            case tree.Reference(steps=steps) | tree.Next(steps=steps) if steps:
                return self._element(expression)
            case tree.Call(function=function) if (row := find(function)) is not None:
                return bind_function(expression, row, self.bind, self.scope, returned=self.returned)
            case tree.Call(function=function) if function not in AGGREGATES and function not in self.scope.aggregates:
                hint = _function_hint(function, self.scope)
                raise self.scope.schema_error(f"unknown function '{function[:40]}'", expression.span, hint)
            case _:
                return self.leaves(expression)

    def _number(self, expression: tree.Expression, verb: str) -> Expr:
        """An operand that must be a number. `verb`: for the error, "cannot add a string"."""
        typed = settle(self.bind(expression), Sort.NUMBER)
        if typed.sort in (Sort.STRING, Sort.BOOLEAN, Sort.ARRAY):
            raise self.scope.schema_error(
                f"cannot {verb} {typed.sort.noun}", expression.span, "Arithmetic takes numbers."
            )
        return typed.expr

    def _truth(self, expression: tree.Expression, operator: str) -> Expr:
        """An operand of AND, OR or NOT, which must be true or false."""
        typed = settle(self.bind(expression), Sort.BOOLEAN)
        if typed.sort in (Sort.NUMBER, Sort.STRING, Sort.ARRAY):
            message = f"{operator} joins what is true or false, this is {typed.sort.value}"
            hint = _of_bits("Compare it with something.", typed, self.scope)
            raise self.scope.schema_error(message, expression.span, hint)
        return typed.expr

    def _comparison(self, operation: tree.Operation) -> Typed:
        """A bound comparison. It warns of operands of different types; QueryError for an order of truth values."""
        left, right = self._compared(operation.left), self._compared(operation.right)
        if holds_element(left.expr) and right.sort is Sort.UNKNOWN:
            return self._of_any_kind(operation.operator, left, right)
        if holds_element(right.expr) and left.sort is Sort.UNKNOWN:
            return self._of_any_kind(operation.operator, left, right)
        left, right = settle(left, right.sort), settle(right, left.sort)
        if operation.operator not in ("=", "!="):
            for typed, side in ((left, operation.left), (right, operation.right)):
                if typed.sort is Sort.BOOLEAN:
                    message = f"truth values have no order: {operation.operator} cannot compare them"
                    raise self.scope.schema_error(message, side.span, "Compare them with = or !=.")
        if left.sort is not right.sort and Sort.UNKNOWN not in (left.sort, right.sort):
            message = f"{left.sort.noun} is compared with {right.sort.noun}: always false"
            is_time = _is_time(operation.left) or _is_time(operation.right)
            hint = "Write a time as TIMESTAMP '2026-05-01 12:00:00'." if is_time else ""
            if not is_time and {left.sort, right.sort} == {Sort.NUMBER, Sort.STRING}:
                hint = _of_kinds(operation, self.scope.text)
            self.scope.warn(message, operation.span, hint)
        return Typed(Binary(operation.operator, left.expr, right.expr), Sort.BOOLEAN)

    def _of_any_kind(self, operator: str, left: Typed, right: Typed) -> Typed:
        """A comparison of values of unknown kinds: it holds if it does of strings, numbers or truth values."""
        sorts = [Sort.STRING, Sort.NUMBER, *([Sort.BOOLEAN] if operator in ("=", "!=") else [])]
        pairs = [[settle(side, sort).expr for side in (left, right)] for sort in sorts]
        return Typed(balanced(partial(Binary, "or"), [Binary(operator, one, two) for one, two in pairs]), Sort.BOOLEAN)

    def _compared(self, expression: tree.Expression) -> Typed:
        """A side of a comparison; QueryError for an array."""
        typed = self.bind(expression)
        if typed.sort is Sort.ARRAY:
            raise self.scope.schema_error("an array is not compared as a whole", expression.span, ARRAY_HINT)
        return typed

    def _membership(self, membership: tree.Membership) -> Typed:
        """A bound IN. It warns of an operand of another type; QueryError for choices of different types."""
        sorts = [literal_sort(choice.value) for choice in membership.choices]
        for choice, sort in zip(membership.choices, sorts, strict=True):
            if sort is not sorts[0]:
                message = f"IN mixes {sorts[0].noun} with {sort.noun}"
                raise self.scope.schema_error(message, choice.span, "All choices are of one kind.")
        operand = settle(self._compared(membership.operand), sorts[0])
        if operand.sort not in (sorts[0], Sort.UNKNOWN):
            message = f"{operand.sort.noun} is compared with {sorts[0].noun}: always false"
            self.scope.warn(message, membership.span)
        choices = tuple(Const(choice.value) for choice in membership.choices)
        return Typed(In(operand.expr, choices), Sort.BOOLEAN)

    def _element(self, expression: tree.Reference | tree.Next) -> Typed:
        """An element of an array, whose kind follows from its use."""
        base = self.leaves(expression)
        if base.expr == NULL:
            return base
        if not isinstance(base.expr, Attribute) or base.sort not in (Sort.ARRAY, Sort.UNKNOWN):
            raise no_array(base.sort.noun, self.scope, expression.span)
        return Typed(open_element(base.expr, expression.steps), Sort.UNKNOWN)

    def _of_lists(self, call: tree.Call) -> Typed:
        """An aggregate over the events of several lists, made of those over each; QueryError for one that is not."""
        function = {"least": "min", "greatest": "max"}.get(call.function, call.function)

        def each(name: str) -> list[Expr]:
            return [self.leaves(replace(call, function=name, arguments=(one,))).expr for one in call.arguments]

        match function:
            case "count":
                return Typed(balanced(_sum, each("count")), Sort.NUMBER)
            case "sum":
                return Typed(balanced(_summed, each("sum")), Sort.NUMBER)
            case "avg":
                whole = balanced(_summed, each("sum"))
                return Typed(Binary("/", whole, balanced(_sum, each("count"))), Sort.NUMBER)
            case "min" | "max":
                choose = partial(_chosen, "<=" if function == "min" else ">=")
                return Typed(balanced(choose, each(function)), Sort.NUMBER)
        hint = "Over several lists run count, sum, avg, min and max."
        raise self.scope.schema_error(f"{function} runs over the events of one list", call.span, hint)


def _over_lists(call: tree.Call) -> bool:
    """True if a call has several arguments, each over the events of a list: min(a[].x, b[].x), not min(a.len, 3).

    An aggregate of its own, as in min(count(a[]), 3), is one value.
    """
    known = call.function in (*AGGREGATES, "least", "greatest")
    return known and len(call.arguments) > 1 and all(map(_of_list, call.arguments))


def _of_list(expression: tree.Expression) -> bool:
    """True if an expression reads a list by its events, and nothing else."""
    if isinstance(expression, tree.Call) and find(expression.function) is None:
        return False
    if isinstance(expression, tree.Reference):
        return expression.index in LISTS
    inner = [one for one in tree.operands(expression) if not isinstance(one, tree.Literal)]
    return bool(inner) and all(map(_of_list, inner))


def _sum(left: Expr, right: Expr) -> Expr:
    return Binary("+", left, right)


def _chosen(operator: str, left: Expr, right: Expr) -> Expr:
    """The left one where it compares with the right one so, else the right one, without rounding; a null one does not
    count."""
    kind = Kind.NUMBER if is_wide(left) or is_wide(right) else Kind.FLOAT
    return Call("case", (Binary(operator, left, right), left, Call("coalesce", (right, left), kind)), kind)


def _summed(left: Expr, right: Expr) -> Expr:
    """The sum of both; a null one, as over a list without events, does not count."""
    return Call("coalesce", (_sum(left, right), left, right))


def _of_bits(hint: str, typed: Typed, scope: Scope) -> str:
    """The hint for a number where a condition should be; the sign & of another language may have made it one."""
    bits = typed.sort is Sort.NUMBER and any(sign in scope.text for sign in "&|^")
    return f"{hint} Bits are joined by functions: bit_and(a.x, 4) = 4." if bits else hint


def _of_kinds(comparison: tree.Operation, text: str) -> str:
    """The hint for a number beside a string, where one of both is written in the query, which is `text`."""
    for side, other in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
        if isinstance(side, tree.Literal) and isinstance(side.value, str):
            return "Write a number without quotes." if _NUMBER.fullmatch(side.value) else ""
        if isinstance(side, tree.Literal) and not isinstance(side.value, bool):
            read = text[other.span.start : other.span.end]
            return f"Write CAST({read} AS number) for the number in a string, or a string in quotes: '{side.value}'."
    return ""


def _is_time(side: tree.Expression) -> bool:
    """True for the text of a time."""
    return isinstance(side, tree.Literal) and isinstance(side.value, str) and parse_iso(side.value) is not None
