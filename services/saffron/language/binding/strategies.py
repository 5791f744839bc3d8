"""The binding of selection strategies to the components of a pattern (N2)."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.patterns.layout import Layout
from saffron.language.plan.pattern import Strategy
from saffron.language.scope.scope import Scope
from saffron.language.syntax.tree import Query, StrategyUse, Target


@dataclass(frozen=True)
class Strategies:
    """The strategies of a query. `whole`: for components in no brackets. `begins`, `continues`: see plan.MatchPlan."""

    whole: Strategy
    begins: tuple[Strategy, ...]
    continues: tuple[Strategy, ...]


def bind_strategies(query: Query, layout: Layout, scope: Scope, default: Strategy) -> Strategies:
    """The strategies of a query; `default` without any. QueryError for two strategies of one step.

    Brackets that name every variable, as in the papers, mean the whole pattern.
    """
    count = layout.positive
    general: StrategyUse | None = None
    special: list[StrategyUse] = []
    for use in query.strategies:
        if use.targets and not _names_all(use, count, scope):
            special.append(use)
        elif general is None:
            general = use
        else:
            hint = "Brackets that name all variables mean the whole pattern. Name some: strict-contiguity(b[i])."
            raise scope.plan_error("a second strategy for the whole pattern", use.span, hint)
    whole = default if general is None else Strategy(general.name)
    begins, continues = [whole] * count, [whole] * count
    done: set[tuple[int, bool]] = set()
    for use in special:
        for target in use.targets:
            component = _checked(target, layout, scope)
            if (component, target.current) in done:
                raise scope.plan_error("a second strategy for this step", target.span, "Leave one of the two out.")
            done.add((component, target.current))
            if component < count:
                (continues if target.current else begins)[component] = Strategy(use.name)
    used = {*begins, *(continues[at] for at in range(count) if layout.leaves[at].loops)}
    if len(used) == 1:
        (whole,) = used
        continues = [whole] * count
    return Strategies(whole, tuple(begins), tuple(continues))


def _names_all(use: StrategyUse, count: int, scope: Scope) -> bool:
    """True if a strategy's brackets name every component, and no x[i]."""
    named = {scope.component(target.variable, target.span) for target in use.targets}
    return named >= set(range(count)) and not any(target.current for target in use.targets)


def _checked(target: Target, layout: Layout, scope: Scope) -> int:
    """The component of a target. It warns of one inside a NOT; QueryError for x[i] of a single event."""
    component = scope.component(target.variable, target.span)
    leaf, name = layout.leaves[component], scope.places[component].variable
    if leaf.absence is not None:
        hint = "What a NOT rules out is looked for everywhere, whatever lies between its events."
        scope.warn(f"{name} stands inside a NOT: no strategy governs it", target.span, hint)
    elif target.current and not leaf.loops:
        hint = f"Write {name}: what may be skipped while waiting for it."
        raise scope.plan_error(f"{name} is one event, with no next one to wait for", target.span, hint)
    return component
