"""The decision whether equivalent runs of a query are merged (N7), and the computation state to compare (N6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from saffron.language.plan.clauses import Output
from saffron.language.plan.expressions import Aggregate, Attribute, Length, Scope, Which
from saffron.language.plan.formulas import formula
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pairs import OF_EXTREME
from saffron.language.plan.pattern import Condition, Edge, Strategy
from saffron.language.plan.rewrite import reads

_AGREEING = ("min", "max", "first", "last", *OF_EXTREME.values())
"""Aggregates whose values in two runs can become equal again; those of the others depend on all events bound."""


@dataclass(frozen=True)
class Merging:
    """The decision for one plan, with a sentence for its `reason`.

    `component`: the closure in which runs of a key merge; None: runs are not merged. `values`: texts of the values that
    merged runs must have in common.
    """

    component: int | None
    values: tuple[str, ...]
    reason: str


def merging(plan: MatchPlan) -> Merging:
    """The decision for a match query over exact times. It changes the work, never the matches."""
    first = next((index for index, component in enumerate(plan.components) if component.closure), None)
    if not plan.flat or plan.timeouts:
        return _not_merged("its runs use a table of states, and keep all values that any state may read")
    if first is None:
        return _not_merged("without a Kleene closure a run takes few events")
    if plan.strategy is Strategy.ANY:
        return _not_merged(
            f"under {plan.strategy.value} each event splits a run: graphs share what such runs have in common"
        )
    if plan.output is Output.COMPRESSED:
        return _not_merged("collapsed results are made from the runs' own chains")
    if first == len(plan.components) - 1:
        return _not_merged("each event that the last closure takes ends a match of every run")
    names = [component.variable for component in plan.components]
    if (refusing := _fatal(plan, first)) is not None:
        return _not_merged(
            f"under {plan.strategy.value} an event that breaks {refusing.text} ends all runs of a key: few live at once"
        )
    read = list(dict.fromkeys(_carried(plan, first)))
    for leaf in read:
        if (why := _own(leaf)) is not None:
            return _not_merged(f"later edges read {_text(leaf, names)}, {why}")
    values = tuple(dict.fromkeys(_text(leaf, names) for leaf in read))
    where = f"runs in {names[first]}[i]"
    if not values:
        return Merging(first, (), f"{where} go on as one: later edges read nothing of what they have bound")
    return Merging(first, values, f"{where} that agree in {', '.join(values)} go on as one")


def _not_merged(why: str) -> Merging:
    """The decision to keep runs separate."""
    return Merging(None, (), f"each run stays its own: {why}")


def _fatal(plan: MatchPlan, closure: int) -> Condition | None:
    """The condition on several events of the closure that ends a run when it fails, as nothing may be skipped.

    Runs are short then. A condition on each event alone is no reason: it may hold for nearly all events.
    """
    if plan.strategy not in (Strategy.STRICT, Strategy.PARTITION):
        return None
    taking = (one for one in plan.conditions if one.component == closure and one.edge is Edge.TAKE)
    return next((one for one in taking if not one.local), None)


def _carried(plan: MatchPlan, closure: int) -> Iterator[Attribute | Aggregate | Length]:
    """The values of bound events that the edges of runs in this closure read, or later edges."""
    for condition in plan.conditions:
        taking = condition.component == closure and condition.edge is Edge.TAKE
        if condition.component > closure or (condition.component == closure and condition.edge is not Edge.BEGIN):
            for leaf in reads(condition.expr):
                current = isinstance(leaf, Attribute) and leaf.which is Which.CURRENT
                if leaf.component <= closure and not (taking and current):
                    yield leaf


def _own(leaf: Attribute | Aggregate | Length) -> str | None:
    """Why a value stays different in runs that began with different events; None if it can become equal."""
    if isinstance(leaf, Length) or (isinstance(leaf, Aggregate) and leaf.name is None):
        return "how many events each has bound"
    if isinstance(leaf, Aggregate):
        return None if leaf.function in _AGREEING else "an aggregate over all that each has bound"
    if leaf.which is Which.PREVIOUS and leaf.back > 1:
        return "for which each counts its events"
    if leaf.name == "ts" and leaf.which in (Which.FIRST, Which.SINGLE):
        return "the time of what each began with"
    return None


def _text(leaf: Attribute | Aggregate | Length, names: list[str]) -> str:
    """The text of a value, as a query reads it from a finished closure."""
    if isinstance(leaf, Aggregate):
        leaf = replace(leaf, scope=Scope.CLOSED)
    elif isinstance(leaf, Attribute) and leaf.which is Which.PREVIOUS and leaf.back == 1:
        leaf = replace(leaf, which=Which.LAST, back=0)
    return formula(leaf, names)
