"""A plan's template (T2) as the arrays that kernels read."""

from __future__ import annotations

import numpy as np

from saffron.engine.trends.layout import (
    CONDITION,
    ENTERING,
    ENTERING_SIZE,
    GROUP_WIDTH,
    IN_EVENTS,
    IS_END,
    IS_START,
    KEY_WIDTH,
    LIST,
    ON_OPEN,
    PARAMS_SIZE,
    SIZE,
    SLIDE,
    SOURCE,
    STARTS,
    STRICT,
    TOTAL,
    Wiring,
)
from saffron.errors import SaffronError
from saffron.language.plan import TrendPlan, Window

MAX_STATES = 62
MAX_WINDOWS = 2**16
_LONGEST = 2**60
_FIRST_OPEN = 4


def check(plan: TrendPlan) -> None:
    """Refuse, with SaffronError, what the arrays cannot hold."""
    window = plan.window
    if len(plan.template.states) > MAX_STATES:
        raise SaffronError(
            f"the pattern has {len(plan.template.states)} event types; at most {MAX_STATES} are counted together"
        )
    if max(window.size, window.slide or 0) > _LONGEST:
        raise SaffronError(f"a window of {window.size} is longer than any stream; WITHIN takes at most {_LONGEST}")
    if windows_of(window) > MAX_WINDOWS:
        number = windows_of(window)
        raise SaffronError(
            f"each event would lie in {number} windows, and have a count in each; at most {MAX_WINDOWS} are kept. "
            "Make SLIDE longer, or WITHIN shorter."
        )


def windows_of(window: Window) -> int:
    """How many windows may be open at a time, or how many slots to begin with where events open them."""
    if window.slide is None:
        return _FIRST_OPEN
    return max(1, -(-window.size // window.slide))


def summed(plan: TrendPlan) -> list[int]:
    """States that an unconditional transition leaves: their counts are kept as prefix totals."""
    return sorted({t.source for t in plan.template.transitions if not t.conditions})


def listed(plan: TrendPlan) -> list[int]:
    """States that a conditional transition leaves: their vertices are kept."""
    return sorted({t.source for t in plan.template.transitions if t.conditions})


def totals_of(plan: TrendPlan) -> int:
    """How many prefix totals a key has in each window."""
    return len(summed(plan))


def lists_of(plan: TrendPlan) -> int:
    """How many vertex lists a key has."""
    return len(listed(plan))


def wiring_of(plan: TrendPlan) -> Wiring:
    """The template's arrays; transitions are sorted by the state they enter, conditions numbered as `source` does."""
    params = np.zeros(PARAMS_SIZE, dtype=np.int64)
    params[SIZE] = plan.window.size
    params[SLIDE] = plan.window.slide or 1
    params[IN_EVENTS] = plan.window.events
    params[ON_OPEN] = plan.window.opens is not None
    params[STRICT] = plan.strict
    params[KEY_WIDTH] = len(plan.key)
    params[GROUP_WIDTH] = len(plan.group)
    states = np.full((len(plan.template.states), 6), -1, dtype=np.int64)
    totals, lists = summed(plan), listed(plan)
    for s, state in enumerate(plan.template.states):
        params[STARTS] |= int(state.start) << s
        states[s, IS_START] = state.start
        states[s, IS_END] = state.end
        if s in totals:
            states[s, TOTAL] = totals.index(s)
        if s in lists:
            states[s, LIST] = lists.index(s)
    numbers: list[int] = []
    for transition in plan.template.transitions:
        numbers.append(max(numbers, default=-1) + 1 if transition.conditions else -1)
    order = sorted(range(len(numbers)), key=lambda t: plan.template.transitions[t].target)
    transitions = np.zeros((len(order), 2), dtype=np.int64)
    for row, t in enumerate(order):
        transitions[row, SOURCE] = plan.template.transitions[t].source
        transitions[row, CONDITION] = numbers[t]
    targets = [plan.template.transitions[t].target for t in order]
    for s in range(len(plan.template.states)):
        states[s, ENTERING] = targets.index(s) if s in targets else 0
        states[s, ENTERING_SIZE] = targets.count(s)
    return Wiring(params, states, transitions)
