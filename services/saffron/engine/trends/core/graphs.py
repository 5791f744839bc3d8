"""The totals and lists that the transitions of a plan's graphs read, numbered.

`language.trends.trend_graphs` decides which transition reads which.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType

from saffron.language.plan.expressions import Expr
from saffron.language.plan.pairs import exact, exact_trend
from saffron.language.plan.pattern import Strategy
from saffron.language.plan.trend_plan import TrendPlan
from saffron.language.trends.trend_graphs import Total, TrendGraphs, numbered
from saffron.schema.schema import Kind


class Graphs(TrendGraphs):
    """All graphs of a plan."""

    @cached_property
    def totals(self) -> dict[Total, int]:
        """The totals of positive states, numbered."""
        found: dict[Total, int] = {}
        for number, step in enumerate(self.steps):
            total = self.total_of(number)
            if step.negative is None and total is not None:
                found.setdefault(total, len(found))
        for s in range(len(self.places)):
            final = self.final_of(s)
            if final is not None:
                found.setdefault(final, len(found))
        return found

    @cached_property
    def negative_totals(self) -> dict[Total, int]:
        """The totals of negative states, numbered."""
        found: dict[Total, int] = {}
        for number, step in enumerate(self.steps):
            total = self.total_of(number)
            if step.negative is not None and total is not None:
                found.setdefault(total, len(found))
        return found

    @cached_property
    def listed(self) -> frozenset[int]:
        """The states whose vertices are kept one by one for as long as their windows are open."""
        by_list = {number for number in range(len(self.steps)) if self.total_of(number) is None} - self.trees.keys()
        at_last = {s for s in range(len(self.places)) if self.is_listed_at_last(s)}
        return frozenset(at_last | {self.steps[number].source for number in by_list})

    @cached_property
    def lists(self) -> list[int]:
        """The states that have a list: those `listed`, and, under TIME STRICT, those whose vertices wait for trees."""
        waiting = {self.steps[number].source for number in self.trees} if self.plan.strict else set()
        return sorted(self.listed | waiting)

    @cached_property
    def single(self) -> frozenset[int]:
        """The listed states of which only the last vertex is ever needed."""
        contiguous = (Strategy.STRICT, Strategy.PARTITION)
        return frozenset(
            s
            for s in self.lists
            if not self.is_listed_at_last(s)
            and all(step.transition.strategy in contiguous for step in self.steps if step.source == s)
        )

    @cached_property
    def conditions(self) -> dict[tuple[Expr, ...], int]:
        """The different conditions of steps, numbered as `select` numbers them."""
        found: dict[tuple[Expr, ...], int] = {}
        for number in range(len(self.steps)):
            if asked := self.asked_of(number):
                found.setdefault(asked, len(found))
        return found

    def asked_of(self, number: int) -> tuple[Expr, ...]:
        """What `select` evaluates for a step, over float64; () if it has no conditions, or a tree answers them."""
        conditions = () if number in self.trees else self.steps[number].transition.conditions
        return tuple(exact(one, whole=False) for one in conditions)

    @property
    def has_codes(self) -> bool:
        """True if trees are ordered by codes (`store.tree_codes`), as float64 does not decide what they compare."""
        return any(one.is_wide for asked in self.trees.values() for one in asked.compared)

    @property
    def needs_marks(self) -> bool:
        """True if vertices carry all marks: for contiguity, skip-till-next-match, and negatives in lists."""
        return any(
            step.negative is not None or step.transition.strategy is not Strategy.ANY or self.waits(number)
            for number, step in enumerate(self.steps)
            if self.total_of(number) is None and number not in self.trees
        )

    def final_of(self, s: int) -> Total | None:
        """The total from which results are read when the window closes; None where they are not, or need the list."""
        state = self.places[s].state
        if not self.late or self.places[s].negative is not None or not state.end or self.is_listed_at_last(s):
            return None
        return Total(s, state.trailing, None)


def graphs_of(plan: TrendPlan, kinds: Mapping[str, Kind] = MappingProxyType({})) -> Graphs:
    """All graphs of a plan, for a stream whose attributes are of these kinds."""
    plan = exact_trend(plan, kinds)
    return Graphs(plan, *numbered(plan))
