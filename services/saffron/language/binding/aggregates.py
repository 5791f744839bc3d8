"""The binding of aggregates over a closure, f(b[..i-1].x) and f(b[].x), in WHERE and RETURN.

A user-defined aggregate is a function from numbers to a number; the plan has only its name, in lower case.
"""

from __future__ import annotations

from saffron.language.plan import plan
from saffron.language.scope.arrays import ARRAY_HINT, element_of, open_error
from saffron.language.scope.scope import NULL, Scope
from saffron.language.scope.sorts import SORTS, Sort, Typed
from saffron.language.scope.typed import AGGREGATES, kind_or_guess
from saffron.language.syntax import tree
from saffron.language.syntax.paths import attribute_text
from saffron.schema.schema import Kind

SCOPES = {tree.Index.BEFORE: plan.Scope.BEFORE, tree.Index.ALL: plan.Scope.CLOSED}
NO_NUMBERS = {Kind.STRING: "strings", Kind.BOOL: "truth values", Kind.ARRAY: "arrays"}
"""Kinds whose values are no numbers, as errors name them."""
NUMERIC = ("sum", "avg", "min", "max", "stddev")
"""Built-in aggregates that take numbers only."""


def closure_argument(call: tree.Call, scope: Scope) -> tree.Reference:
    """The argument b[..i-1].x or b[].x of an aggregate; else QueryError with a hint how to write it."""
    argument = call.arguments[0] if len(call.arguments) == 1 else None
    if isinstance(argument, tree.Reference) and argument.index in SCOPES:
        return argument
    name = argument.variable if isinstance(argument, tree.Reference) else "b"
    tail = "" if call.function == "count" else ".x"
    hint = f"Write {call.function}({name}[]{tail}) over a finished closure, "
    hint += f"{call.function}({name}[..i-1]{tail}) over the events taken so far."
    if call.function in ("min", "max"):
        hint += f" The {call.function} of several values: {call.function}(p, q)."
    raise scope.schema_error(f"{call.function} runs over the events of a closure", call.span, hint)


def bind_aggregate(call: tree.Call, scope: Scope) -> tuple[tree.Reference, int, Typed]:
    """(argument, component of the closure, bound expression) of an aggregate."""
    argument = closure_argument(call, scope)
    component = scope.component(argument.variable, argument.span)
    place = scope.places[component]
    if not place.closure:
        written = f"{place.written}.{attribute_text(argument.attribute or 'x')}"
        hint = f"Write {written}; a closure has a plus: {place.written_types}+."
        raise scope.schema_error(f"{place.written} is one event, not a closure", argument.span, hint)
    over = SCOPES[argument.index]
    if argument.attribute is None:
        if call.function != "count":
            hint = f"Write {call.function}({place.written}[{over.value.strip('[]')}].x)."
            raise scope.schema_error(f"{call.function} needs an attribute", call.span, hint)
        return argument, component, Typed(plan.Aggregate("count", component, over, None, None), Sort.NUMBER)
    found = scope.attribute(place.types, argument.attribute, argument.span)
    if found.null:
        value = plan.Const(0) if call.function in ("count", "sum") else NULL
        return argument, component, Typed(value, Sort.NUMBER if value.value == 0 else Sort.UNKNOWN)
    own = call.function not in AGGREGATES
    if argument.steps:
        if call.function in ("first", "last"):
            raise open_error(scope, call.span)
        kind = Kind.ARRAY if call.function == "count" else Kind.NUMBER
        found = element_of(found, argument.steps, kind, scope, argument.span)
    takes_numbers = own or call.function in NUMERIC
    if found.kind in NO_NUMBERS and (takes_numbers or (found.kind is Kind.ARRAY and call.function != "count")):
        hint = f"{call.function} takes numbers." if takes_numbers else ARRAY_HINT
        raise scope.schema_error(f"{call.function} of {NO_NUMBERS[found.kind]}", call.span, hint)
    expr = plan.Aggregate(call.function, component, over, found.name, kind_or_guess(found))
    takes_kind = call.function in ("first", "last")
    sort = Sort.NUMBER if not takes_kind else Sort.UNKNOWN if found.kind is None else SORTS[found.kind]
    return argument, component, Typed(expr, sort)
