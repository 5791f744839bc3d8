"""The binding of a match query to its plan (N1-N3, N10, X1)."""

from __future__ import annotations

from dataclasses import replace

from saffron.language.binding.aggregates import bind_aggregate
from saffron.language.binding.conditions import WHICH, Conjunct, Use, bind_conjuncts, check_form, is_length
from saffron.language.binding.due_absences import check_due_absences, check_not_in_or, checks_of_rivals
from saffron.language.binding.equality import (
    distinct_checks_of_not,
    distinct_rules,
    key_checks,
    key_checks_of_not,
    unseen_distincts,
)
from saffron.language.binding.keys import Keys, bind_keys
from saffron.language.binding.list_conditions import check_list_condition
from saffron.language.binding.not_conditions import absence_of, checks_of_not
from saffron.language.binding.not_in_repetition import check_not_in_repetition
from saffron.language.binding.placement import edge_conditions, key_conditions
from saffron.language.binding.refusals import refuse_clauses, refuse_imprecise
from saffron.language.binding.strategies import Strategies, bind_strategies
from saffron.language.patterns.layout import Layout, NotLayout
from saffron.language.patterns.shapes import build_layout, is_flat
from saffron.language.patterns.states import check_states
from saffron.language.plan.clauses import DEFAULT_STREAM, Output, ReturnItem
from saffron.language.plan.delivery import Delivery
from saffron.language.plan.expressions import Const, Length
from saffron.language.plan.limits import MAX_COMPONENTS
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Absence, Check, Component, Condition, Edge, Strategy
from saffron.language.scope.composition import check_into
from saffron.language.scope.dotted_names import with_paths
from saffron.language.scope.names import item_names
from saffron.language.scope.places import Slot
from saffron.language.scope.published_row import match_row
from saffron.language.scope.scope import Scope
from saffron.language.scope.sorts import Sort, Typed
from saffron.language.scope.typed import attribute, bind_value
from saffron.language.scope.windows import bind_window
from saffron.language.syntax import tree
from saffron.language.syntax.paths import attribute_text
from saffron.language.syntax.printer import meaning_text
from saffron.language.syntax.tree import Index


def bind_match(query: tree.Query, scope: Scope, name: str) -> MatchPlan:
    """The plan of a match query, named `name`; raises QueryError."""
    layout = build_layout(query.pattern, scope)
    scope.declare(_slots(layout), MAX_COMPONENTS)
    check_states(query, layout.shape, scope)
    refuse_clauses(query, scope, aggregate=False)
    check_due_absences(query, layout, scope)
    strategies = _strategies(query, layout, scope)
    strict = query.time is not None and query.time.value == "STRICT"
    text, query = meaning_text(query), with_paths(query, scope)
    keys = bind_keys(query.conditions, (), scope)
    keys = replace(keys, impossible=(*keys.impossible, *unseen_distincts(layout, scope)))
    _check_partition(keys, query, strategies, layout, scope)
    conjuncts = bind_conjuncts(query.conditions, scope)
    checks, absences = _checks(conjuncts, keys, layout, scope)
    one = {*strategies.begins, *strategies.continues} == {strategies.whole}
    numbered = [use for conjunct in conjuncts for use in conjunct.uses if use.index in (Index.NTH, Index.THROUGH)]
    if numbered and _is_imprecise(query, scope):
        hint = "Write b[1].x, b[last].x, or an aggregate over b[..i-1] or b[]."
        message = "with imprecise time, conditions read neither b[n] nor b[..i]"
        raise scope.plan_error(message, numbered[0].span, hint)
    flat = is_flat(layout.shape) and one and not strict and not numbered
    returns = _returns(query, layout, scope)
    check_into(query, returns, scope)
    return MatchPlan(
        name=name,
        text=text,
        stream=query.stream or DEFAULT_STREAM,
        components=_components(layout, scope),
        strategy=strategies.whole,
        key=keys.whole,
        conditions=_conditions(conjuncts, keys, scope) if flat else (),
        window=bind_window(query, scope, tumbling=False),
        returns=returns,
        pattern=layout.shape,
        flat=flat,
        checks=checks,
        absences=absences,
        distinct=tuple(distinct_rules(layout, scope)),
        begins=strategies.begins,
        continues=strategies.continues,
        strict=strict,
        output=Output.ALL if query.output is None else Output(query.output.mode),
        timeouts=query.output is not None and query.output.timeouts,
        consume=_consume(query.consume, layout, scope),
        into=query.returns.into if query.returns else None,
        delivery=_delivery(query, name, returns, layout, scope),
        confidence=None if query.confidence is None else float(query.confidence.value),
    )


def _slots(layout: Layout) -> list[Slot]:
    """The components to declare. Further iterations inside a NOT refer to the first one."""
    first: dict[int, int] = {}
    slots = []
    for index, leaf in enumerate(layout.leaves):
        original = first.setdefault(id(leaf.event), index)
        repeated = None if original == index else original
        slots.append(Slot(leaf.event, bool(leaf.loops), repeated, leaf.absence is not None))
    return slots


def _components(layout: Layout, scope: Scope) -> tuple[Component, ...]:
    """The components of the plan; inside a NOT none is a closure."""
    return tuple(
        Component(place.variable, place.types, place.closure and leaf.absence is None)
        for place, leaf in zip(scope.places, layout.leaves, strict=True)
    )


def _strategies(query: tree.Query, layout: Layout, scope: Scope) -> Strategies:
    """The strategies of a query; with imprecise time (X2), skip-till-any-match is the only one."""
    default = Strategy.NEXT
    if _is_imprecise(query, scope):
        refuse_imprecise(query, scope)
        default = Strategy.ANY
    return bind_strategies(query, layout, scope, default)


def _is_imprecise(query: tree.Query, scope: Scope) -> bool:
    """True if the query is matched by confidence: it asks for one, or the stream's times are intervals."""
    return query.confidence is not None or (scope.schema is not None and bool(scope.schema.times))


def _check_partition(keys: Keys, query: tree.Query, strategies: Strategies, layout: Layout, scope: Scope) -> None:
    """Raise QueryError for NON-OVERLAP or partition-contiguity with a key that the NOTs of the pattern lack."""
    disjoint = query.output is not None and query.output.mode == Output.NON_OVERLAP.value
    if not disjoint and Strategy.PARTITION not in (*strategies.begins, *strategies.continues):
        return
    for partial in keys.partial:
        if set(range(layout.positive)) <= set(partial.components):
            clause = "NON-OVERLAP" if disjoint else "partition-contiguity"
            hint = f"Write [{attribute_text(partial.attribute.name)}], of all components, or leave {clause} out."
            message = f"{clause} needs a key that what must not be there has, too"
            raise scope.plan_error(message, partial.written.span, hint)


# ---------------------------------------------------------------- WHERE


def _conditions(conjuncts: list[Conjunct], keys: Keys, scope: Scope) -> tuple[Condition, ...]:
    """The conditions of a flat plan: conjuncts and partial keys on their edges; `false` for an impossible key."""
    conditions = [condition for conjunct in conjuncts for condition in edge_conditions(conjunct)]
    for partial in keys.partial:
        conditions.extend(key_conditions(partial, scope))
    if keys.impossible:
        conditions.append(Condition(0, Edge.BEGIN, Const(False), True, "an attribute that no event has"))
    return tuple(conditions)


def _checks(
    conjuncts: list[Conjunct], keys: Keys, layout: Layout, scope: Scope
) -> tuple[tuple[Check, ...], tuple[Absence, ...]]:
    """The checks of the match, and its NOTs with their checks."""
    checks: list[Check] = []
    inside: list[list[Check]] = [[] for _ in layout.absences]
    beside: dict[int, list[Use]] = {}
    for conjunct in conjuncts:
        number = absence_of(conjunct, layout, scope)
        if number is None:
            check_list_condition(conjunct, layout, scope)
            checks.append(Check(conjunct.expr, conjunct.text))
        else:
            inside[number].extend(checks_of_not(conjunct, number, layout, scope))
            beside.setdefault(number, []).extend(use for use in conjunct.uses if use.component < layout.positive)
    check_not_in_repetition(beside, layout, scope)
    check_not_in_or(beside, layout, scope)
    for partial in keys.partial:
        checks.extend(key_checks(partial, layout))
        for number, own in enumerate(inside):
            own.extend(key_checks_of_not(partial, number, layout, scope))
    for text, components in keys.impossible:
        never = Check(Const(False), text)
        if any(component < layout.positive for component in components):
            checks.append(never)
        for number in {layout.leaves[component].absence for component in components} - {None}:
            inside[number or 0].append(never)
    for number, own in enumerate(inside):
        own.extend(distinct_checks_of_not(number, layout, scope))
    for number, own in enumerate(inside):
        own.extend(inside[number - 1] if layout.absences[number].or_else else checks_of_rivals(checks, number, layout))
    absences = tuple(_absence(ruled, tuple(own)) for ruled, own in zip(layout.absences, inside, strict=True))
    return tuple(checks), absences


def _absence(ruled: NotLayout, checks: tuple[Check, ...]) -> Absence:
    """The NOT of a plan: its layout with its checks. `duration` is None without FOR or EVERY."""
    due = ruled.due
    return Absence(
        ruled.components,
        ruled.sequences,
        checks,
        ruled.loops,
        duration=None if due is None else due.amount,
        every=due is not None and due.every,
        or_else=ruled.or_else,
        until=ruled.until,
    )


def _consume(consume: tree.Consume | None, layout: Layout, scope: Scope) -> tuple[int, ...]:
    """The components of CONSUME, sorted."""
    if consume is None or consume.scope == "none":
        return ()
    if consume.scope == "all":
        return tuple(range(layout.positive))
    found = [scope.component(variable, consume.span) for variable in consume.variables]
    for component in found:
        _check_bound(component, layout, consume.span, scope)
    return tuple(sorted(set(found)))


def _check_bound(component: int, layout: Layout, span: tree.Span, scope: Scope) -> None:
    """Raise QueryError for a component inside a NOT or UNTIL, which no match binds."""
    number = layout.leaves[component].absence
    if number is None:
        return
    name = scope.places[component].variable
    if layout.absences[number].until:
        hint = "The event that ends a repetition is not in the match. To have it there, write it as the next step."
        raise scope.plan_error(f"{name} stands behind UNTIL", span, hint)
    hint = "A NOT rules events out: there is none of them in a match."
    raise scope.plan_error(f"{name} stands inside a NOT", span, hint)


# ---------------------------------------------------------------- RETURN


def _returns(query: tree.Query, layout: Layout, scope: Scope) -> tuple[ReturnItem, ...]:
    items = query.returns.items if query.returns else ()
    bound = [bind_value(item.expression, scope, lambda leaf: _leaf(leaf, layout, scope)) for item in items]
    names = item_names(items, scope)
    return tuple(ReturnItem(name, typed.expr) for name, typed in zip(names, bound, strict=True))


def _delivery(query: tree.Query, name: str, returns: tuple[ReturnItem, ...], layout: Layout, scope: Scope) -> Delivery:
    """EMIT and PUBLISH. Results that are events of other queries (INTO) are written where PUBLISH says so."""
    publish = query.publish
    key = None
    if publish is not None and publish.key is not None:
        key = bind_value(publish.key, scope, lambda leaf: _leaf(leaf, layout, scope)).expr
    return Delivery(
        values=query.emit is not None,
        written=publish is not None or query.returns is None or query.returns.into is None,
        topic=None if publish is None else publish.topic,
        key=key,
        row=match_row(
            query,
            name,
            returns,
            bind_window(query, scope, tumbling=False),
            scope,
            imprecise=_is_imprecise(query, scope),
        ),
    )


def _leaf(expression: tree.Expression, layout: Layout, scope: Scope) -> Typed:
    """A bound reference or aggregate of RETURN, where all closures are finished."""
    if isinstance(expression, tree.Call):
        argument, component, typed = bind_aggregate(expression, scope)
        _check_bound(component, layout, argument.span, scope)
        if argument.index in (Index.BEFORE, Index.THROUGH):
            hint = f"Write {argument.variable}[]: the finished closure."
            raise scope.schema_error("in RETURN, no event is being taken", argument.span, hint)
        return typed
    if isinstance(expression, tree.Reference):
        return _reference(expression, layout, scope)
    if isinstance(expression, tree.Next):
        raise scope.schema_error("NEXT stands in WHERE only", expression.span)
    assert isinstance(expression, tree.Name)
    hint = f"Write whose it is, as in {scope.places[0].variable}.{attribute_text(expression.name)}."
    of_event = "The events themselves are always in the result; RETURN names values computed from them."
    raise scope.bare_name_error(expression, hint, of_event)


def _reference(reference: tree.Reference, layout: Layout, scope: Scope) -> Typed:
    """A bound reference of RETURN; QueryError for v[i] and v[i-1]."""
    component = scope.component(reference.variable, reference.span)
    _check_bound(component, layout, reference.span, scope)
    place = scope.places[component]
    if is_length(reference, place.closure):
        return Typed(Length(component), Sort.NUMBER)
    if reference.index in (Index.CURRENT, Index.PREVIOUS):
        hint = f"Write {place.written}[1], {place.written}[last], or an aggregate such as avg({place.written}[].x)."
        raise scope.schema_error("in RETURN, no event is being taken", reference.span, hint)
    check_form(reference, component, scope)
    found = scope.attribute(place.types, str(reference.attribute), reference.span)
    return attribute(found, component, WHICH[reference.index], reference.back)
