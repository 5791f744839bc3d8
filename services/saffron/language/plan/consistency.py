"""The evaluation time of conditions under SASE++: postponed until an event ends matches, or early (X3, X4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from saffron.language.plan.expressions import Aggregate, Attribute, Binary, Const, Expr, Length, Unary, Which
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pairs import OF_EXTREME
from saffron.language.plan.pattern import Check, Component, Strategy
from saffron.language.plan.rewrite import reads

FOLDED = ("count", "min", "max", "first", "last", *OF_EXTREME.values())
"""Aggregates whose value is that of one event, or a count: a graph needs few of them."""


class Consistency(Enum):
    """The class of a condition (X4): which of its answers about a closure also holds for every subset of its events."""

    BOTH = "true- and false-value consistent"
    TRUE = "true-value consistent"
    FALSE = "false-value consistent"
    NEITHER = "inconsistent"


class EvaluationTime(Enum):
    """The time at which the matcher evaluates a condition."""

    EARLY = "filters early"  # on each event by itself, before it is kept
    POSTPONED = "postponed"  # when an event ends matches, on the graph of all of them
    ONWARD = "of each run"  # whenever a run takes an event


@dataclass(frozen=True)
class ConditionTiming:
    """A condition with its class and its evaluation time."""

    check: Check
    consistency: Consistency
    time: EvaluationTime


def condition_timings(plan: MatchPlan) -> tuple[ConditionTiming, ...]:
    """The timing of each condition of a plan.

    It is empty where nothing can be postponed: without a Kleene closure, skip-till-any-match, or a flat pattern.
    """
    closures = any(component.closure for component in plan.components)
    if not plan.flat or plan.strategy is not Strategy.ANY or not closures:
        return ()
    late = EvaluationTime.POSTPONED if is_collapsible(plan) else EvaluationTime.ONWARD
    return tuple(
        ConditionTiming(
            check,
            consistency(check.expr, plan.components),
            EvaluationTime.EARLY if _is_of_one(check.expr) else late,
        )
        for check in plan.checks
    )


def is_collapsible(plan: MatchPlan) -> bool:
    """True if one graph can hold all matches that end with an event.

    The pattern must be flat, the strategy skip-till-any-match. No condition may need a sum, mean, deviation or
    user-defined aggregate of a closure. Without a closure, each condition must also read neighbours only, or the
    last event and one other: a graph would save nothing over runs if its nodes had to hold values of earlier events.
    """
    if not plan.flat or plan.strategy is not Strategy.ANY or not all(_is_light(one.expr) for one in plan.conditions):
        return False
    return any(component.closure for component in plan.components) or all(
        _is_of_neighbours(one.expr, len(plan.components) - 1) for one in plan.conditions
    )


def _is_of_neighbours(expr: Expr, last: int) -> bool:
    """True if an expression over single events reads at most two neighbours, besides the component `last`."""
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
    """The class of a conjunction or disjunction of two conditions."""
    if Consistency.BOTH in (one, other):
        return other if one is Consistency.BOTH else one
    return one if one is other else Consistency.NEITHER


def _compared(above: Expr, below: Expr, components: tuple[Component, ...]) -> Consistency:
    """The class of above > below, from how each side changes when a closure has more events."""
    sides = (_rises(above, components), _rises(below, components))
    if sides in ((0, 1), (-1, 0), (-1, 1)):
        return Consistency.TRUE
    if sides in ((0, -1), (1, 0), (1, -1)):
        return Consistency.FALSE
    return Consistency.NEITHER


def _rises(expr: Expr, components: tuple[Component, ...]) -> int | None:
    """The change of a value with more events: 1 never falls, -1 never rises, 0 stays, None may do either."""
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
    """`_rises` for a product with a constant, or a quotient by one."""
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
    """True if a value depends on the choice of a closure's events, besides the event being taken."""
    if isinstance(leaf, Attribute):
        return components[leaf.component].closure and leaf.which is not Which.CURRENT
    return True


def _is_light(expr: Expr) -> bool:
    """True if an expression uses only aggregates in `FOLDED`."""
    return all(not isinstance(leaf, Aggregate) or leaf.function in FOLDED for leaf in reads(expr))


def _is_of_one(expr: Expr) -> bool:
    """True if each event decides an expression by itself."""
    read = {(leaf.component, leaf.which if isinstance(leaf, Attribute) else None) for leaf in reads(expr)}
    return len(read) <= 1 and all(which in (Which.SINGLE, Which.CURRENT, Which.FIRST) for _, which in read)
