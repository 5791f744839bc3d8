"""The join order of a match's single events, and the equalities that they are joined by: the most selective first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.language.plan.expressions import Attribute, Binary, Which
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Kind

Ints = NDArray[np.int64]

_EXACT = (Kind.INT, Kind.LONG, Kind.STRING, Kind.BOOL)  # equal values have equal bits


@dataclass(frozen=True)
class Side:
    """The attributes of a component's event that equalities compare with another's."""

    component: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class Joins:
    """The order of joins of a plan. `by`: the join sides. For the other fields see `search_state.Shape`."""

    order: Ints
    sides: Ints
    decided: Ints
    left: Ints
    right: Ints
    by: tuple[Side, ...]


def joins_of(plan: MatchPlan) -> Joins:
    """The joins of a plan, for a new event of each component."""
    count = len(plan.components)
    ties = _ties(plan)
    order = np.full((count, count), -1, np.int64)
    sides = np.full((count, count, 3), -1, np.int64)
    decided = np.full((count, count), -1, np.int64)
    left, right = (_neighbours(plan, step) for step in (-1, 1))
    by: dict[Side, int] = {}
    for begin in range(count):
        single = not plan.components[begin].closure
        steps = {begin: -1} if single else {}
        for step, target in enumerate(_turns(plan, begin, ties)):
            order[begin, step] = target
            source = max(steps, key=lambda one: len(ties.get((one, target), ())), default=-1)
            if pairs := ties.get((source, target)):
                there = Side(target, tuple(name for _, name in pairs))
                here = Side(source, tuple(name for name, _ in pairs))
                sides[begin, step] = by.setdefault(there, len(by)), by.setdefault(here, len(by)), source
            steps[target] = step
        for closure in range(count):
            around = (one for one in (left[closure], right[closure]) if one >= 0)
            decided[begin, closure] = max((steps[one] for one in around), default=-1)
    return Joins(order, sides, decided, left, right, tuple(by))


def _neighbours(plan: MatchPlan, step: int) -> Ints:
    """int64 [C] the nearest single component before (`step` -1) or after (1) each component; -1: none."""
    found = []
    for component in range(len(plan.components)):
        at = component + step
        while 0 <= at < len(plan.components) and plan.components[at].closure:
            at += step
        found.append(at if at < len(plan.components) else -1)
    return np.array(found, np.int64)


Ties = Mapping[tuple[int, int], tuple[tuple[str, str], ...]]


def _ties(plan: MatchPlan) -> Ties:
    """(component, other) -> attributes that must be equal, for single components, in both directions."""
    found: dict[tuple[int, int], tuple[tuple[str, str], ...]] = {}
    for condition in plan.conditions:
        expr = condition.expr
        if not (isinstance(expr, Binary) and expr.operator == "="):
            continue
        left, right = expr.left, expr.right
        if not (isinstance(left, Attribute) and isinstance(right, Attribute) and _joins(plan, left, right)):
            continue
        for one, other in ((left, right), (right, left)):
            pair = (one.component, other.component)
            found[pair] = (*found.get(pair, ()), (one.name, other.name))
    return found


def _joins(plan: MatchPlan, left: Attribute, right: Attribute) -> bool:
    if left.component == right.component or left.kind.column is not right.kind.column or left.kind not in _EXACT:
        return False
    return all(
        leaf.which is Which.SINGLE and leaf.name not in ("ts", "type") and not plan.components[leaf.component].closure
        for leaf in (left, right)
    )


def _turns(plan: MatchPlan, begin: int, ties: Ties) -> list[int]:
    """The join order of the single components after `begin`.

    Components with an equality to a bound one come first, then those with an equality to an unbound one; of equal ones,
    the nearest to a bound one, then the latest in the pattern.
    """
    left = {k for k, component in enumerate(plan.components) if not component.closure} - {begin}
    bound, turns = {begin}, []
    while left:

        def worth(target: int) -> tuple[int, bool, int, int]:
            tied = max(len(ties.get((one, target), ())) for one in bound)
            ties_others = any((target, other) in ties for other in left)
            return tied, ties_others, -min(abs(target - one) for one in bound), target

        best = max(left, key=worth)
        turns.append(best)
        bound.add(best)
        left.remove(best)
    return turns
