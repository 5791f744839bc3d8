"""Runs whose window is over: most are forgotten, a match that waited for the end of its window is found."""

from __future__ import annotations

from typing import Any

from saffron.engine.kernels.jit import jitable
from saffron.engine.match.core.kernel_layout import (
    CHAIN,
    DEADLINE_OF,
    DUE_OF,
    FIRST_ROW,
    LAST_ROW,
    LEAD,
    LOW,
    MARK_OF,
    PART,
    SERIAL,
)
from saffron.engine.match.core.runs import BASE, BEGIN, DEADLINE, FIRST_FEATURE, LENGTH, START, expire

STATE_ROW = FIRST_FEATURE
PENDING_ROW = FIRST_FEATURE + 1
assert MARK_OF == 8  # all before are written here


UNTIMED = (0, 0)
"""The `due` of a plan whose matches wait for no NOT with a time."""


@jitable
def report(ints: Any, lane: int, found: Any, matches: int, deadline: int, due: Any) -> int:
    """Lane's match is known; how many there are now. `due`: see `close`."""
    due_row, _ = due
    if due_row > 0:
        found[DUE_OF, matches] = ints[due_row, lane]
    found[FIRST_ROW, matches] = ints[START, lane]
    found[CHAIN, matches] = ints[PENDING_ROW, lane]
    found[LAST_ROW, matches] = ints[PENDING_ROW + 1, lane]
    found[PART, matches] = ints[PENDING_ROW + 2, lane]
    found[LEAD, matches] = ints[PENDING_ROW + 3, lane]
    found[DEADLINE_OF, matches] = deadline
    found[LOW, matches] = ints[PENDING_ROW + 4, lane]
    found[SERIAL, matches] = ints[PENDING_ROW + 5, lane]
    return matches + 1


@jitable
def report_all(ints: Any, lane: int, now: int, found: Any, matches: int, due: Any) -> int:
    """Report lane's match as often as it is known before `now`; how many there are now."""
    due_row, period = due
    while ints[DEADLINE, lane] < now:
        matches = report(ints, lane, found, matches, ints[DEADLINE, lane], due)
        if period == 0 or ints[DEADLINE, lane] + period > ints[due_row + 1, lane]:
            break
        ints[DEADLINE, lane] += period
        ints[due_row, lane] += period
    return matches


@jitable
def reports(ints: Any, segments: Any, slot: int, now: int, pending: int, due: Any) -> int:
    """The number of matches that `close` reports of a key, of a plan with NOT ... EVERY."""
    due_row, period = due
    base = segments[slot, BASE] + segments[slot, BEGIN]
    count = 0
    for lane in range(base, base + segments[slot, LENGTH]):
        if ints[STATE_ROW, lane] >= pending and ints[DEADLINE, lane] < now:
            count += 1 + (min(now - 1, ints[due_row + 1, lane]) - ints[DEADLINE, lane]) // period
    return count


@jitable
def close(
    floats: Any, ints: Any, heads: Any, segments: Any, slot: int, now: int, pending: int, found: Any, matches: int,
    due: Any,
) -> int:  # fmt: skip
    """Drop a key's runs whose window is over at `now`, reporting matches (states from `pending` on); how many there are
    now. `found` has room for one a run, under EVERY for as many as `reports` says.

    `due`: the row of runs that holds when the time of a NOT is over (0: no NOT has one), and how often it ends under
    EVERY (0: once). The next row then holds the last instant at which it may end.
    """
    base = segments[slot, BASE] + segments[slot, BEGIN]
    for lane in range(base, base + segments[slot, LENGTH]):
        if ints[DEADLINE, lane] < now and ints[STATE_ROW, lane] >= pending:
            matches = report_all(ints, lane, now, found, matches, due)
    expire(floats, ints, heads, segments, slot, now)
    return matches
