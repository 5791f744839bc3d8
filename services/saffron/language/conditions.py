"""Conditions of a match query: each conjunct on the edge of the state of its last identifier (N3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from saffron.language import plan, tree
from saffron.language.aggregates import bind_aggregate
from saffron.language.keys import Partial
from saffron.language.plan import Edge, Which
from saffron.language.rewrite import mapped, reads
from saffron.language.scope import Scope
from saffron.language.tree import Index
from saffron.language.typed import Sort, Typed, attribute, bind_condition, kind_or_guess

WHICH = {
    Index.NONE: Which.SINGLE,
    Index.CURRENT: Which.CURRENT,
    Index.PREVIOUS: Which.PREVIOUS,
    Index.FIRST: Which.FIRST,
    Index.LAST: Which.LAST,
}
TAKING = (Index.CURRENT, Index.PREVIOUS, Index.BEFORE)
"""References that have a meaning only while the closure is being filled."""
LOOKING_BACK = (Index.PREVIOUS, Index.BEFORE)
FINISHED = (Index.LAST, Index.ALL)
"""References to a closure's end; b.len counts as one of them."""


@dataclass(frozen=True)
class Use:
    """A reference in a conjunct: its component, its index (b.len: ALL), its place."""

    component: int
    index: Index
    span: tree.Span


def bind_conditions(expressions: tuple[tree.Expression, ...], scope: Scope) -> list[plan.Condition]:
    """All conjuncts but the keys, in their order."""
    result: list[plan.Condition] = []
    for expression in expressions:
        if not isinstance(expression, tree.Key):
            uses: list[Use] = []
            expr = bind_condition(expression, scope, lambda leaf, uses=uses: _leaf(leaf, scope, uses))  # type: ignore[misc]
            text = " ".join(scope.text[expression.span.start : expression.span.end].split())
            result.extend(_placed(expr, uses, text, scope))
    return result


def partial_key_conditions(key: Partial, scope: Scope) -> list[plan.Condition]:
    """[P.vehicle] as conditions: each event of P has the value of the first one, and the first has one."""
    name, kind = key.attribute.name, kind_or_guess(key.attribute)
    first = key.components[0]

    def read(component: int, which: Which) -> plan.Attribute:
        return plan.Attribute(component, which, name, kind)

    def equal(component: int, edge: Edge, left: plan.Attribute, right: plan.Attribute) -> plan.Condition:
        local = left == right
        return plan.Condition(component, edge, plan.Binary("=", left, right), local, key.text)

    conditions: list[plan.Condition] = []
    for component in key.components:
        closure = scope.places[component].closure
        taken = read(component, Which.CURRENT if closure else Which.SINGLE)
        anchor = read(first, Which.FIRST if scope.places[first].closure else Which.SINGLE)
        conditions.append(equal(component, Edge.BEGIN, taken, taken if component == first else anchor))
        if closure:
            conditions.append(equal(component, Edge.TAKE, taken, anchor))
    return conditions


def _leaf(expression: tree.Expression, scope: Scope, uses: list[Use]) -> Typed:
    """A reference or an aggregate inside a condition."""
    if isinstance(expression, tree.Reference):
        return _reference(expression, scope, uses)
    if isinstance(expression, tree.Call):
        argument, component, typed = bind_aggregate(expression, scope)
        uses.append(Use(component, argument.index, expression.span))
        return typed
    if isinstance(expression, tree.Next):
        hint = f"In a match query write {expression.variable}[i-1] and {expression.variable}[i]."
        raise scope.wrong("NEXT belongs to aggregate queries (COUNT(*) in RETURN)", expression.span, hint)
    assert isinstance(expression, tree.Name)
    hint = f"Write whose it is: a.{expression.name}; a string stands in quotes: '{expression.name}'."
    raise scope.wrong(f"{expression.name[:40]} stands alone", expression.span, hint)


def _reference(reference: tree.Reference, scope: Scope, uses: list[Use]) -> Typed:
    component = scope.component(reference.variable, reference.span)
    place = scope.places[component]
    if is_length(reference, place.closure):
        uses.append(Use(component, Index.ALL, reference.span))
        return Typed(plan.Length(component), Sort.NUMBER)
    check_form(reference, component, scope)
    uses.append(Use(component, reference.index, reference.span))
    found = scope.attribute(place.type, str(reference.attribute), reference.span)
    return attribute(found, component, WHICH[reference.index], reference.back)


def is_length(reference: tree.Reference, closure: bool) -> bool:
    """Whether this is b.len."""
    return closure and reference.index is Index.NONE and (reference.attribute or "").lower() == "len"


def check_form(reference: tree.Reference, component: int, scope: Scope) -> None:
    """One event is read as a.x, an event of a closure as b[...].x."""
    place, name = scope.places[component], reference.attribute
    if place.closure and reference.index is Index.NONE:
        hint = f"Write {place.variable}[i].{name} for every event, {place.variable}[1].{name} for the first, "
        hint += f"{place.variable}[last].{name} for the last."
        raise scope.wrong(f"{place.variable} is a closure, a list of events", reference.span, hint)
    if not place.closure and reference.index is not Index.NONE:
        hint = f"Write {place.variable}.{name or 'x'}; a closure has a plus: {place.type}+."
        raise scope.wrong(f"{place.variable} is one event, not a closure", reference.span, hint)
    if reference.index in (Index.BEFORE, Index.ALL):
        hint = f"Aggregate it, as in max({place.variable}[{reference.index.value.strip('[]')}].{name or 'x'})."
        raise scope.wrong("a list of events where one value is asked for", reference.span, hint)
    if name is None:
        hint = f"Name an attribute: {place.variable}[{reference.index.value}].x."
        raise scope.wrong("an event where a value is asked for", reference.span, hint)


# ---------------------------------------------------------------- placing


def _placed(expr: plan.Expr, uses: list[Use], text: str, scope: Scope) -> list[plan.Condition]:
    """The conditions, one for each edge, that a conjunct becomes."""
    last = max((use.component for use in uses), default=0)
    _check_earlier(uses, last, scope)
    own = [use.index for use in uses if use.component == last]
    taking = any(index in TAKING for index in own)
    finished = any(index in FINISHED for index in own)
    if taking and finished:
        use = next(use for use in uses if use.component == last and use.index in FINISHED)
        name = scope.places[last].variable
        hint = (
            f"{name}[i] is being taken when nobody knows the end of {name} yet; compare with {name}[1] or {name}[i-1]."
        )
        raise scope.refused("a condition on each event cannot know the end of its closure", use.span, hint)
    if finished:
        return [_condition(expr, last, Edge.PROCEED, text)]
    if not taking:
        return [_condition(_at_begin(expr, last), last, Edge.BEGIN, text)]
    conditions = [_condition(expr, last, Edge.TAKE, text)]
    if not any(index in LOOKING_BACK for index in own):
        conditions.insert(0, _condition(_at_begin(expr, last), last, Edge.BEGIN, text))
        if Index.FIRST in own:
            name = scope.places[last].variable
            span = next(use.span for use in uses if use.component == last and use.index is Index.FIRST)
            message = f"for the first event, {name}[i] and {name}[1] are the same: the condition is asked of it too"
            scope.warn(message, span, f"To ask it of later events only, look back: {name}[i-1], or {name}[..i-1].")
    return conditions


def _check_earlier(uses: list[Use], last: int, scope: Scope) -> None:
    """Of a closure that is over when the condition is asked, only its ends and aggregates can be read."""
    for use in uses:
        if use.component == last or use.index not in TAKING:
            continue
        name, later = scope.places[use.component].variable, scope.places[last].variable
        if use.index is Index.BEFORE:
            hint = f"Aggregate the finished closure: f({name}[].x)."
            message = f"{name}[..i-1] is over when {later} comes"
        else:
            hint = f"Write {name}[last].x, {name}[1].x, or an aggregate such as max({name}[].x)."
            message = f"{scope.text[use.span.start : use.span.end][:60]} has no meaning when {later} comes"
        raise scope.refused(message, use.span, hint)


def _at_begin(expr: plan.Expr, component: int) -> plan.Expr:
    """On begin, the first event of the closure is the one being taken."""

    def leaf(node: plan.Expr) -> plan.Expr:
        if isinstance(node, plan.Attribute) and node.component == component and node.which is Which.FIRST:
            return replace(node, which=Which.CURRENT)
        return node

    return mapped(expr, leaf)


def _condition(expr: plan.Expr, component: int, edge: Edge, text: str) -> plan.Condition:
    """`local` when all that is read is the event being taken."""
    local = edge is not Edge.PROCEED and all(
        isinstance(node, plan.Attribute) and node.component == component and node.which in (Which.SINGLE, Which.CURRENT)
        for node in reads(expr)
    )
    return plan.Condition(component, edge, expr, local, text)
