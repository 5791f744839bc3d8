"""The chains of merged runs in the match buffer (N5, N7; kernel helpers)."""

from __future__ import annotations

from typing import Any

import numpy as np

from saffron.engine.kernels.jit import jitable, separate
from saffron.engine.kernels.numba_types import int64, uint8, uint32
from saffron.engine.match.core.merged import ALL, FOLLOWER_GROUP, FOLLOWER_MARK, GROUP, MARK, OWN
from saffron.engine.match.core.runs import BASE, BEGIN, LENGTH


@jitable
def whole(low: Any, node: int) -> Any:
    """The number of an existing node from its 32 low bits; `node` is the next node's."""
    return node - ((node - np.int64(low)) & 0xFFFFFFFF)


@jitable
def _behind(head: int, mark: int, node: int, node_before: Any) -> Any:
    """The number of nodes after `mark` of the trunk that ends at `head`."""
    ring = len(node_before) - 1
    count = 0
    while head >= mark:
        count += 1
        head = whole(node_before[head & ring], node)
    return count


@jitable
def _drawn(own: int, head: int, count: int, node: int, node_row: Any, node_before: Any, node_part: Any) -> None:
    """Nodes [node, node + count): the last `count` of the trunk that ends at `head`, after node `own`."""
    ring = len(node_row) - 1
    for k in range(count - 1, -1, -1):
        place = (node + k) & ring
        node_row[place] = node_row[head & ring]
        node_part[place] = node_part[head & ring]
        node_before[place] = (node + k - 1 if k > 0 else own) & 0xFFFFFFFF
        head = whole(node_before[head & ring], node)


@jitable
def _again(own: int, source: int, count: int, node: int, node_row: Any, node_before: Any, node_part: Any) -> None:
    """Do as `_drawn`, with nodes [source, source + count), which hold the same part of the trunk."""
    ring = len(node_row) - 1
    for k in range(count):
        place = (node + k) & ring
        node_row[place] = node_row[(source + k) & ring]
        node_part[place] = node_part[(source + k) & ring]
        node_before[place] = (node + k - 1) & 0xFFFFFFFF
    node_before[node & ring] = own & 0xFFFFFFFF


@jitable
def _needed(ints: Any, heads: Any, held: Any, segments: Any, slot: int, lane: int, node: int, node_before: Any) -> Any:
    """The number of nodes that `draw` makes."""
    head = whole(heads[lane], node)
    begin = segments[slot, BASE] + segments[slot, BEGIN]
    mark, count, needed = np.int64(ALL), 0, 0
    if ints[MARK, lane] != ALL:
        mark = ints[MARK, lane]
        count = needed = _behind(head, mark, node, node_before)
    for f in range(begin, begin + segments[slot, LENGTH]):
        if held[FOLLOWER_GROUP, f] == ints[GROUP, lane] and held[FOLLOWER_MARK, f] != ALL:
            if held[FOLLOWER_MARK, f] != mark:
                mark = held[FOLLOWER_MARK, f]
                count = _behind(head, mark, node, node_before)
            needed += count
    return needed


@separate(
    int64(
        int64[:, ::1], uint32[::1], int64[:, ::1], uint32[::1], int64[:, ::1],
        int64, int64, int64, int64, uint32[::1], uint32[::1], uint8[::1],
    )
)  # fmt: skip
def draw(
    ints: Any, heads: Any, held: Any, held_heads: Any, segments: Any, slot: int, lane: int,
    node: Any, tail: int, node_row: Any, node_before: Any, node_part: Any,
) -> Any:  # fmt: skip
    """Draw the chains of the runs that `lane` of a key leads, its own too, on to the end of the trunk.

    The number of the next node, or -1 if the ring has no room (nothing is changed). A node for one event of one run is
    made once, when the first match asks for it.
    """
    needed = _needed(ints, heads, held, segments, slot, lane, node, node_before)
    if node + needed - tail > len(node_row) - 1:
        return -1
    head = whole(heads[lane], node)
    mark, count, source = np.int64(ALL), 0, node
    if ints[MARK, lane] != ALL:
        mark = ints[MARK, lane]
        count = _behind(head, mark, node, node_before)
        if count > 0:
            _drawn(ints[OWN, lane], head, count, node, node_row, node_before, node_part)
            node += count
            ints[OWN, lane] = (node - 1) & 0xFFFFFFFF
        ints[MARK, lane] = head + 1
    begin = segments[slot, BASE] + segments[slot, BEGIN]
    for f in range(begin, begin + segments[slot, LENGTH]):
        if held[FOLLOWER_GROUP, f] != ints[GROUP, lane] or held[FOLLOWER_MARK, f] == ALL:
            continue
        if held[FOLLOWER_MARK, f] != mark:
            mark, source = held[FOLLOWER_MARK, f], node
            count = _behind(head, mark, node, node_before)
            if count > 0:
                _drawn(held_heads[f], head, count, node, node_row, node_before, node_part)
        elif count > 0:
            _again(held_heads[f], source, count, node, node_row, node_before, node_part)
        if count > 0:
            node += count
            held_heads[f] = np.uint32((node - 1) & 0xFFFFFFFF)
        held[FOLLOWER_MARK, f] = head + 1
    return node
