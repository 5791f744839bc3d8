"""What an ordered tree is asked for a transition's conditions (T6)."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.plan.plan import Expr, Strategy, Transition
from saffron.language.trends.edge_index import Comparison, Search, edge_index

_SIDES = {"low": (">", ">="), "high": ("<", "<="), "unequal": ("!=",)}


@dataclass(frozen=True)
class Range:
    """The predecessors along a transition are the vertices whose key lies between two values of the later event.

    `before`, `after`: conditions on the earlier event alone (else it is not in the tree), on the later one alone.
    `equal`: values that must be the same. `low`, `high`: comparisons of the key, None where the side is open;
    `unequal`: or its only one, by !=. Without any of them the key is 0.
    """

    before: tuple[Expr, ...]
    after: tuple[Expr, ...]
    equal: Comparison | None
    low: Comparison | None
    high: Comparison | None
    unequal: Comparison | None

    @property
    def expressions(self) -> list[Expr]:
        """All that is computed of events."""
        compared = [one for one in (self.equal, self.low, self.high, self.unequal) if one is not None]
        return [*self.before, *self.after, *(side for one in compared for side in (one.earlier, one.later))]

    @property
    def key(self) -> Expr | None:
        """What the tree is ordered by."""
        bound = self.low or self.high or self.unequal
        return None if bound is None else bound.earlier


def range_of(transition: Transition) -> Range | None:
    """The range that answers a transition's conditions; None where no single one does, or there are none."""
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
