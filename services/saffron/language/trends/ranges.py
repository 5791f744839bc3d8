"""Ranges of an ordered tree that answer a transition's conditions (T6)."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.plan.expressions import Expr
from saffron.language.plan.pattern import Strategy
from saffron.language.plan.trend_plan import Transition
from saffron.language.trends.edge_index import Comparison, Search, edge_index

_SIDES = {"low": (">", ">="), "high": ("<", "<="), "unequal": ("!=",)}


@dataclass(frozen=True)
class Range:
    """A range of the tree's key whose vertices are the predecessors along a transition, given the later event.

    `before`: conditions that an earlier event must meet to be in the tree. `after`: conditions on the later event.
    `equal`: values that must be equal. `low`, `high`: bounds of the key, None where the range is open. `unequal`: the
    only comparison of the key, by !=. Without any bound the key is 0.
    """

    before: tuple[Expr, ...]
    after: tuple[Expr, ...]
    equal: Comparison | None
    low: Comparison | None
    high: Comparison | None
    unequal: Comparison | None

    @property
    def compared(self) -> list[Comparison]:
        """The comparisons that it answers."""
        return [one for one in (self.equal, self.low, self.high, self.unequal) if one is not None]

    @property
    def expressions(self) -> list[Expr]:
        """All expressions over float64 that are computed from events."""
        return [*self.before, *self.after, *(expr for one in self.compared for expr in one.expressions)]

    @property
    def key(self) -> Expr | None:
        """The expression of the earlier event that orders the tree."""
        bound = self.low or self.high or self.unequal
        return None if bound is None else bound.earlier


def range_of(transition: Transition) -> Range | None:
    """The range of the tree that holds exactly the predecessors that meet a transition's conditions.

    None if there are no conditions, if no single range answers them all, or under another strategy than
    skip-till-any-match.
    """
    index = edge_index(transition)
    if not transition.conditions or index.search not in (Search.TREE, Search.TOTAL):
        return None
    if transition.strategy is not Strategy.ANY:
        return None
    bounds = {side: bound for bound in index.bounds for side, own in _SIDES.items() if bound.operator in own}
    return Range(
        index.before,
        index.after,
        next(iter(index.equalities), None),
        bounds.get("low"),
        bounds.get("high"),
        bounds.get("unequal"),
    )
