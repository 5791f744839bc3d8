"""Merged runs as runs of their own again: where an order drops one that leads others (P8)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import jitable, kernel
from saffron.engine.kernels.numba_types import boolean, float64, int64, uint8, uint32
from saffron.engine.match.core.due import compact
from saffron.engine.match.core.kernel_layout import DONE, GROW_NODES, GROW_POOL, LIVE, NODE, NODE_TAIL, place
from saffron.engine.match.core.merged import ALL, FOLLOWER_GROUP, FOLLOWER_MARK, GROUP, LED, MARK, OWN
from saffron.engine.match.core.runs import BASE, BEGIN, DEADLINE, DUE, LENGTH, OLDEST, START, move, reserve
from saffron.engine.match.merging.chain import draw
from saffron.engine.match.runs.query_runs import QueryRuns

Ints = NDArray[np.int64]


@jitable
def _leader(ints, low, high, group):  # type: ignore[no-untyped-def]
    """The lane in [low, high) that leads a group, or -1."""
    for lane in range(low, high):
        if ints[GROUP, lane] == group:
            return lane
    return -1


@jitable
def _spread(floats, ints, heads, segments, held, held_heads, held_segments, slot, ordered):  # type: ignore[no-untyped-def]
    """Move the followers of a key, with chains drawn, to lanes after those of its runs.

    It goes from the last to the first, so that lanes in order of starts stay in order.
    """
    base, length = segments[slot, BASE] + segments[slot, BEGIN], segments[slot, LENGTH]
    first, more = held_segments[slot, BASE] + held_segments[slot, BEGIN], held_segments[slot, LENGTH]
    i, f, total = base + length - 1, first + more - 1, length + more
    for lane in range(base + total - 1, base - 1, -1):
        if f < first or (ordered and i >= base and ints[START, i] > held[START, f]):
            if i != lane:
                move(floats, ints, heads, i, lane)
                ints[GROUP, i] = 0  # of two copies one leads
            i -= 1
            continue
        leader = _leader(ints, base, i + 1, held[FOLLOWER_GROUP, f])
        if leader < 0:
            leader = _leader(ints, lane + 1, base + total, held[FOLLOWER_GROUP, f])
        move(floats, ints, heads, leader, lane)
        ints[DEADLINE, lane], ints[START, lane], ints[GROUP, lane] = held[DEADLINE, f], held[START, f], 0
        if held[FOLLOWER_MARK, f] != ALL:
            heads[lane] = held_heads[f]
        segments[slot, OLDEST] = min(segments[slot, OLDEST], held[DEADLINE, f])
        f -= 1
    for lane in range(base, base + total):
        if ints[GROUP, lane] != 0 and ints[MARK, lane] != ALL:
            heads[lane] = np.uint32(ints[OWN, lane] & 0xFFFFFFFF)
        ints[GROUP, lane] = 0
    segments[slot, LENGTH] = total
    segments[slot, DUE] = held_segments[slot, DUE] = 0
    held_segments[slot, LENGTH] = held_segments[slot, BEGIN] = held_segments[slot, LED] = 0


@kernel(
    int64(
        float64[:, ::1], int64[:, ::1], uint32[::1], int64[:, ::1], int64[::1],
        float64[:, ::1], int64[:, ::1], uint32[::1], int64[:, ::1], boolean, boolean[::1],
        int64[::1], int64, uint32[::1], uint32[::1], uint8[::1],
    )
)  # fmt: skip
def part(  # type: ignore[no-untyped-def]
    floats, ints, heads, segments, spare, held_floats, held, held_heads, held_segments, ordered, wanted,
    next_node, tail, node_row, node_before, node_part,
):  # fmt: skip
    """Runs that were merged go on each on its own, in the keys that are `wanted` (cleared as they are done).

    Other arguments as of `merge`; `next_node` [1] is counted on.
    DONE, or what must grow before this is called again: GROW_NODES, GROW_POOL (the runs').
    """
    for slot in range(len(held_segments)):
        if not wanted[slot] or held_segments[slot, LED] == 0:
            continue
        more = compact(held_floats, held, held_heads, held_segments, slot)
        if not reserve(floats, ints, heads, segments, spare, slot, more):
            return GROW_POOL
        base = segments[slot, BASE] + segments[slot, BEGIN]
        for lane in range(base, base + segments[slot, LENGTH]):
            if ints[GROUP, lane] != 0:
                node = draw(
                    ints, heads, held, held_heads, held_segments, slot, lane,
                    next_node[0], tail, node_row, node_before, node_part,
                )  # fmt: skip
                if node < 0:
                    return GROW_NODES
                next_node[0] = node
        _spread(floats, ints, heads, segments, held, held_heads, held_segments, slot, ordered)
        wanted[slot] = False
    return DONE


def unmerge(runs: QueryRuns, merging: int, slots: Ints) -> None:
    """Split the merged runs of some keys, in state `merging`: each run goes on by itself."""
    pool, followers, counters = runs.pools[merging], runs.pools[-1], runs.counters
    wanted = np.zeros(len(followers.segments), np.bool_)
    wanted[slots] = True
    before = pool.held
    next_node = np.array([counters[NODE]], np.int64)
    status = -1
    while status != DONE:
        if status == GROW_NODES:
            runs.nodes.grow(int(counters[NODE_TAIL]), int(next_node[0]))
        elif status == GROW_POOL:
            pool.grow()
        status = part(
            *pool.arrays, *followers.arrays[:-1], merging == 0, wanted,
            next_node, int(counters[NODE_TAIL]), *runs.nodes.arrays,
        )  # fmt: skip
    counters[NODE] = next_node[0]
    parted = pool.held - before
    counters[place(merging, LIVE)] += parted
    counters[place(len(runs.pools) - 1, LIVE)] -= parted
