"""Imprecise time: which plans are matched by confidence, which of these have no meaning, and which read an order."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.engine.match.core.automaton import leaves
from saffron.engine.operators.aggregates import BUILT_IN
from saffron.language.plan.clauses import Output
from saffron.language.plan.expressions import Aggregate, Attribute, Expr, Length, Scope, Which
from saffron.language.plan.limits import MAX_COMPONENTS
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy
from saffron.schema.computed import attributes_of_name
from saffron.schema.schema import Schema


def is_uncertain(plan: MatchPlan, schema: Schema) -> bool:
    """True if the plan is matched by confidence: it asks for it, or the stream's times are imprecise."""
    return plan.confidence is not None or bool(schema.times)


def refusal(plan: MatchPlan, schema: Schema) -> str:
    """The reason why a plan cannot run over imprecise time, with a hint; "" if it can."""
    if schema.derived:
        return "results of others have no intervals of time: leave CONFIDENCE out, or the type that INTO makes"
    found = next(_refusals(plan, schema), None)
    return "" if found is None else f"with imprecise time, {found}"


def _refusals(plan: MatchPlan, schema: Schema) -> Iterator[str]:
    """The reasons why a plan cannot run over imprecise time, each with a hint; none if it can."""
    if plan.strict:
        yield "the times of a match always increase strictly: leave TIME out"
    if not plan.flat:
        yield "a pattern is a SEQ of events and A+, all under one strategy: write those alone"
    if len(plan.components) > MAX_COMPONENTS:
        yield f"a pattern has at most {MAX_COMPONENTS} components, this one {len(plan.components)}"
    if {plan.strategy, *plan.begins, *plan.continues} != {Strategy.ANY}:
        yield "events are selected by skip-till-any-match: write WHERE skip-till-any-match { ... }"
    if plan.window.events:
        yield "events have no positions to count: give WITHIN (and SLIDE) a time"
    if plan.window.opens is not None:
        yield "a window cannot open at an event: leave OPEN ON out"
    if plan.output is not Output.ALL or plan.timeouts:
        yield "all matches are reported: leave OUTPUT out"
    for leaf in (leaf for check in plan.checks for leaf in leaves(check.expr)):
        if isinstance(leaf, Aggregate) and leaf.function not in BUILT_IN:
            yield f"conditions use the language's own aggregates: write {leaf.function} in RETURN only"
    if plan.into is not None:
        yield "results have no one time at which to become events: leave INTO out"
    if plan.consume:
        yield "an event may serve several matches: leave CONSUME out"
    names = {*plan.key, *(leaf.name for leaf in _leaves(plan) if leaf.name is not None)}
    if schema.times and any("ts" in attributes_of_name(name) for name in names):
        yield "ts has no single value to compare or return: leave it out; the result's events have their intervals"


def _expressions(plan: MatchPlan) -> Iterator[Expr]:
    yield from (check.expr for check in plan.checks)
    yield from (item.expr for item in plan.returns)
    if plan.delivery.key is not None:
        yield plan.delivery.key


def _leaves(plan: MatchPlan) -> Iterator[Attribute | Aggregate]:
    for expr in _expressions(plan):
        yield from (leaf for leaf in leaves(expr) if not isinstance(leaf, Length))


def is_ordered(plan: MatchPlan, component: int) -> bool:
    """True if anything reads the order of a closure's events (a correlated closure)."""
    for leaf in _leaves(plan):
        if leaf.component != component:
            continue
        if isinstance(leaf, Attribute) and leaf.which in (Which.PREVIOUS, Which.FIRST, Which.NTH, Which.LAST):
            return True
        if isinstance(leaf, Aggregate) and (leaf.scope is Scope.BEFORE or leaf.function in ("first", "last")):
            return True
    return False
