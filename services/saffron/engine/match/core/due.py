"""Expiry of runs whose deadlines are in no order, at a small cost for each run (kernel helpers).

A key's lanes are not compacted whenever a run expires: expired runs stay in place, stale, until they are many. STALE
counts them. Their deadlines are before OLDEST, those of live runs are not. The next DUE deadlines are kept in a sorted
list, in unused lanes at the end of the segment, so that the next expiry and the number of expired runs are known. The
last deadline of the list is HORIZON; later ones are not listed. When HORIZON has passed, lanes are compacted, and a new
list is made.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.kernels.jit import jitable, separate
from saffron.engine.kernels.numba_types import int64, void
from saffron.engine.match.core.runs import (
    BASE,
    BEGIN,
    CAPACITY,
    DEADLINE,
    DUE,
    FLOATS,
    HEADS,
    HORIZON,
    INTS,
    LENGTH,
    OLDEST,
    SEGMENTS,
    STALE,
    expire,
)

MANY = 256
"""Fewer runs of a key are closed up at once: a list does not pay."""
SHARE = 5
"""The logarithm of the share: one deadline of 2 ** SHARE is listed, and as many runs expire between compactions."""


@jitable
def spare_lanes(runs: int) -> int:
    """The number of free lanes behind so many runs: for the list, and for runs that come while it is in use."""
    return runs >> (SHARE - 2) if runs >= MANY else 0


@jitable
def _sift(ints: Any, first: int, i: int, size: int) -> None:
    """Move item i of a max-heap to its place."""
    value = ints[DEADLINE, first + i]
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and ints[DEADLINE, first + child + 1] > ints[DEADLINE, first + child]:
            child += 1
        if ints[DEADLINE, first + child] <= value:
            break
        ints[DEADLINE, first + i] = ints[DEADLINE, first + child]
        i = child
    ints[DEADLINE, first + i] = value


@jitable
def _list(ints: Any, segments: Any, slot: int) -> None:
    """List the next deadlines of a key's runs, none of which is stale."""
    begin, end = segments[slot, BASE] + segments[slot, BEGIN], segments[slot, BASE] + segments[slot, CAPACITY]
    stop = begin + segments[slot, LENGTH]
    size = min(1 + (segments[slot, LENGTH] >> SHARE), end - stop)
    if size == 0:
        return
    first = end - size
    for i in range(size):
        ints[DEADLINE, first + i] = ints[DEADLINE, begin + i]
    for i in range(size // 2 - 1, -1, -1):
        _sift(ints, first, i, size)
    for lane in range(begin + size, stop):
        if ints[DEADLINE, lane] < ints[DEADLINE, first]:
            ints[DEADLINE, first] = ints[DEADLINE, lane]
            _sift(ints, first, 0, size)
    for i in range(size - 1, 0, -1):
        ints[DEADLINE, first], ints[DEADLINE, first + i] = ints[DEADLINE, first + i], ints[DEADLINE, first]
        _sift(ints, first, 0, i)
    segments[slot, DUE], segments[slot, HORIZON] = size, ints[DEADLINE, end - 1]


@separate(int64(FLOATS, INTS, HEADS, SEGMENTS, int64, int64))
def mark_expired(floats: Any, ints: Any, heads: Any, segments: Any, slot: int, now: int) -> Any:
    """Mark the runs of a key that expired before `now` as stale; returns the number of newly stale ones."""
    length, stale, due = segments[slot, LENGTH], segments[slot, STALE], segments[slot, DUE]
    if due > 0 and segments[slot, HORIZON] >= now:
        first = at = segments[slot, BASE] + segments[slot, CAPACITY] - due
        while ints[DEADLINE, at] < now:
            at += 1
        over = at - first
        if (stale + over) << (SHARE - 2) < length:
            segments[slot, STALE], segments[slot, DUE] = stale + over, due - over
            segments[slot, OLDEST] = ints[DEADLINE, at]
            return over
    left = expire(floats, ints, heads, segments, slot, now)
    segments[slot, STALE] = segments[slot, DUE] = 0
    if left >= MANY:
        _list(ints, segments, slot)
    return length - stale - left


@separate(int64(FLOATS, INTS, HEADS, SEGMENTS, int64))
def compact(floats: Any, ints: Any, heads: Any, segments: Any, slot: int) -> Any:
    """Close up a key's lanes: none is stale any more; how many are left."""
    if segments[slot, STALE] > 0:
        segments[slot, STALE] = 0
        expire(floats, ints, heads, segments, slot, segments[slot, OLDEST])
    return segments[slot, LENGTH]


@separate(void(INTS, SEGMENTS, int64, int64))
def remember(ints: Any, segments: Any, slot: int, deadline: int) -> None:
    """List the deadline of a run that was just appended, if it is to be; without room there is no list any more."""
    due, free = segments[slot, DUE], segments[slot, BASE] + segments[slot, CAPACITY] - segments[slot, DUE] - 1
    if segments[slot, LENGTH] == 1 or segments[slot, BASE] + segments[slot, BEGIN] + segments[slot, LENGTH] > free:
        segments[slot, DUE] = 0
        return
    if deadline >= segments[slot, HORIZON]:
        return
    while ints[DEADLINE, free + 1] < deadline:
        ints[DEADLINE, free] = ints[DEADLINE, free + 1]
        free += 1
    ints[DEADLINE, free] = deadline
    segments[slot, DUE] = due + 1


@separate(void(INTS, SEGMENTS, int64, int64))
def unlist(ints: Any, segments: Any, slot: int, deadline: int) -> None:
    """Take the deadline of a run that leaves before it off the list, if it is there."""
    if deadline >= segments[slot, HORIZON]:
        return
    first = at = segments[slot, BASE] + segments[slot, CAPACITY] - segments[slot, DUE]
    while ints[DEADLINE, at] < deadline:
        at += 1
    while at > first:
        ints[DEADLINE, at] = ints[DEADLINE, at - 1]
        at -= 1
    segments[slot, DUE] -= 1
