"""A plan compiled for imprecise time: its search and its classifier. Refuses what has no meaning there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import Function, load
from saffron.engine.match.core import arithmetic
from saffron.engine.match.core.automaton import build, leaves
from saffron.engine.match.core.classify import bit_tests, classify_source, type_masks
from saffron.engine.match.core.kernel_layout import Names
from saffron.engine.match.uncertain import folds, search
from saffron.engine.match.uncertain.joins import Joins, joins_of
from saffron.engine.match.uncertain.search_source import asks, search_source
from saffron.engine.operators.aggregates import BUILT_IN
from saffron.errors import SaffronError
from saffron.language.plan.pairs import exact_match
from saffron.language.plan.plan import (
    MAX_COMPONENTS,
    Aggregate,
    Attribute,
    Expr,
    Length,
    MatchPlan,
    Output,
    Scope,
    Strategy,
    Which,
)
from saffron.schema.schema import Schema


@dataclass(frozen=True)
class UncertainProgram:
    """`search`, `classify` (None: the type says all): kernels. `*_names`: columns and strings that each of them reads.

    `loose`: [components] whether it is an uncorrelated closure. `asks`: see `table.Shape`.
    `joins`: how single events are found. `compiled`: whether the kernels are machine code.
    """

    plan: MatchPlan
    type_masks: Mapping[str, int]
    loose: NDArray[np.int64]
    asks: NDArray[np.int64]
    joins: Joins
    search: Function
    search_names: Names
    classify: Function | None
    classify_names: Names
    compiled: bool


def is_uncertain(plan: MatchPlan, schema: Schema) -> bool:
    """Whether the plan is matched by confidence: it asks for it, or the stream's times are imprecise."""
    return plan.confidence is not None or bool(schema.times)


def compile_uncertain(plan: MatchPlan, schema: Schema, *, compiled: bool = True) -> UncertainProgram:
    """The program of a plan. SaffronError, with what to write instead, for what imprecise time does not give."""
    refusal = next(_refusals(plan, schema), None)
    if refusal is not None:
        raise SaffronError(f"query {plan.name}: with imprecise time, {refusal}")
    plan = exact_match(plan)
    automaton = build(plan)
    names, classify_names = Names(), Names()
    source = search_source(automaton, names)
    module = load(source, helpers=(arithmetic, folds, search), compiled=compiled)
    text = classify_source(bit_tests(automaton), classify_names)
    classify = None if text is None else load(text, helpers=(arithmetic,), compiled=compiled).classify
    loose = [component.closure and not is_ordered(plan, k) for k, component in enumerate(plan.components)]
    return UncertainProgram(
        plan=plan,
        type_masks=type_masks(automaton),
        loose=np.array(loose, np.int64),
        asks=np.array(asks(automaton), np.int64),
        joins=joins_of(plan),
        search=module.search,
        search_names=names,
        classify=classify,
        classify_names=classify_names,
        compiled=compiled,
    )


def _refusals(plan: MatchPlan, schema: Schema) -> Iterator[str]:
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
    if schema.times and ("ts" in plan.key or any(leaf.name == "ts" for leaf in _leaves(plan))):
        yield "ts has no single value to compare or return: leave it out; the result's events have their intervals"


def _expressions(plan: MatchPlan) -> Iterator[Expr]:
    yield from (check.expr for check in plan.checks)
    yield from (item.expr for item in plan.returns)


def _leaves(plan: MatchPlan) -> Iterator[Attribute | Aggregate]:
    for expr in _expressions(plan):
        yield from (leaf for leaf in leaves(expr) if not isinstance(leaf, Length))


def is_ordered(plan: MatchPlan, component: int) -> bool:
    """Whether anything reads the order of a closure's events (a correlated closure)."""
    for leaf in _leaves(plan):
        if leaf.component != component:
            continue
        if isinstance(leaf, Attribute) and leaf.which in (Which.PREVIOUS, Which.FIRST, Which.LAST):
            return True
        if isinstance(leaf, Aggregate) and (leaf.scope is Scope.BEFORE or leaf.function in ("first", "last")):
            return True
    return False
