"""The binding of an aggregate query to its plan: GRETA templates with conditions (T1, T2, T4, T6, T7, T10)."""

from __future__ import annotations

from dataclasses import replace

from saffron.errors import QueryError
from saffron.language.binding.keys import Keys, PartialKey, bind_keys
from saffron.language.binding.refusals import refuse_clauses
from saffron.language.binding.strategies import Strategies, bind_strategies
from saffron.language.patterns.successors import PlaceGraph, Refuse, place_graph
from saffron.language.plan.clauses import DEFAULT_STREAM
from saffron.language.plan.delivery import Delivery
from saffron.language.plan.expressions import Attribute, Binary, Const, Which
from saffron.language.plan.limits import MAX_STATES
from saffron.language.plan.pattern import Component, Strategy
from saffron.language.plan.trend_plan import Template, Transition, TrendPlan
from saffron.language.scope.dotted_names import with_paths
from saffron.language.scope.places import Slot
from saffron.language.scope.published_row import trend_row
from saffron.language.scope.scope import Scope
from saffron.language.scope.typed import kind_or_guess
from saffron.language.scope.windows import bind_window
from saffron.language.syntax import tree
from saffron.language.syntax.paths import attribute_text
from saffron.language.syntax.printer import meaning_text
from saffron.language.trends import conjunction
from saffron.language.trends.edges import Conditions, bind_edges
from saffron.language.trends.layout import PatternPart, TrendLayout, build_trend_layout
from saffron.language.trends.template import template_of
from saffron.language.trends.values import bind_values, is_trend_aggregate


def is_aggregate(query: tree.Query) -> bool:
    """True if RETURN has an aggregate over trends, at any depth."""
    if query.returns is None:
        return False
    stack = [item.expression for item in query.returns.items]
    while stack:
        expression = stack.pop()
        if is_trend_aggregate(expression):
            return True
        stack.extend(tree.operands(expression))
    return False


def bind_trend(query: tree.Query, scope: Scope, name: str) -> TrendPlan:
    """The plan of an aggregate query, named `name`; raises QueryError."""
    layout = build_trend_layout(query.pattern, scope)
    leaves = layout.layout.leaves
    scope.declare([Slot(leaf.event, bool(leaf.loops), absent=leaf.absence is not None) for leaf in leaves], MAX_STATES)
    refuse_clauses(query, scope, aggregate=True)
    if scope.schema is not None and scope.schema.times:
        hint = "Ask for the matches: leave COUNT(*) and its like out of RETURN."
        raise scope.plan_error(
            "trends are counted over exact times, and this stream has intervals", query.pattern.span, hint
        )
    strategies = bind_strategies(query, layout.layout, scope, Strategy.ANY)
    text, query = meaning_text(query), with_paths(query, scope)
    place_graphs = {part: _graph(part, layout, strategies, scope) for part in layout.parts}
    keys = bind_keys(query.conditions, query.group, scope)
    conditions = bind_edges(query.conditions, layout, place_graphs, scope)
    templates = {
        part: template_of(place_graphs[part], _refusing(part, scope), negative=part in layout.negatives)
        for part in layout.parts
    }
    for partial in keys.partial:
        _add_partial_key(partial, templates, layout, conditions, scope)
    _check_group(query, keys, scope)
    components = tuple(Component(place.variable, place.types, place.closure) for place in scope.places)
    filled = {part: _filled(templates[part], part, conditions, keys, layout) for part in layout.parts}
    values = bind_values(query, layout, scope)
    window = bind_window(query, scope, tumbling=True)
    left, *others = (filled[part] for part in layout.sides)
    if others:
        _check_conjunction(query, layout, filled, components, strategies, scope)
        others.append(conjunction.both(left, others[0], components))
    return TrendPlan(
        name=name,
        text=text,
        stream=query.stream or DEFAULT_STREAM,
        components=components,
        template=left,
        strategy=strategies.whole,
        strict=query.time is not None and query.time.value == "STRICT",
        key=keys.whole,
        group=tuple(attribute.name for attribute in query.group),
        window=window,
        aggregates=values.aggregates,
        returns=values.returns,
        negatives=tuple(filled[part] for part in layout.negatives),
        sides=tuple(others),
        having=values.having,
        exact=query.exact is not None,
        delivery=Delivery(
            topic=None if query.publish is None else query.publish.topic,
            key=values.key,
            row=trend_row(query, name, values.groups, values.returns, window, scope),
        ),
    )


def _refusing(part: PatternPart, scope: Scope) -> Refuse:
    """A maker of errors that point at a part."""

    def refuse(message: str, hint: str) -> QueryError:
        return scope.plan_error(message, part.span, hint)

    return refuse


def _graph(part: PatternPart, layout: TrendLayout, strategies: Strategies, scope: Scope) -> PlaceGraph:
    """The places of a part. Inside a NOT the strategy is skip-till-any-match."""
    chosen = (strategies.begins, strategies.continues) if part in layout.sides else ((), ())
    return place_graph(part.shape, *chosen, _refusing(part, scope))


def _filled(template: Template, part: PatternPart, conditions: Conditions, keys: Keys, layout: TrendLayout) -> Template:
    """The template with its conditions; constant ones stand at its start states."""
    always = list(conditions.always) if part in layout.sides else []
    positive = layout.layout.positive
    for _, components in keys.impossible:
        own = any(component in part.components for component in components)
        if own if part in layout.negatives else any(component < positive for component in components):
            always.append(Const(False))
    local = tuple(
        (*conditions.local.get(state.component, ()), *(always if state.start else ())) for state in template.states
    )
    transitions = tuple(
        replace(one, conditions=tuple(conditions.edge.get(_ends(template, one), ()))) for one in template.transitions
    )
    return Template(template.states, transitions, local)


def _ends(template: Template, transition: Transition) -> tuple[int, int]:
    """The (earlier, later) components of a transition."""
    return template.states[transition.source].component, template.states[transition.target].component


# ---------------------------------------------------------------- limits of GRETA


def _check_group(query: tree.Query, keys: Keys, scope: Scope) -> None:
    """Raise QueryError for GROUP BY of an attribute that only some components have."""
    for attribute in query.group:
        if attribute.owner is not None and attribute.name not in keys.whole:
            hint = f"Write GROUP BY {attribute_text(attribute.name)}: all events of a trend then have the same one."
            raise scope.plan_error("trends are grouped by what all of their events have", attribute.span, hint)


def _check_conjunction(
    query: tree.Query,
    layout: TrendLayout,
    filled: dict[PatternPart, Template],
    components: tuple[Component, ...],
    strategies: Strategies,
    scope: Scope,
) -> None:
    """Raise QueryError for AND with skip-till-next-match, or with an ambiguous side."""
    if Strategy.NEXT in (*strategies.begins, *strategies.continues):
        hint = "Write skip-till-any-match, or a query for each side."
        span = next(use.span for use in query.strategies if use.name == Strategy.NEXT.value)
        raise scope.plan_error("what both sides of an AND select by skip-till-next-match is not known", span, hint)
    for part in layout.sides:
        conjunction.check_one_reading(filled[part], components, _refusing(part, scope))
    left, right = layout.sides
    conjunction.check_same_types(filled[left], filled[right], components, _refusing(right, scope))


def _add_partial_key(
    partial: PartialKey,
    templates: dict[PatternPart, Template],
    layout: TrendLayout,
    conditions: Conditions,
    scope: Scope,
) -> None:
    """Add the conditions of a partial key such as [P.vehicle]: each of its events equals the one before.

    QueryError unless the events of its components are all in a row in one part, where that suffices.
    """
    parts = {layout.part_of(component) for component in partial.components}
    members = set(partial.components)
    if len(parts) != 1 or any(_can_return(templates[part], members) for part in parts):
        hint = f"Write [{attribute_text(partial.written.name)}] if all events have it."
        raise scope.plan_error("events that must agree are not all in a row in the trend", partial.written.span, hint)
    name, kind = partial.attribute.name, kind_or_guess(partial.attribute)
    for component in sorted(members):
        value = Attribute(component, Which.SINGLE, name, kind)
        conditions.local.setdefault(component, []).append(Binary("=", value, value))
    (part,) = parts
    adjacent = {_ends(templates[part], one) for one in templates[part].transitions}
    for source, target in sorted(adjacent):
        if source in members and target in members:
            left = Attribute(source, Which.SINGLE, name, kind)
            right = Attribute(target, Which.ADJACENT, name, kind)
            conditions.edge.setdefault((source, target), []).append(Binary("=", left, right))


def _can_return(template: Template, components: set[int]) -> bool:
    """True if a trend can leave the states of these components and come back."""
    inside = [state.component in components for state in template.states]
    outside = {one.target for one in template.transitions if inside[one.source] and not inside[one.target]}
    while (
        more := {one.target for one in template.transitions if one.source in outside and not inside[one.target]}
        - outside
    ):
        outside |= more
    return any(one.source in outside and inside[one.target] for one in template.transitions)
