"""Conditions of an aggregate query: on one event of a state, or on a pair of adjacent events (T1, T6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

from saffron.language import plan, tree
from saffron.language.plan import Which
from saffron.language.refusals import not_yet
from saffron.language.rewrite import mapped
from saffron.language.scope import Scope
from saffron.language.template import Template
from saffron.language.tree import Index
from saffron.language.typed import Typed, attribute, bind_condition


class Role(Enum):
    """How a condition names an event of a trend."""

    EVENT = "A.x"
    NEXT = "NEXT(A).x"
    CURRENT = "a[i].x"
    PREVIOUS = "a[i-1].x"
    FIRST = "a[1].x"
    LAST = "a[last].x"


ROLES = {
    Index.NONE: Role.EVENT,
    Index.CURRENT: Role.CURRENT,
    Index.PREVIOUS: Role.PREVIOUS,
    Index.FIRST: Role.FIRST,
    Index.LAST: Role.LAST,
}


@dataclass(frozen=True)
class Use:
    state: int
    role: Role
    span: tree.Span


@dataclass
class Edges:
    """Conditions found so far: `local[state]`, and `edge[transition]`."""

    template: Template
    local: dict[int, list[plan.Expr]] = field(default_factory=dict)
    edge: dict[tuple[int, int], list[plan.Expr]] = field(default_factory=dict)


def bind_edges(expressions: tuple[tree.Expression, ...], template: Template, scope: Scope) -> Edges:
    """Every conjunct but the keys, on its state or its transition."""
    edges = Edges(template)
    for expression in expressions:
        if not isinstance(expression, tree.Key):
            _bind(expression, edges, scope)
    return edges


def _bind(expression: tree.Expression, edges: Edges, scope: Scope) -> None:
    uses: list[Use] = []
    expr = bind_condition(expression, scope, lambda leaf: _leaf(leaf, scope, uses))
    states = {use.state for use in uses}
    roles = {use.role for use in uses}
    if not roles:
        edges.local.setdefault(edges.template.start, []).append(expr)
    elif len(states) == 1 and roles <= {Role.EVENT, Role.CURRENT}:
        (state,) = states
        edges.local.setdefault(state, []).append(mapped(expr, _reading(lambda _: Which.SINGLE)))
    elif Role.NEXT in roles:
        _pair_by_next(expression, expr, uses, edges, scope)
    elif Role.PREVIOUS in roles:
        _pair_by_index(expression, expr, uses, edges, scope)
    else:
        _pair_by_order(expression, expr, uses, edges, scope)


def _leaf(expression: tree.Expression, scope: Scope, uses: list[Use]) -> Typed:
    """A reference as an attribute that remembers its role: NEXT and a[i] as they are, all else as SINGLE."""
    if isinstance(expression, tree.Next):
        return _attribute(expression.variable, expression.attribute, Role.NEXT, expression, scope, uses)
    if isinstance(expression, tree.Call):
        hint = "Compare adjacent events: A.x < NEXT(A).x."
        raise not_yet(scope, "aggregates over a trend's events in WHERE", expression, hint)
    if isinstance(expression, tree.Name):
        raise scope.wrong(f"{expression.name[:40]} stands alone", expression.span, "Write whose it is, as in A.x.")
    assert isinstance(expression, tree.Reference)
    if expression.index not in ROLES or expression.attribute is None:
        hint = "Conditions on trends read A.x and NEXT(A).x."
        raise scope.wrong("a list of events where one value is asked for", expression.span, hint)
    if expression.back > 1:
        hint = "Adjacent events are one apart: a[i-1]."
        raise not_yet(scope, "conditions on events that are not adjacent", expression, hint)
    return _attribute(expression.variable, expression.attribute, ROLES[expression.index], expression, scope, uses)


def _attribute(
    variable: str, name: str, role: Role, expression: tree.Expression, scope: Scope, uses: list[Use]
) -> Typed:
    state = scope.component(variable, expression.span)
    place = scope.places[state]
    if role not in (Role.EVENT, Role.NEXT) and not place.closure:
        hint = f"Write {place.variable}.{name}."
        raise scope.wrong(f"{place.variable} is one event, not a closure", expression.span, hint)
    uses.append(Use(state, role, expression.span))
    which = {Role.NEXT: Which.ADJACENT, Role.CURRENT: Which.CURRENT, Role.PREVIOUS: Which.PREVIOUS}.get(
        role, Which.SINGLE
    )
    return attribute(scope.attribute(place.type, name, expression.span), state, which, int(role is Role.PREVIOUS))


def _reading(which: Callable[[plan.Attribute], Which]) -> Callable[[plan.Expr], plan.Expr]:
    """A leaf rewrite: each attribute is taken from the earlier (SINGLE) or the later event (ADJACENT)."""

    def leaf(node: plan.Expr) -> plan.Expr:
        return replace(node, which=which(node), back=0) if isinstance(node, plan.Attribute) else node

    return leaf


def _pair_by_next(expression: tree.Expression, expr: plan.Expr, uses: list[Use], edges: Edges, scope: Scope) -> None:
    """A.x op NEXT(B).x: on the transition from A to B."""
    later = {use.state for use in uses if use.role is Role.NEXT}
    earlier = {use.state for use in uses if use.role in (Role.EVENT, Role.CURRENT)}
    if len(earlier) != 1 or len(later) != 1 or {use.role for use in uses} - {Role.EVENT, Role.CURRENT, Role.NEXT}:
        hint = "It names one event and the one that follows it: A.x < NEXT(B).x."
        if not earlier:
            name = scope.places[uses[0].state].variable
            hint = f"Beside NEXT stands the earlier event; a condition on each event reads {name}.x."
        raise scope.wrong("a condition with NEXT is about two adjacent events", expression.span, hint)

    def side(node: plan.Attribute) -> Which:
        return Which.ADJACENT if node.which is Which.ADJACENT else Which.SINGLE

    _add(earlier.pop(), later.pop(), mapped(expr, _reading(side)), expression, edges, scope)


def _pair_by_index(expression: tree.Expression, expr: plan.Expr, uses: list[Use], edges: Edges, scope: Scope) -> None:
    """a[i].x op a[i-1].x, as match queries write it: on the transition from A to A."""
    states = {use.state for use in uses}
    roles = {use.role for use in uses}
    if len(states) != 1 or not roles <= {Role.CURRENT, Role.PREVIOUS}:
        hint = "Write it with NEXT: A.x < NEXT(A).x."
        raise not_yet(scope, "this form of condition on a trend", expression, hint)
    (state,) = states
    if _returns_through_others(state, edges.template):
        name = scope.places[state].variable
        hint = f"Write {name}.x < NEXT({name}).x for adjacent events of {name}."
        message = f"{name}[i-1] may belong to an earlier round of the group, and is not adjacent to {name}[i]"
        raise scope.refused(message, expression.span, hint)

    def side(node: plan.Attribute) -> Which:
        return Which.ADJACENT if node.which is Which.CURRENT else Which.SINGLE

    _add(state, state, mapped(expr, _reading(side)), expression, edges, scope)


def _returns_through_others(state: int, template: Template) -> bool:
    """Whether a trend can leave `state` and come back to it."""
    seen = {target for source, target in template.transitions if source == state and target != state}
    queue = list(seen)
    while queue:
        at = queue.pop()
        for source, target in template.transitions:
            if source == at and target not in seen:
                seen.add(target)
                queue.append(target)
    return state in seen


def _pair_by_order(expression: tree.Expression, expr: plan.Expr, uses: list[Use], edges: Edges, scope: Scope) -> None:
    """a.x op b.x, as match queries write it, where b always directly follows a: a single or last event, then a
    single or first one, outside of repeated groups."""
    states = sorted({use.state for use in uses})
    if len(states) != 2 or not all(_is_end(use, states[0], scope) for use in uses):
        hint = "Conditions on trends are about one event (A.x > 1) or two adjacent ones (A.x < NEXT(B).x)."
        raise not_yet(scope, "this form of condition on a trend", expression, hint)
    earlier, later = states
    if (earlier, later) not in edges.template.transitions or _returns_through_others(earlier, edges.template):
        raise _not_adjacent(earlier, later, expression, edges, scope)

    def side(node: plan.Attribute) -> Which:
        return Which.ADJACENT if node.component == later else Which.SINGLE

    _add(earlier, later, mapped(expr, _reading(side)), expression, edges, scope)


def _is_end(use: Use, earlier: int, scope: Scope) -> bool:
    """A single event, the last one of the earlier closure, or the first one of the later closure."""
    if not scope.places[use.state].closure:
        return use.role is Role.EVENT
    return use.role is (Role.LAST if use.state == earlier else Role.FIRST)


def _add(source: int, target: int, expr: plan.Expr, expression: tree.Expression, edges: Edges, scope: Scope) -> None:
    if (source, target) not in edges.template.transitions:
        raise _not_adjacent(source, target, expression, edges, scope)
    edges.edge.setdefault((source, target), []).append(expr)


def _not_adjacent(source: int, target: int, expression: tree.Expression, edges: Edges, scope: Scope) -> Exception:
    names = [place.variable for place in scope.places]
    pairs = ", ".join(f"{names[a]} then {names[b]}" for a, b in edges.template.transitions[:20]) or "none"
    message = f"{names[target]} does not always directly follow {names[source]} in a trend"
    if (source, target) not in edges.template.transitions:
        message = f"{names[target]} never directly follows {names[source]} in a trend"
    hint = f"Adjacent are: {pairs}. Write the condition with NEXT, on one of these pairs."
    return scope.refused(message, expression.span, hint)
