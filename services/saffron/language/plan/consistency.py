"""Which conditions of a query may be postponed until an event ends matches, and which filter early (SASE++ X3, X4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.language.plan.pairs import OF_EXTREME
from saffron.language.plan.plan import (
    Aggregate,
    Attribute,
    Binary,
    Check,
    Component,
    Const,
    Expr,
    Length,
    MatchPlan,
    Strategy,
    Unary,
    Which,
)
from saffron.language.plan.rewrite import reads

FOLDED = ("count", "min", "max", "first", "last", *OF_EXTREME.values())
"""Aggregates with few values: those of one of the events, or counts."""


class Consistency(Enum):
    """Which of a condition's answers about all events of a closure holds of any of its subsets too."""

    BOTH = "true- and false-value consistent"
    TRUE = "true-value consistent"
    FALSE = "false-value consistent"
    NEITHER = "inconsistent"


class Asked(Enum):
    """When the matcher asks a condition."""

    EARLY = "filters early"  # of each event by itself, before it is kept
    POSTPONED = "postponed"  # when an event ends matches: all of them are made then, as one graph
    ONWARD = "of each run"  # as runs take events


@dataclass(frozen=True)
class Postponing:
    """A condition's class, and when it is asked."""

    check: Check
    consistency: Consistency
    asked: Asked


def postponing(plan: MatchPlan) -> tuple[Postponing, ...]:
    """Of each condition; none where nothing can be postponed: the pattern has no Kleene closure, or is no flat one
    under skip-till-any-match."""
    closures = any(component.closure for component in plan.components)
    if not plan.flat or plan.strategy is not Strategy.ANY or not closures:
        return ()
    late = Asked.POSTPONED if is_collapsible(plan) else Asked.ONWARD
    return tuple(
        Postponing(
            check, consistency(check.expr, plan.components), Asked.EARLY if _is_of_one(check.expr, plan) else late
        )
        for check in plan.checks
    )


def is_collapsible(plan: MatchPlan) -> bool:
    """Whether all matches that end with an event can be made as one graph: the pattern is flat, under
    skip-till-any-match, and no condition folds a closure into a sum, mean, deviation, or by a function of the user's.

    Without a closure there are no more runs than a graph has nodes: where these must hold values of events further
    back, that is where conditions do not read neighbours, or the last event and one other, it is left to runs.
    """
    if not plan.flat or plan.strategy is not Strategy.ANY or not all(_is_light(one.expr) for one in plan.conditions):
        return False
    return any(component.closure for component in plan.components) or all(
        _is_of_neighbours(one.expr, len(plan.components) - 1) for one in plan.conditions
    )


def _is_of_neighbours(expr: Expr, last: int) -> bool:
    """Of single events: whether it reads two that stand beside each other, the match's last one apart."""
    read = {leaf.component for leaf in reads(expr)} - {last}
    return not read or max(read) - min(read) <= 1


def consistency(expr: Expr, components: tuple[Component, ...]) -> Consistency:
    """The class of a condition (X4)."""
    if not any(_is_of_subset(leaf, components) for leaf in reads(expr)):
        return Consistency.BOTH
    match expr:
        case Unary(operator="not", operand=operand):
            return _FLIPPED[consistency(operand, components)]
        case Binary(operator=("and" | "or"), left=left, right=right):
            return _both(consistency(left, components), consistency(right, components))
        case Binary(operator=("<" | "<=" | ">" | ">=") as operator, left=left, right=right):
            above = operator in (">", ">=")
            return _compared(left, right, components) if above else _compared(right, left, components)
    return Consistency.NEITHER


_FLIPPED = {
    Consistency.BOTH: Consistency.BOTH,
    Consistency.TRUE: Consistency.FALSE,
    Consistency.FALSE: Consistency.TRUE,
    Consistency.NEITHER: Consistency.NEITHER,
}


def _both(one: Consistency, other: Consistency) -> Consistency:
    """Of a row of conditions: what they have in common."""
    if Consistency.BOTH in (one, other):
        return other if one is Consistency.BOTH else one
    return one if one is other else Consistency.NEITHER


def _compared(above: Expr, below: Expr, components: tuple[Component, ...]) -> Consistency:
    """Of above > below: true of a subset too where the lower side only falls with the events left out, or the upper
    one only rises."""
    sides = (_rises(above, components), _rises(below, components))
    if sides in ((0, 1), (-1, 0), (-1, 1)):
        return Consistency.TRUE
    if sides in ((0, -1), (1, 0), (1, -1)):
        return Consistency.FALSE
    return Consistency.NEITHER


def _rises(expr: Expr, components: tuple[Component, ...]) -> int | None:
    """1: more events never make it less; -1: never more; 0: they do not matter; None: they may do either."""
    if not any(_is_of_subset(leaf, components) for leaf in reads(expr)):
        return 0
    if isinstance(expr, Length):
        return 1
    if isinstance(expr, Aggregate):
        return {"count": 1, "max": 1, "min": -1}.get(expr.function)
    if isinstance(expr, Binary) and expr.operator in ("+", "-"):
        left, right = _rises(expr.left, components), _rises(expr.right, components)
        right = -right if right is not None and expr.operator == "-" else right
        return None if left is None or right is None or left * right < 0 else left or right
    if isinstance(expr, Binary) and expr.operator in ("*", "/"):
        return _scaled(expr, components)
    return None


def _scaled(expr: Binary, components: tuple[Component, ...]) -> int | None:
    """Of a product with a number, or a quotient by one."""
    number, other = (expr.right, expr.left) if isinstance(expr.right, Const) else (expr.left, expr.right)
    if (
        not isinstance(number, Const)
        or isinstance(number.value, str | None)
        or (expr.operator == "/" and number is expr.left)
    ):
        return None
    rises = _rises(other, components)
    return None if rises is None or number.value == 0 else rises if number.value > 0 else -rises


def _is_of_subset(leaf: Attribute | Aggregate | Length, components: tuple[Component, ...]) -> bool:
    """Whether its value depends on which events of a closure are chosen, besides the one being taken."""
    if isinstance(leaf, Attribute):
        return components[leaf.component].closure and leaf.which is not Which.CURRENT
    return True


def _is_light(expr: Expr) -> bool:
    """Whether it folds lists into few values only."""
    return all(not isinstance(leaf, Aggregate) or leaf.function in FOLDED for leaf in reads(expr))


def _is_of_one(expr: Expr, plan: MatchPlan) -> bool:
    """Whether each event that could be bound decides it by itself."""
    read = {(leaf.component, leaf.which if isinstance(leaf, Attribute) else None) for leaf in reads(expr)}
    return len(read) <= 1 and all(which in (Which.SINGLE, Which.CURRENT, Which.FIRST) for _, which in read)
