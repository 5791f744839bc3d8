"""Runs whose window is over where those without a match are reported too (WITH TIMEOUTS): kernel helpers.

Runs are not kept by window. So a run is reported for each window that holds its first event, as it is when that window
closes: before the key's next event, or at the end of a block. Behind `REPORTED` a run keeps up to when that was done.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.kernels.jit import jitable
from saffron.engine.match.core.kernel_layout import (
    ALL_WINDOWS,
    AT_ONCE,
    CHAIN,
    DEADLINE_OF,
    DUE_OF,
    FIRST_ROW,
    LAST_ROW,
    LEAD,
    LOW,
    PART,
    SERIAL,
    STATE_BITS,
)
from saffron.engine.match.core.runs import BASE, BEGIN, DEADLINE, LENGTH, OLDEST, START, move
from saffron.engine.match.general.pending import STATE_ROW, report_all
from saffron.engine.windows.bounds import first_window

ALONE, SLIDING, OPENED = range(3)
"""WITHIN alone, with SLIDE, with OPEN ON."""


@jitable
def time_out(
    ints: Any, heads: Any, lane: int, ordinal_row: int, nodes: Any, found: Any, matches: int, window: Any, due: Any
) -> int:
    """Lane's run waits in vain for the end of `window` (deadline, low, serial); how many things are found now."""
    node_row, node_before, node_part = nodes
    start, head = ints[START, lane], heads[lane]
    p = head & (len(node_row) - 1)
    found[FIRST_ROW, matches] = start
    found[CHAIN, matches] = -1 if node_before[p] == head else node_before[p]
    found[LAST_ROW, matches] = start + ((node_row[p] - start) & 0xFFFFFFFF)
    found[PART, matches] = node_part[p]
    found[LEAD, matches] = -2 - ((ints[ordinal_row, lane] << STATE_BITS) | ints[STATE_ROW, lane])
    found[DEADLINE_OF, matches], found[LOW, matches], found[SERIAL, matches] = window
    due_row, _ = due
    if due_row > 0:
        found[DUE_OF, matches] = AT_ONCE
    return matches + 1


@jitable
def close_all(
    floats: Any, ints: Any, heads: Any, segments: Any, slot: int, now: int, pending: int, found: Any, matches: int,
    nodes: Any, rows: Any, openers: Any, window: Any, ordinal_row: int, reported_row: int, due: Any,
) -> int:  # fmt: skip
    """Close every window that ended, as `close` does, and report runs in states before `pending` as timed out.

    Such a run is listed as a match with LEAD = -2 - (ordinal of the last event, state). `rows`: instants, positions,
    mask; `window`: kind, size, slide, first window.
    """
    length = segments[slot, LENGTH]
    base = segments[slot, BASE] + segments[slot, BEGIN]
    instants, positions, mask = rows
    kind, size, slide, lowest = window
    kept = 0
    oldest = 1 << 62
    for lane in range(base, base + length):
        deadline = ints[DEADLINE, lane]
        following = deadline
        if ints[STATE_ROW, lane] >= pending:
            if deadline < now:
                matches = report_all(ints, lane, now, found, matches, due)
                deadline = following = ints[DEADLINE, lane]
        elif kind == ALONE:
            if deadline < now:
                one = (deadline, ALL_WINDOWS, 0)
                matches = time_out(ints, heads, lane, ordinal_row, nodes, found, matches, one, due)
        elif kind == SLIDING:
            begun, since = instants[ints[START, lane] & mask], ints[reported_row, lane]
            low = max(first_window(since, size, slide) * slide, lowest)
            while low <= begun and low + size - 1 < now:
                one = (low + size - 1, low, low)
                matches = time_out(ints, heads, lane, ordinal_row, nodes, found, matches, one, due)
                low += slide
            following = low + size - 1
        else:
            begun, since = positions[ints[START, lane] & mask], ints[reported_row, lane]
            for k in range(openers.shape[1]):
                closes = openers[1, k] + size - 1
                if openers[0, k] <= begun and closes >= since:
                    if closes < now:
                        one = (closes, openers[1, k], openers[0, k])
                        matches = time_out(ints, heads, lane, ordinal_row, nodes, found, matches, one, due)
                    else:
                        following = min(following, closes)
        if deadline >= now:
            if kind != ALONE and ints[STATE_ROW, lane] < pending:
                ints[reported_row, lane] = max(ints[reported_row, lane], now)
            if base + kept != lane:
                move(floats, ints, heads, lane, base + kept)
            oldest = min(oldest, following)
            kept += 1
    segments[slot, LENGTH] = kept
    segments[slot, OLDEST] = oldest
    return matches
