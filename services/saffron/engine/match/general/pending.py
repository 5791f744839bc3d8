"""Runs whose window is over: most are forgotten, a match that waited for the end of its window is found."""

from __future__ import annotations

from typing import Any

from saffron.engine.kernels.jit import jitable
from saffron.engine.match.core.kernel_layout import (
    CHAIN,
    DEADLINE_OF,
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


@jitable
def report(ints: Any, lane: int, found: Any, matches: int, deadline: int) -> int:
    """Lane's match is known; how many there are now."""
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
def close(
    floats: Any, ints: Any, heads: Any, segments: Any, slot: int, now: int, pending: int, found: Any, matches: int
) -> int:
    """Drop a key's runs whose window is over at `now`, reporting matches (states from `pending` on); how many there are
    now. `found` has room for one a run."""
    base = segments[slot, BASE] + segments[slot, BEGIN]
    for lane in range(base, base + segments[slot, LENGTH]):
        if ints[DEADLINE, lane] < now and ints[STATE_ROW, lane] >= pending:
            matches = report(ints, lane, found, matches, ints[DEADLINE, lane])
    expire(floats, ints, heads, segments, slot, now)
    return matches
