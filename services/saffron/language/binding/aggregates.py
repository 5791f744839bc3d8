"""The binding of aggregates over a closure, f(b[..i-1].x) and f(b[].x), in WHERE and RETURN.

An aggregate also runs over formulas of one event: f(b[].x * b[].y).

A user-defined aggregate is a function from numbers to a number; the plan has only its name, in lower case.
"""

from __future__ import annotations

from saffron.language.plan import expressions
from saffron.language.plan.expressions import Const, Which
from saffron.language.plan.trees import tree_of
from saffron.language.scope.array_elements import ARRAY_HINT, element_of, open_error
from saffron.language.scope.places import Place
from saffron.language.scope.scope import NULL, Found, Scope
from saffron.language.scope.sorts import SORTS, Sort, Typed
from saffron.language.scope.typed import AGGREGATES, attribute, bind_value, kind_or_guess
from saffron.language.syntax import tree
from saffron.language.syntax.paths import attribute_text
from saffron.schema.computed import Applied, Computed, where_true
from saffron.schema.functions.built_in import CHOICES
from saffron.schema.schema import Kind

SCOPES = {
    tree.Index.BEFORE: expressions.Scope.BEFORE,
    tree.Index.THROUGH: expressions.Scope.THROUGH,
    tree.Index.ALL: expressions.Scope.CLOSED,
}
NO_NUMBERS = {Kind.STRING: "strings", Kind.BOOL: "truth values", Kind.ARRAY: "arrays"}
"""Kinds whose values are no numbers, as errors name them."""
NUMERIC = ("sum", "avg", "min", "max", "stddev")
"""Built-in aggregates that take numbers only."""
_CHOOSING = ("min", "max", "first", "last")
"""Those that give one of their values."""


def list_of(call: tree.Call, scope: Scope) -> tree.Reference:
    """The first reference b[..i-1].x or b[].x in the argument of an aggregate; QueryError if it runs over no list."""
    argument = call.arguments[0] if len(call.arguments) == 1 else None
    found = [] if argument is None else list(tree.references(argument))
    if found and all(one.index in SCOPES for one in found):
        other = next((one for one in found if (one.variable, one.index) != (found[0].variable, found[0].index)), None)
        if other is not None:
            hint = f"Aggregate each list by itself: {call.function}(a[].x) + {call.function}(b[].x)."
            raise scope.schema_error(f"{call.function} runs over the events of one list", other.span, hint)
        return found[0]
    single = next((one for one in found if one.index is tree.Index.NONE), None)
    if single is not None and any(one.index in SCOPES for one in found):
        hint = "Its formula reads the events of the list alone. Write the other outside, as in a.x * sum(b[].x)."
        raise scope.schema_error(f"{call.function} reads another event beside a list", single.span, hint)
    name = argument.variable if isinstance(argument, tree.Reference) else "b"
    tail = "" if call.function == "count" else ".x"
    hint = f"Write {call.function}({name}[]{tail}) over a finished closure, "
    hint += f"{call.function}({name}[..i-1]{tail}) over the events taken so far."
    if call.function in ("min", "max"):
        hint += f" The {call.function} of several values: {call.function}(p, q)."
    raise scope.schema_error(f"{call.function} runs over the events of a closure", call.span, hint)


def bind_aggregate(call: tree.Call, scope: Scope) -> tuple[tree.Reference, int, Typed]:
    """(a reference in the argument, component of the closure, bound expression) of an aggregate."""
    reference = list_of(call, scope)
    component = scope.component(reference.variable, reference.span)
    place = scope.places[component]
    if not place.closure:
        written = f"{place.written}.{attribute_text(reference.attribute or 'x')}"
        hint = f"Write {written}; a closure has a plus: {place.written_types}+."
        raise scope.schema_error(f"{place.written} is one event, not a closure", reference.span, hint)
    over = SCOPES[reference.index]
    if call.arguments == (reference,) and reference.attribute is None:
        if call.function != "count":
            hint = f"Write {call.function}({place.written}[{over.value.strip('[]')}].x)."
            raise scope.schema_error(f"{call.function} needs an attribute", call.span, hint)
        return reference, component, Typed(expressions.Aggregate("count", component, over, None, None), Sort.NUMBER)
    found = aggregated(call, place, scope)
    if found.null:
        value = Const(0) if call.function in ("count", "sum") else NULL
        return reference, component, Typed(value, Sort.NUMBER if value.value == 0 else Sort.UNKNOWN)
    expr = expressions.Aggregate(call.function, component, over, found.name, kind_or_guess(found))
    takes_kind = call.function in ("first", "last")
    sort = Sort.NUMBER if not takes_kind else Sort.UNKNOWN if found.kind is None else SORTS[found.kind]
    return reference, component, Typed(expr, sort)


def aggregated(call: tree.Call, place: Place, scope: Scope) -> Found:
    """The attribute or formula of one event of a component that an aggregate runs over; QueryError for a wrong kind."""
    (argument,) = call.arguments
    if not isinstance(argument, tree.Reference):
        return _formula(call, argument, place, scope)
    found = scope.attribute(place.types, str(argument.attribute), argument.span)
    if found.null:
        return found
    if argument.steps:
        if call.function in ("first", "last"):
            raise open_error(scope, call.span)
        kind = Kind.ARRAY if call.function == "count" else Kind.NUMBER
        found = element_of(found, argument.steps, kind, scope, argument.span)
        scope.note_computed(found.name, [place.types])
    own = call.function not in AGGREGATES
    takes_numbers = own or call.function in NUMERIC
    if found.kind in NO_NUMBERS and (takes_numbers or (found.kind is Kind.ARRAY and call.function != "count")):
        hint = f"{call.function} takes numbers." if takes_numbers else ARRAY_HINT
        raise scope.schema_error(f"{call.function} of {NO_NUMBERS[found.kind]}", call.span, hint)
    return found


def _formula(call: tree.Call, argument: tree.Expression, place: Place, scope: Scope) -> Found:
    """The formula that an aggregate runs over; of a condition, which count alone takes, 1 where it holds, else null."""

    def leaf(expression: tree.Expression) -> Typed:
        if isinstance(expression, tree.Reference) and expression.attribute is not None:
            found = scope.attribute(place.types, expression.attribute, expression.span)
            return attribute(found, 0, Which.SINGLE)
        hint = f"Write attributes of the events of {place.written}, numbers, and operators."
        raise scope.schema_error(f"{call.function} runs over values of one event each", expression.span, hint)

    typed = bind_value(argument, scope, leaf, of_event=True)
    if typed.sort is Sort.BOOLEAN and call.function != "count":
        hint = f"{call.function} takes numbers; count takes conditions: count({place.written}[].x > 1)."
        raise scope.schema_error(f"{call.function} of conditions", call.span, hint)
    if typed.sort in (Sort.STRING, Sort.ARRAY):
        raise scope.schema_error(f"{call.function} of {typed.sort.value}", call.span, f"{call.function} takes numbers.")
    formula = tree_of(typed.expr)
    # Whatever the kinds are now: they may become wider, and the name must stay.
    chooses = isinstance(formula, Applied) and formula.function in CHOICES
    kind = Kind.NUMBER if chooses and call.function in _CHOOSING else Kind.FLOAT
    name = Computed(where_true(formula) if typed.sort is Sort.BOOLEAN else formula, kind).name
    scope.note_computed(name, [place.types])
    return Found(name, kind)
