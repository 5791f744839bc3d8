"""The binding of an aggregate query's conditions: on one event, or on two adjacent events of a trend (T1, T6).

GRETA sees an event and its predecessors, never a whole trend. The notation of match queries is accepted where the
events are always adjacent: a[i-1] with a[i], a.x with b.x. All other conditions raise QueryError with an alternative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial

from saffron.errors import QueryError
from saffron.language.patterns.layout import Leaf
from saffron.language.patterns.successors import PlaceGraph, adjacency
from saffron.language.plan.expressions import Attribute, Expr, Which
from saffron.language.plan.rewrite import mapped
from saffron.language.scope.scope import Scope
from saffron.language.scope.sorts import Typed
from saffron.language.scope.typed import attribute, bind_condition
from saffron.language.syntax import tree
from saffron.language.syntax.lexing.tokens import name_text
from saffron.language.syntax.paths import attribute_text
from saffron.language.syntax.tree import Index
from saffron.language.trends.layout import PatternPart, TrendLayout
from saffron.schema.event_types import EventTypes

MATCH_INSTEAD = "Or match the pattern: RETURN without COUNT(*) and its like."


class Role(Enum):
    """The notation by which a condition names an event of a trend."""

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
EACH = {Role.EVENT, Role.CURRENT}
"""Notations that name each event of a component."""


@dataclass(frozen=True)
class Use:
    """A reference in a condition: its component, notation and place."""

    component: int
    role: Role
    span: tree.Span


@dataclass
class Conditions:
    """The bound conditions. `local`: by component, on each of its events. `always`: constant ones.

    `edge`: by (earlier, later) component, on each adjacent pair of their events.
    """

    local: dict[int, list[Expr]] = field(default_factory=dict)
    edge: dict[tuple[int, int], list[Expr]] = field(default_factory=dict)
    always: list[Expr] = field(default_factory=list)


def bind_edges(
    expressions: tuple[tree.Expression, ...],
    layout: TrendLayout,
    place_graphs: dict[PatternPart, PlaceGraph],
    scope: Scope,
) -> Conditions:
    """The conditions of all conjuncts but the keys; QueryError for those on events that are not adjacent."""
    binder = _Binder(layout, place_graphs, scope)
    for expression in expressions:
        if not isinstance(expression, tree.Key):
            binder.bind(expression)
    return binder.found


class _Binder:
    """The binder of conjuncts. `place_graphs`: by part of the pattern, which events can be adjacent."""

    def __init__(self, layout: TrendLayout, place_graphs: dict[PatternPart, PlaceGraph], scope: Scope) -> None:
        self.layout, self.place_graphs, self.scope = layout, place_graphs, scope
        self.found = Conditions()

    def bind(self, expression: tree.Expression) -> None:
        """Add one conjunct to `found`."""
        uses: list[Use] = []
        expr = bind_condition(expression, self.scope, lambda leaf: self._leaf(leaf, uses))
        components = sorted({use.component for use in uses})
        roles = {use.role for use in uses}
        if not components:
            self.found.always.append(expr)
            return
        self._check_one_part(components, expression)
        if len(components) == 1 and roles <= EACH:
            local = self.found.local.setdefault(components[0], [])
            local.append(mapped(expr, _reading(lambda _: Which.SINGLE)))
        elif Role.NEXT in roles:
            self._by_next(expression, expr, uses)
        elif len(components) == 1:
            self._by_index(expression, expr, uses)
        else:
            self._by_order(expression, expr, uses, components)

    # ------------------------------------------------------------ references

    def _leaf(self, expression: tree.Expression, uses: list[Use]) -> Typed:
        """A reference as an attribute. NEXT and a[i], a[i-1] keep their notation; all others are read as SINGLE."""
        scope = self.scope
        if isinstance(expression, tree.Next):
            return self._attribute(expression.variable, expression.attribute, Role.NEXT, expression, uses)
        if isinstance(expression, tree.Call):
            hint = f"Compare adjacent events: A.x < NEXT(A).x. {MATCH_INSTEAD}"
            message = f"{expression.function} runs over the events of one trend, which is never built"
            raise scope.plan_error(message, expression.span, hint)
        if isinstance(expression, tree.Name):
            of_event = f"It is an event: write {name_text(expression.name)}.x for an attribute of it."
            raise scope.bare_name_error(expression, "Write whose it is, as in A.x.", of_event)
        assert isinstance(expression, tree.Reference)
        if expression.index is Index.NTH:
            written = scope.text[expression.span.start : expression.span.end][:60]
            message = f"{written} is one of a trend's {expression.variable}: GRETA knows adjacent events only"
            hint = f"Compare adjacent events: A.x < NEXT(A).x. {MATCH_INSTEAD}"
            raise scope.plan_error(message, expression.span, hint)
        if expression.index not in ROLES or expression.attribute is None:
            hint = "Conditions on trends read A.x and NEXT(A).x."
            raise scope.schema_error("a list of events where one value is needed", expression.span, hint)
        if expression.back > 1:
            name = expression.variable
            hint = f"Adjacent events are one apart: {name}[i-1], {name}[i]. {MATCH_INSTEAD}"
            message = f"{name}[i-{expression.back}] and {name}[i] are not adjacent in a trend"
            raise scope.plan_error(message, expression.span, hint)
        return self._attribute(expression.variable, expression.attribute, ROLES[expression.index], expression, uses)

    def _attribute(self, variable: str, name: str, role: Role, expression: tree.Expression, uses: list[Use]) -> Typed:
        """A bound attribute in the notation `role`; its use is appended to `uses`."""
        component = self.scope.component(variable, expression.span)
        place = self.scope.places[component]
        alone = role is Role.CURRENT and self.layout.part_of(component).repeated
        if role not in (Role.EVENT, Role.NEXT) and not place.closure and not alone:
            hint = f"Write {place.written}.{attribute_text(name)}."
            raise self.scope.schema_error(f"{place.written} is one event, not a closure", expression.span, hint)
        if role is Role.EVENT and place.closure and name.lower() == "len" and not self._has(place.types, name):
            hint = f"A trend of two or more: {place.written_types}{{2,}} {place.written}. {MATCH_INSTEAD}"
            raise self.scope.plan_error(f"{variable}.len counts the events of one trend", expression.span, hint)
        uses.append(Use(component, role, expression.span))
        which = {Role.NEXT: Which.ADJACENT, Role.CURRENT: Which.CURRENT, Role.PREVIOUS: Which.PREVIOUS}
        found = self.scope.attribute(place.types, name, expression.span)
        return attribute(found, component, which.get(role, Which.SINGLE), int(role is Role.PREVIOUS))

    def _has(self, types: EventTypes, name: str) -> bool:
        """True if the schema gives one of the types this attribute."""
        return self.scope.schema is not None and name in self.scope.schema.attributes_of_any(types)

    def _check_one_part(self, components: list[int], expression: tree.Expression) -> None:
        """Raise QueryError if the components stand in two parts: two sides of AND, two NOTs, or a side and a NOT."""
        parts = [self.layout.part_of(component) for component in components]
        other = next((at for at, part in enumerate(parts) if part is not parts[0]), None)
        if other is None:
            return
        one, two = (self.scope.places[components[at]].variable for at in (0, other))
        negated = [part for part in parts if part in self.layout.negatives]
        if not negated:
            hint = "Write a condition for each side."
            raise self.scope.plan_error(f"{one} and {two} stand on two sides of an AND", expression.span, hint)
        if len(negated) == len(parts):
            hint = "Write a condition for each NOT; directly neighbouring ones are one NOT."
            raise self.scope.plan_error("a condition on the events of two NOTs", expression.span, hint)
        hint = f"Ask for a value that all events have in common: [x]. {MATCH_INSTEAD}"
        message = f"{two} stands inside a NOT, which is looked for once for all trends, not for each {one}"
        raise self.scope.plan_error(message, expression.span, hint)

    # ------------------------------------------------------------ two adjacent events

    def _by_next(self, expression: tree.Expression, expr: Expr, uses: list[Use]) -> None:
        """Add A.x op NEXT(B).x, which applies wherever an event of B is right behind one of A."""
        later = {use.component for use in uses if use.role is Role.NEXT}
        earlier = {use.component for use in uses if use.role in EACH}
        if len(earlier) != 1 or len(later) != 1 or {use.role for use in uses} - EACH - {Role.NEXT}:
            hint = "It names one event and the one that follows it: A.x < NEXT(B).x."
            if not earlier:
                name = self.scope.places[uses[0].component].variable
                hint = f"Beside NEXT stands the earlier event; a condition on each event reads {name}.x."
            raise self.scope.schema_error("a condition with NEXT is about two adjacent events", expression.span, hint)
        one, two = earlier.pop(), later.pop()
        if (one, two) not in self._adjacent(one):
            raise self._not_adjacent(one, two, "never", expression)
        self._add(one, two, expr, lambda node: node.which is Which.ADJACENT)

    def _by_index(self, expression: tree.Expression, expr: Expr, uses: list[Use]) -> None:
        """Add a[i].x op a[i-1].x; QueryError if these events are not always adjacent."""
        component, roles = uses[0].component, {use.role for use in uses}
        place = self.scope.places[component]
        if not roles <= {Role.CURRENT, Role.PREVIOUS}:
            role = Role.FIRST if Role.FIRST in roles else Role.LAST if Role.LAST in roles else Role.EVENT
            use = next(use for use in uses if use.role is role)
            raise self._one_of_a_list(use, place.written_types, place.variable)
        found = adjacency(self._graph(component), component, component)
        if found.separated:
            name = place.variable
            hint = f"Write {name}.x < NEXT({name}).x for adjacent events of {name}."
            message = f"{name}[i-1] may belong to an earlier round of the group, and is not adjacent to {name}[i]"
            raise self.scope.plan_error(message, expression.span, hint)
        self._add(component, component, expr, lambda node: node.which is Which.CURRENT)

    def _one_of_a_list(self, use: Use, type_name: str, name: str) -> QueryError:
        """The error of a reference to one event of a list, such as a[1], which GRETA cannot tell from others."""
        written = self.scope.text[use.span.start : use.span.end][:60]
        if use.role is Role.EVENT:
            hint = f"Write {name}[i].x, or with NEXT: {name}.x < NEXT({name}).x."
            return self.scope.plan_error(f"which {name} is {written} beside {name}[i-1]?", use.span, hint)
        first = use.role is Role.FIRST
        row = f"{type_name} {name}1, {type_name}* {name}" if first else f"{type_name}* {name}, {type_name} {name}1"
        hint = f"Make it a component of its own: SEQ({row}), and write {name}1.x. {MATCH_INSTEAD}"
        message = (
            f"{written} is the {'first' if first else 'last'} of a trend's {name}: GRETA knows adjacent events only"
        )
        return self.scope.plan_error(message, use.span, hint)

    def _by_order(self, expression: tree.Expression, expr: Expr, uses: list[Use], components: list[int]) -> None:
        """Add a.x op b.x; QueryError unless b is right behind a in each trend, or iteration, that has both."""
        if len(components) > 2:
            hint = "Write a condition for each pair of adjacent events: A.x < NEXT(B).x."
            raise self.scope.plan_error("a condition on three events or more", expression.span, hint)
        one, two = components
        leaves = self.layout.layout.leaves
        for use in uses:
            self._check_named(use, leaves, one if use.component == two else two)
        roles = {use.component: use.role for use in uses}
        iterated = Role.CURRENT in roles.values()
        if len({(use.component, use.role) for use in uses}) > 2 or (iterated and set(roles.values()) - EACH):
            hint = f"Write it with NEXT, on one pair of adjacent events. {MATCH_INSTEAD}"
            raise self.scope.plan_error("a condition on several events of one list", expression.span, hint)
        loops = frozenset(leaves[one].loops) if iterated else frozenset()
        graph = self._graph(one)
        ways = {(one, two): adjacency(graph, one, two, loops), (two, one): adjacency(graph, two, one, loops)}
        direct = [pair for pair, found in ways.items() if found.direct]
        wrong_end = any(roles[a] is Role.FIRST or roles[b] is Role.LAST for a, b in direct)
        lists = any(role in (Role.FIRST, Role.LAST) for role in roles.values())
        if (
            any(found.separated or (found.direct and found.across) for found in ways.values())
            or wrong_end
            or (lists and len(direct) > 1)
        ):
            raise self._not_adjacent(one, two, "not always", expression)
        if not direct:
            names = " and ".join(self.scope.places[component].variable for component in components)
            self.scope.warn(f"no trend has both {names}: the condition always holds", expression.span)
        for earlier, later in direct:
            self._add(earlier, later, expr, partial(_is_of, later))

    def _check_named(self, use: Use, leaves: tuple[Leaf, ...], other: int) -> None:
        """Raise QueryError if a reference beside one to component `other` does not name one event."""
        place, name = self.scope.places[use.component], self.scope.places[other].variable
        if use.role is Role.PREVIOUS:
            hint = f"Write it with NEXT: {place.written}.x < NEXT({name}).x."
            raise self.scope.plan_error(f"{place.written}[i-1] and {name} are not adjacent", use.span, hint)
        if place.closure and use.role is Role.EVENT:
            hint = f"Write it with NEXT, for adjacent ones: {place.written}.x < NEXT({name}).x; "
            hint += f"{place.written}[last].x is that of the last one."
            message = f"which {place.written} is {self.scope.text[use.span.start : use.span.end][:60]} beside {name}?"
            raise self.scope.plan_error(message, use.span, hint)
        if use.role is Role.CURRENT and leaves[use.component].loops != leaves[other].loops:
            hint = f"Write it with NEXT, for adjacent ones: {place.written}.x < NEXT({name}).x."
            message = f"{place.written}[i] and {name} are not always adjacent"
            raise self.scope.plan_error(message, use.span, hint)

    # ------------------------------------------------------------ adjacency in the pattern

    def _graph(self, component: int) -> PlaceGraph:
        return self.place_graphs[self.layout.part_of(component)]

    def _adjacent(self, component: int) -> list[tuple[int, int]]:
        """(earlier, later) components that can be adjacent, in the part of a component."""
        graph = self._graph(component)
        return sorted({(place[0], step.target[0]) for place in graph.stances for step in graph.steps(place)})

    def _add(self, earlier: int, later: int, expr: Expr, is_later: Callable[[Attribute], bool]) -> None:
        """Add an edge condition. `is_later`: whether an attribute reads the later event."""
        read = mapped(expr, _reading(lambda node: Which.ADJACENT if is_later(node) else Which.SINGLE))
        self.found.edge.setdefault((earlier, later), []).append(read)

    def _not_adjacent(self, one: int, two: int, how: str, expression: tree.Expression) -> QueryError:
        """The error of two components that are "never" or "not always" adjacent (`how`), with the pairs that are."""
        names = [place.variable for place in self.scope.places]
        adjacent = self._adjacent(one)
        listed = ", ".join(f"{names[a]} then {names[b]}" for a, b in adjacent[:20]) or "none"
        if (one, two) not in adjacent and (two, one) not in adjacent:
            how = "never"
        message = f"{names[two]} {'does not always' if how == 'not always' else 'never'} directly follow"
        message += f"{'' if how == 'not always' else 's'} {names[one]} in a trend"
        hint = f"Adjacent are: {listed}. Write the condition with NEXT, on one of these pairs."
        return self.scope.plan_error(message, expression.span, hint)


def _is_of(component: int, node: Attribute) -> bool:
    return node.component == component


def _reading(which: Callable[[Attribute], Which]) -> Callable[[Expr], Expr]:
    """A rewrite of leaves: each attribute is read from the event that `which` names, SINGLE or ADJACENT."""

    def leaf(node: Expr) -> Expr:
        return replace(node, which=which(node), back=0) if isinstance(node, Attribute) else node

    return leaf
