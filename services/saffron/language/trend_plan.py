"""The plan of an aggregate query: a GRETA template with its conditions (T1, T2, T6, T7)."""

from __future__ import annotations

from saffron.engine.events.schema import Kind
from saffron.language import plan, tree
from saffron.language.edges import Edges, bind_edges
from saffron.language.keys import Partial, bind_keys
from saffron.language.printer import expression_text, query_text
from saffron.language.refusals import (
    is_trend_aggregate,
    not_yet,
    refuse_clauses,
    refuse_pattern,
    refuse_trend_aggregate,
)
from saffron.language.scope import Scope, Slot
from saffron.language.strategies import bind_strategy
from saffron.language.template import Template, build
from saffron.language.typed import kind_or_guess
from saffron.language.windows import bind_window


def is_aggregate(query: tree.Query) -> bool:
    """Whether RETURN has an aggregate over trends, at whatever depth."""
    if query.returns is None:
        return False
    stack = [item.expression for item in query.returns.items]
    while stack:
        expression = stack.pop()
        if is_trend_aggregate(expression):
            return True
        stack.extend(tree.operands(expression))
    return False


def bind_trend(query: tree.Query, scope: Scope, name: str) -> plan.TrendPlan:
    """An aggregate query as a plan; raises QueryError."""
    refuse_pattern(query.pattern, scope)
    template = build(query.pattern)
    scope.declare([Slot(event, closure) for event, closure in template.events], plan.MAX_STATES)
    refuse_clauses(query, scope, aggregate=True)
    if scope.schema is not None and scope.schema.times:
        hint = "Ask for the matches: leave COUNT(*) and its like out of RETURN."
        raise scope.refused(
            "trends are counted over exact times, and this stream has intervals", query.pattern.span, hint
        )
    strategy = bind_strategy(query, scope, plan.Strategy.ANY)
    if strategy is not plan.Strategy.ANY:
        hint = "Leave it out, or write skip-till-any-match."
        span = query.strategies[0].span
        raise scope.refused(f"this version does not count trends by {strategy.value} yet", span, hint)
    keys = bind_keys(query.conditions, query.group, scope)
    edges = bind_edges(query.conditions, template, scope)
    for partial in keys.partial:
        _agree(partial, edges, scope)
    if keys.impossible:
        edges.local.setdefault(template.start, []).append(plan.Const(False))
    return plan.TrendPlan(
        name=name,
        text=query_text(query),
        stream=query.stream or plan.DEFAULT_STREAM,
        components=tuple(plan.Component(place.variable, place.type, place.closure) for place in scope.places),
        template=_template(template, edges, scope),
        strategy=strategy,
        strict=query.time is not None and query.time.value == "STRICT",
        key=keys.whole,
        group=tuple(attribute.name for attribute in query.group),
        window=bind_window(query, scope, tumbling=True),
        aggregates=(plan.TrendAggregate("count", None, None, None),),
        returns=_returns(query, scope),
    )


def _template(template: Template, edges: Edges, scope: Scope) -> plan.Template:
    states = range(len(scope.places))
    return plan.Template(
        tuple(plan.TrendState(state, state == template.start, state == template.end) for state in states),
        tuple(
            plan.Transition(source, target, tuple(edges.edge.get((source, target), ())))
            for source, target in template.transitions
        ),
        tuple(tuple(edges.local.get(state, ())) for state in states),
    )


def _agree(partial: Partial, edges: Edges, scope: Scope) -> None:
    """[P.vehicle] where only some states have it: each of their events agrees with the one before it.

    That is enough only if a trend's events of these states are all in a row.
    """
    asked = set(partial.components)
    name, kind = partial.attribute.name, kind_or_guess(partial.attribute)
    outside = {b for a, b in edges.template.transitions if a in asked and b not in asked}
    grown = True
    while grown:
        reached = {b for a, b in edges.template.transitions if a in outside and b not in asked}
        grown = not reached <= outside
        outside |= reached
    if any(a in outside and b in asked for a, b in edges.template.transitions):
        hint = f"Write [{partial.written.name}] if all events have it."
        raise scope.refused("events that must agree lie apart in the trend", partial.written.span, hint)
    for state in sorted(asked):
        value = plan.Attribute(state, plan.Which.SINGLE, name, kind)
        edges.local.setdefault(state, []).append(plan.Binary("=", value, value))
    for source, target in edges.template.transitions:
        if source in asked and target in asked:
            left = plan.Attribute(source, plan.Which.SINGLE, name, kind)
            right = plan.Attribute(target, plan.Which.ADJACENT, name, kind)
            edges.edge.setdefault((source, target), []).append(plan.Binary("=", left, right))


def _returns(query: tree.Query, scope: Scope) -> tuple[plan.ReturnItem, ...]:
    """COUNT(*) by name; group attributes, which results show in "group", stand beside it."""
    assert query.returns is not None
    group = [attribute.name for attribute in query.group]
    found: dict[str, plan.ReturnItem] = {}
    for item in query.returns.items:
        expression = item.expression
        if is_trend_aggregate(expression):
            assert isinstance(expression, tree.Call)
            if not isinstance(expression.arguments[0], tree.Star):
                raise refuse_trend_aggregate(expression, scope)
            name = item.alias or expression_text(expression)
            if name in found:
                raise scope.wrong(f"two items of RETURN are called '{name[:60]}'", item.span, "Name one: ... AS name.")
            found[name] = plan.ReturnItem(name, plan.TrendValue(0, Kind.INT))
        else:
            _check_group_item(item, group, scope)
    return tuple(found.values())


def _check_group_item(item: tree.Item, group: list[str], scope: Scope) -> None:
    expression = item.expression
    if isinstance(expression, tree.Name | tree.Reference):
        name = expression.name if isinstance(expression, tree.Name) else expression.attribute
        if name in group and item.alias is None:
            return
        if name in group:
            raise scope.refused("group attributes keep their names in results", item.span, "Leave AS out.")
        hint = f"Write GROUP BY {name} to have a result for each {name}." if name else ""
        raise scope.refused("RETURN names an attribute by which trends are not grouped", item.span, hint)
    hint = "Return COUNT(*) by itself, and compute with it where it is used."
    raise not_yet(scope, "computing with aggregates", expression, hint)
