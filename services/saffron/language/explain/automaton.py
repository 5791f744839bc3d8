"""The automaton NFA^b of a flat match query (N2, N3), for explanations; it is not executed."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.language.explain.explained import variables_of
from saffron.language.plan.formulas import attribute_written, formula, window_line
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Condition, Edge, Strategy

FINAL = "F"


@dataclass(frozen=True)
class Move:
    """An edge: its kind "begin", "take", "ignore" or "proceed", its target, and the conjuncts of its formula.

    `formula`: () for true, ("false",) for an edge that never applies.
    `within`: the window's condition, pushed here from the final edge (step 5), is part of the formula.
    """

    kind: str
    target: str
    formula: tuple[str, ...]
    within: bool


@dataclass(frozen=True)
class State:
    """A state and its edges. `name`: b for a single event, a[1] and a[i] for a closure."""

    name: str
    component: int
    moves: tuple[Move, ...]


def build(plan: MatchPlan) -> tuple[State, ...]:
    """The states of a plan in order, without the final one."""
    entries = [f"{part.variable}[1]" if part.closure else part.variable for part in plan.components]
    states: list[State] = []
    for index, component in enumerate(plan.components):
        following = entries[index + 1] if index + 1 < len(entries) else FINAL
        inner = f"{component.variable}[i]"
        begin = Move("begin", inner if component.closure else following, _taking(plan, index, Edge.BEGIN), index > 0)
        moves = [begin]
        if index > 0:
            moves.append(_ignore(plan, entries[index], "begin"))
        states.append(State(entries[index], index, tuple(moves)))
        if component.closure:
            take = Move("take", inner, _taking(plan, index, Edge.TAKE), True)
            proceed = Move("proceed", following, _proceeding(plan, index, following), False)
            states.append(State(inner, index, (take, _ignore(plan, inner, "take"), proceed)))
    return tuple(states)


def _on(plan: MatchPlan, component: int, edge: Edge) -> list[str]:
    """The texts of the conditions on an edge of a component."""
    return [_text(plan, part) for part in plan.conditions if part.component == component and part.edge is edge]


def _text(plan: MatchPlan, condition: Condition) -> str:
    """The conjunct as written, in brackets where a row of ANDs needs them."""
    canonical = formula(condition.expr, variables_of(plan), conjunct=True)
    return f"({condition.text})" if canonical.startswith("(") and " OR " in canonical else condition.text


def _taking(plan: MatchPlan, component: int, edge: Edge) -> tuple[str, ...]:
    """The formula of begin or take: type, key (except for a match's first event), conditions."""
    first = component == 0 and edge is Edge.BEGIN
    key = [] if first or not plan.key else [f"[{', '.join(map(attribute_written, plan.key))}]"]
    return (f"type = {plan.components[component].types}", *key, *_on(plan, component, edge))


def _proceeding(plan: MatchPlan, component: int, following: str) -> tuple[str, ...]:
    """The formula of proceed: its conditions, and a peek at whether the event begins the next component (step 6)."""
    peek = [] if following == FINAL else [f"the event begins {following}"]
    return (*_on(plan, component, Edge.PROCEED), *peek)


def _ignore(plan: MatchPlan, state: str, edge: str) -> Move:
    """The edge ignore, whose formula is the difference between strategies (N2)."""
    if plan.strategy is Strategy.STRICT or (plan.strategy is Strategy.PARTITION and not plan.key):
        return Move("ignore", state, ("false",), False)
    if plan.strategy is Strategy.PARTITION:
        return Move("ignore", state, (f"NOT [{', '.join(map(attribute_written, plan.key))}]",), True)
    if plan.strategy is Strategy.NEXT:
        return Move("ignore", state, (f"NOT {edge}",), True)
    return Move("ignore", state, (), True)


def within_formula(plan: MatchPlan) -> str:
    """The window's condition, as it is on the edges behind the first begin."""
    window = plan.window
    if window.slide is not None or window.opens is not None:
        return "in one window with the first event"
    return window_line(window, trends=False).replace("last.", "")
