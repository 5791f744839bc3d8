"""Finding equivalent runs of a key, and making one of them (N7; kernel helpers)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from saffron.engine.kernels.hashing import GOLDEN, chained
from saffron.engine.kernels.jit import jitable, separate
from saffron.engine.kernels.numba_types import boolean, float64, int64, uint8, uint32
from saffron.engine.match.core.due import remember, unlist
from saffron.engine.match.core.merged import (
    ALL,
    FOLLOWER_GROUP,
    FOLLOWER_MARK,
    GROUP,
    LEAST,
    LED,
    LED_UNTIL,
    MARK,
    MOST_PATIENT,
    OWN,
    PATIENCE,
    ROWS,
    WAIT,
)
from saffron.engine.match.core.runs import BASE, BEGIN, DEADLINE, DUE, FIRST_FEATURE, LENGTH, OLDEST, STALE, START, move
from saffron.engine.match.merging.chain import draw, whole

_GONE = -1
_SCALE = 4096.0
_LARGE = 1e12


@jitable
def _hash(floats: Any, ints: Any, lane: int) -> Any:
    """A hash of a run's features, equal for runs that agree."""
    value = np.uint64(GOLDEN)
    for row in range(FIRST_FEATURE, ints.shape[0] - ROWS):
        value = chained(value, np.uint64(ints[row, lane]))
    for row in range(floats.shape[0]):
        number = floats[row, lane]
        small = np.int64(number * _SCALE) if -_LARGE < number < _LARGE else np.int64(1)
        value = chained(value, np.uint64(small))
    return value


@jitable
def _agree(floats: Any, ints: Any, one: int, other: int) -> bool:
    """True if two runs have the same computation state: null is as good as null, 0 as -0."""
    for row in range(FIRST_FEATURE, ints.shape[0] - ROWS):
        if ints[row, one] != ints[row, other]:
            return False
    for row in range(floats.shape[0]):
        a, b = floats[row, one], floats[row, other]
        if a != b and not (math.isnan(a) and math.isnan(b)):
            return False
    return True


@jitable
def _pair(floats: Any, ints: Any, base: int, length: int, held: Any, end: int) -> Any:
    """Write the last run that agrees with run i of the key (or i) to held[START, end + i]; True if any two agree.

    held[DEADLINE, end...] serves as a hash table: both are unused lanes.
    """
    size = 1
    while 2 * size <= 2 * length:
        size *= 2
    for k in range(size):
        held[DEADLINE, end + k] = -1
    found = False
    for i in range(length - 1, -1, -1):
        at = np.int64(_hash(floats, ints, base + i) & np.uint64(size - 1))
        while held[DEADLINE, end + at] >= 0 and not _agree(floats, ints, base + held[DEADLINE, end + at], base + i):
            at = (at + 1) & (size - 1)
        if held[DEADLINE, end + at] < 0:
            held[DEADLINE, end + at] = i
        found |= held[DEADLINE, end + at] != i
        held[START, end + i] = held[DEADLINE, end + at]
    return found


@jitable
def _follow(held: Any, held_heads: Any, segments: Any, slot: int, run: Any, ordered: bool) -> None:
    """Append a follower of a key: (deadline, start, group, mark, head). `ordered`: by their starts."""
    deadline, start, group, mark, head = run
    begin = segments[slot, BASE] + segments[slot, BEGIN]
    at = begin + segments[slot, LENGTH]
    while ordered and at > begin and held[START, at - 1] > start:
        held_heads[at] = held_heads[at - 1]
        for row in range(held.shape[0]):
            held[row, at] = held[row, at - 1]
        at -= 1
    held[DEADLINE, at], held[START, at], held_heads[at] = deadline, start, np.uint32(head & 0xFFFFFFFF)
    held[FOLLOWER_GROUP, at], held[FOLLOWER_MARK, at] = group, mark
    if segments[slot, LENGTH] == 0 or deadline < segments[slot, OLDEST]:
        segments[slot, OLDEST] = deadline
    segments[slot, LENGTH] += 1
    if segments[slot, DUE] > 0:
        remember(held, segments, slot, deadline)


@jitable
def _larger(held: Any, segments: Any, slot: int, one: int, other: int) -> bool:
    """True if group `one` has more followers than group `other`."""
    begin = segments[slot, BASE] + segments[slot, BEGIN]
    more = 0
    for f in range(begin, begin + segments[slot, LENGTH]):
        more += 1 if held[FOLLOWER_GROUP, f] == one else 0
        more -= 1 if held[FOLLOWER_GROUP, f] == other else 0
    return more > 0


@jitable
def _yield(
    ints: Any, heads: Any, held: Any, held_heads: Any, segments: Any, slot: int, loser: int, group: int, mark: int
) -> None:
    """Make the runs of lane `loser` join a group whose trunk ends before `mark`."""
    if ints[GROUP, loser] == 0 or ints[MARK, loser] == ALL:
        ints[OWN, loser] = heads[loser]
    ints[MARK, loser] = mark
    if ints[GROUP, loser] == 0:
        return
    begin = segments[slot, BASE] + segments[slot, BEGIN]
    for f in range(begin, begin + segments[slot, LENGTH]):
        if held[FOLLOWER_GROUP, f] == ints[GROUP, loser]:
            if held[FOLLOWER_MARK, f] == ALL:
                held_heads[f] = heads[loser]
            held[FOLLOWER_MARK, f], held[FOLLOWER_GROUP, f] = mark, group


@jitable
def _join(
    ints: Any, heads: Any, held: Any, held_heads: Any, segments: Any, slot: int, keeper: int, lane: int, nodes: Any,
    ordered: bool,
) -> Any:  # fmt: skip
    """Run `lane` goes on as `keeper`, which agrees with it; the next node's number, or -1: there is no room for that.

    The trunk is that of the lane which leads more runs; the youngest run of both leads.
    """
    node, tail, node_row, node_before, node_part = nodes
    winner, loser = keeper, lane
    if ints[GROUP, lane] != 0:
        if ints[GROUP, keeper] == 0 or _larger(held, segments, slot, ints[GROUP, lane], ints[GROUP, keeper]):
            winner, loser = lane, keeper
        if ints[GROUP, loser] != 0:
            node = draw(
                ints, heads, held, held_heads, segments, slot, loser, node, tail, node_row, node_before, node_part
            )
            if node < 0:
                return node
    if ints[GROUP, winner] == 0:
        ints[GROUP, winner], ints[MARK, winner] = ints[START, winner] + 1, ALL
    group, head = ints[GROUP, winner], heads[winner]
    _yield(ints, heads, held, held_heads, segments, slot, loser, group, whole(head, node) + 1)
    if ints[DEADLINE, lane] > ints[DEADLINE, keeper]:
        for row in (DEADLINE, START, MARK, OWN):
            ints[row, lane], ints[row, keeper] = ints[row, keeper], ints[row, lane]
    heads[keeper], ints[GROUP, keeper] = head, group
    if segments[slot, LED] == 0 or ints[DEADLINE, keeper] > segments[slot, LED_UNTIL]:
        segments[slot, LED], segments[slot, LED_UNTIL] = 1, ints[DEADLINE, keeper]
    own = head if ints[MARK, lane] == ALL else np.uint32(ints[OWN, lane] & 0xFFFFFFFF)
    run = (ints[DEADLINE, lane], ints[START, lane], group, ints[MARK, lane], np.int64(own))
    _follow(held, held_heads, segments, slot, run, ordered)
    ints[GROUP, lane] = _GONE
    return node


@jitable
def _close(floats: Any, ints: Any, heads: Any, segments: Any, slot: int) -> Any:
    """Lanes that are gone are taken out; how many were."""
    base, length = segments[slot, BASE] + segments[slot, BEGIN], segments[slot, LENGTH]
    kept = 0
    for i in range(length):
        if ints[GROUP, base + i] != _GONE:
            if kept != i:
                move(floats, ints, heads, base + i, base + kept)
            kept += 1
        elif segments[slot, DUE] > 0:
            unlist(ints, segments, slot, ints[DEADLINE, base + i])
    segments[slot, LENGTH] = kept
    return length - kept


@separate(
    int64(
        float64[:, ::1], int64[:, ::1], uint32[::1], int64[:, ::1],
        int64[:, ::1], uint32[::1], int64[:, ::1], int64, boolean,
        int64, int64, uint32[::1], uint32[::1], uint8[::1],
    )
)  # fmt: skip
def merge(
    floats: Any, ints: Any, heads: Any, segments: Any, held: Any, held_heads: Any, held_segments: Any, slot: int,
    ordered: bool, node: Any, tail: int, node_row: Any, node_before: Any, node_part: Any,
) -> Any:  # fmt: skip
    """Make one run of each set of a key's runs that agree in all their features; the number of the next node.

    `floats`, `ints`, `heads`, `segments`: the pool of the runs (see `runs`); `held`...: that of their followers, in
    which room for twice as many as the key has runs was made. `ordered`: runs and followers stand in order of starts.
    None of the runs is stale (see `due`).
    Where the ring of nodes has no room for what that needs, runs stay as they are until the next time.
    """
    base, length = segments[slot, BASE] + segments[slot, BEGIN], segments[slot, LENGTH]
    end = held_segments[slot, BASE] + held_segments[slot, BEGIN] + held_segments[slot, LENGTH]
    merged = 0
    if _pair(floats, ints, base, length, held, end):
        for i in range(length):
            keeper = held[START, end + i]
            if keeper != i:
                made = _join(
                    ints, heads, held, held_heads, held_segments, slot, base + keeper, base + i,
                    (node, tail, node_row, node_before, node_part), ordered,
                )  # fmt: skip
                node = max(node, made)
        merged = _close(floats, ints, heads, segments, slot)
    patience = 1 if 4 * merged >= length else min(2 * max(held_segments[slot, PATIENCE], 1), MOST_PATIENT)
    held_segments[slot, PATIENCE] = patience
    held_segments[slot, WAIT] = patience * max(length - merged, LEAST)
    return node


@separate(int64(int64[:, ::1], uint32[::1], int64[:, ::1], int64, int64))
def disband(held: Any, held_heads: Any, segments: Any, slot: int, group: int) -> Any:
    """Remove the followers of a group of a key; returns the number that were not stale (see `due`)."""
    begin, length = segments[slot, BASE] + segments[slot, BEGIN], segments[slot, LENGTH]
    at, stale = begin, segments[slot, STALE]
    for f in range(begin, begin + length):
        if held[FOLLOWER_GROUP, f] != group:
            held_heads[at] = held_heads[f]
            for row in range(held.shape[0]):
                held[row, at] = held[row, f]
            at += 1
        elif stale > 0 and held[DEADLINE, f] < segments[slot, OLDEST]:
            segments[slot, STALE] -= 1
        elif segments[slot, DUE] > 0:
            unlist(held, segments, slot, held[DEADLINE, f])
    segments[slot, LENGTH] = at - begin
    if at == begin:
        segments[slot, BEGIN] = 0
    return begin + length - at - (stale - segments[slot, STALE])
