"""The pools that hold runs: one for each state, in which each key has a contiguous segment of lanes (kernel helpers).

A state's pool is three arrays with one column a lane: `floats` [features, lanes], `ints` [2 + features, lanes] (rows
DEADLINE and START, then features) and `heads` [lanes] (the node of the event bound last). `segments` [keys, 8] holds
the places of each key's lanes. `spare` [64] heads the lists of free segments by size class, linked through
ints[DEADLINE]. OLDEST is no later than the first deadline to come; `due` has the columns behind it.
"""

from __future__ import annotations

from typing import Any

from saffron.engine.kernels.jit import jitable, separate
from saffron.engine.kernels.numba_types import boolean, float64, int64, uint32, void

BASE, BEGIN, LENGTH, CAPACITY, OLDEST, STALE, DUE, HORIZON = range(8)  # columns of `segments`: a cache line
DEADLINE, START = range(2)  # first rows of `ints`
FIRST_FEATURE = 2
TOP = 60  # spare[TOP]: lanes from here on were never used
WANTED = 61  # spare[WANTED]: lanes that the last failed `reserve` asked for
CLASSES = 64
LANES = 8  # the lanes that kernels read and write at once: a pool is a multiple of it

FLOATS, INTS, HEADS, SEGMENTS, SPARE = float64[:, ::1], int64[:, ::1], uint32[::1], int64[:, ::1], int64[::1]


@jitable
def size_class(lanes: int) -> int:
    """The least power of two that holds so many lanes."""
    exponent = 0
    while (1 << exponent) < lanes:
        exponent += 1
    return exponent


@jitable
def give_back(ints: Any, segments: Any, spare: Any, slot: int) -> None:
    """Put a key's lanes on the list of free segments of their size."""
    capacity = segments[slot, CAPACITY]
    if capacity > 0:
        chosen = size_class(capacity)
        ints[DEADLINE, segments[slot, BASE]] = spare[chosen]
        spare[chosen] = segments[slot, BASE] + 1
        segments[slot, CAPACITY] = 0


@separate(void(FLOATS, INTS, HEADS, int64, int64, int64))
def slide(floats: Any, ints: Any, heads: Any, source: int, target: int, length: int) -> None:
    """Copy lanes [source, source + length) to target on (downwards, or where they do not overlap)."""
    for lane in range(length):
        heads[target + lane] = heads[source + lane]
    for row in range(ints.shape[0]):
        for lane in range(length):
            ints[row, target + lane] = ints[row, source + lane]
    for row in range(floats.shape[0]):
        for lane in range(length):
            floats[row, target + lane] = floats[row, source + lane]


@jitable
def move(floats: Any, ints: Any, heads: Any, source: int, target: int) -> None:
    """Copy one run to another lane."""
    heads[target] = heads[source]
    for row in range(ints.shape[0]):
        ints[row, target] = ints[row, source]
    for row in range(floats.shape[0]):
        floats[row, target] = floats[row, source]


@separate(boolean(FLOATS, INTS, HEADS, SEGMENTS, SPARE, int64, int64))
def reserve(floats: Any, ints: Any, heads: Any, segments: Any, spare: Any, slot: int, more: int) -> bool:
    """Make room for `more` runs of a key; False (nothing changed) if the pool must grow by spare[WANTED] lanes."""
    begin, length, capacity = segments[slot, BEGIN], segments[slot, LENGTH], segments[slot, CAPACITY]
    if begin + length + more <= capacity:
        return True
    base = segments[slot, BASE]
    if begin > 0 and 2 * (length + more) <= capacity:
        slide(floats, ints, heads, base + begin, base, length)
        segments[slot, BEGIN] = 0
        return True
    chosen = size_class((length + more) * (2 if begin > 0 else 1))
    size = 1 << chosen
    if spare[chosen] > 0:
        target = spare[chosen] - 1
        spare[chosen] = ints[DEADLINE, target]
    elif spare[TOP] + size <= len(heads):
        target = spare[TOP]
        spare[TOP] = target + size
    else:
        spare[WANTED] = size
        return False
    slide(floats, ints, heads, base + begin, target, length)
    give_back(ints, segments, spare, slot)
    segments[slot, BASE] = target
    segments[slot, BEGIN] = 0
    segments[slot, CAPACITY] = size
    segments[slot, DUE] = 0
    return True


@separate(int64(FLOATS, INTS, HEADS, SEGMENTS, int64, int64))
def expire(floats: Any, ints: Any, heads: Any, segments: Any, slot: int, now: int) -> Any:
    """Drop the runs whose window is over, keeping the order of the others; how many are left."""
    length = segments[slot, LENGTH]
    base = segments[slot, BASE] + segments[slot, BEGIN]
    kept = 0
    oldest = 1 << 62
    for lane in range(base, base + length):
        deadline = ints[DEADLINE, lane]
        if deadline >= now:
            if base + kept != lane:
                move(floats, ints, heads, lane, base + kept)
            oldest = min(oldest, deadline)
            kept += 1
    segments[slot, LENGTH] = kept
    segments[slot, OLDEST] = oldest
    return kept


@jitable
def append(segments: Any, slot: int, deadline: int) -> Any:
    """The lane of one more run of a key (room was made by `reserve`)."""
    length = segments[slot, LENGTH]
    segments[slot, LENGTH] = length + 1
    if length == 0 or deadline < segments[slot, OLDEST]:
        segments[slot, OLDEST] = deadline
    return segments[slot, BASE] + segments[slot, BEGIN] + length
