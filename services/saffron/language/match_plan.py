"""The plan of a match query (N1-N3)."""

from __future__ import annotations

from saffron.language import plan, tree
from saffron.language.aggregates import bind_aggregate
from saffron.language.conditions import (
    WHICH,
    bind_conditions,
    check_form,
    is_length,
    partial_key_conditions,
)
from saffron.language.keys import bind_keys
from saffron.language.names import item_names
from saffron.language.printer import query_text
from saffron.language.refusals import refuse_clauses, refuse_pattern
from saffron.language.scope import Scope
from saffron.language.strategies import bind_strategy
from saffron.language.template import flat_components
from saffron.language.tree import Index
from saffron.language.typed import Sort, Typed, attribute, bind_value
from saffron.language.windows import bind_window


def bind_match(query: tree.Query, scope: Scope, name: str) -> plan.MatchPlan:
    """A match query as a plan; raises QueryError."""
    refuse_pattern(query.pattern, scope, nested=False)
    scope.declare(flat_components(query.pattern), plan.MAX_COMPONENTS)
    refuse_clauses(query, scope, aggregate=False)
    strategy = bind_strategy(query, scope, plan.Strategy.NEXT)
    keys = bind_keys(query.conditions, (), scope)
    conditions = bind_conditions(query.conditions, scope)
    for partial in keys.partial:
        conditions.extend(partial_key_conditions(partial, scope))
    if keys.impossible:
        conditions.append(plan.Condition(0, plan.Edge.BEGIN, plan.Const(False), True, "an attribute that no event has"))
    return plan.MatchPlan(
        name=name,
        text=query_text(query),
        stream=query.stream or plan.DEFAULT_STREAM,
        components=tuple(plan.Component(place.variable, place.type, place.closure) for place in scope.places),
        strategy=strategy,
        key=keys.whole,
        conditions=tuple(conditions),
        window=bind_window(query, scope, tumbling=False),
        returns=_returns(query, scope),
    )


def _returns(query: tree.Query, scope: Scope) -> tuple[plan.ReturnItem, ...]:
    items = query.returns.items if query.returns else ()
    bound = [bind_value(item.expression, scope, lambda leaf: _leaf(leaf, scope)) for item in items]
    names = item_names(items, scope)
    return tuple(plan.ReturnItem(name, typed.expr) for name, typed in zip(names, bound, strict=True))


def _leaf(expression: tree.Expression, scope: Scope) -> Typed:
    """A reference or an aggregate in RETURN: over finished closures."""
    if isinstance(expression, tree.Call):
        argument, _, typed = bind_aggregate(expression, scope)
        if argument.index is Index.BEFORE:
            hint = f"Write {argument.variable}[]: the finished closure."
            raise scope.wrong("in RETURN, no event is being taken", argument.span, hint)
        return typed
    if isinstance(expression, tree.Reference):
        return _reference(expression, scope)
    if isinstance(expression, tree.Next):
        raise scope.wrong("NEXT stands in WHERE only", expression.span)
    assert isinstance(expression, tree.Name)
    hint = f"Write whose it is, as in {scope.places[0].variable}.{expression.name}."
    if expression.name in {place.variable for place in scope.places}:
        hint = "The events themselves are always in the result; RETURN names values computed from them."
    raise scope.wrong(f"{expression.name[:40]} stands alone", expression.span, hint)


def _reference(reference: tree.Reference, scope: Scope) -> Typed:
    component = scope.component(reference.variable, reference.span)
    place = scope.places[component]
    if is_length(reference, place.closure):
        return Typed(plan.Length(component), Sort.NUMBER)
    if reference.index in (Index.CURRENT, Index.PREVIOUS):
        hint = f"Write {place.variable}[1], {place.variable}[last], or an aggregate such as avg({place.variable}[].x)."
        raise scope.wrong("in RETURN, no event is being taken", reference.span, hint)
    check_form(reference, component, scope)
    found = scope.attribute(place.type, str(reference.attribute), reference.span)
    return attribute(found, component, WHICH[reference.index])
