"""Matches found in several ways are one (choices are unions), and those of the same events stand in a fixed order."""

from __future__ import annotations

import numpy as np
from numba import boolean, int64, uint8, uint32, uint64, void
from numpy.typing import NDArray

from saffron.engine.jit import kernel
from saffron.engine.match.nodes import Nodes
from saffron.engine.match.rows import Rows

Ints = NDArray[np.int64]


def settle(found: Ints, rows: Rows, nodes: Nodes) -> int:
    """Put what stays of sorted matches [4, n] first, in place; how many that are."""
    count = int(found.shape[1])
    if count < 2:
        return count
    hashes = np.empty((2, count), np.uint64)
    _digest(found, *nodes.arrays, hashes)
    same = np.empty(count, np.bool_)
    _compare(hashes[0], same)
    if not same.any():
        return count
    kept: list[int] = []
    begin = 0
    for end in [*(np.flatnonzero(~same[1:]) + 1).tolist(), count]:
        kept += [begin] if end == begin + 1 else _ordered(found, begin, end, nodes, hashes[1])
        begin = end
    found[:, : len(kept)] = found[:, kept]
    return len(kept)


@kernel(void(int64[:, :], uint32[::1], uint32[::1], uint8[::1], uint64[:, ::1]))
def _digest(found, node_row, node_before, node_part, hashes):  # type: ignore[no-untyped-def]
    """hashes [2, n]: of the events of each match; of the events and the components that bind them."""
    ring = len(node_row) - 1
    mix, other = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0x9E3779B97F4A7C15)
    for i in range(found.shape[1]):
        a = (np.uint64(found[2, i] & 0xFFFFFFFF) + other) * mix
        b = a ^ (np.uint64(found[3, i] + 1) * other)
        node = found[1, i]
        while node >= 0:
            row = np.uint64(node_row[node & ring])
            a = (a ^ (a >> np.uint64(29)) ^ row) * mix
            b = (b ^ (b >> np.uint64(29)) ^ row ^ (np.uint64(node_part[node & ring]) << np.uint64(40))) * mix
            before = np.int64(node_before[node & ring])
            node = -1 if before == node else before
        hashes[0, i] = a
        hashes[1, i] = b


@kernel(void(uint64[::1], boolean[::1]))
def _compare(hashes, same):  # type: ignore[no-untyped-def]
    """Whether each has the events of the one before it."""
    same[0] = False
    for i in range(1, len(hashes)):
        same[i] = hashes[i] == hashes[i - 1]


def _ordered(found: Ints, begin: int, end: int, nodes: Nodes, hashes: NDArray[np.uint64]) -> list[int]:
    """Of matches of the same events one for each way to bind them, by the events of the first component, ..."""
    distinct = {int(hashes[i]): i for i in reversed(range(begin, end))}
    return sorted(distinct.values(), key=lambda i: _bound(found, i, nodes))


def _bound(found: Ints, i: int, nodes: Nodes) -> tuple[tuple[int, ...], ...]:
    """The events of each component, numbered from the last one backwards."""
    ring = len(nodes.row) - 1
    parts: dict[int, list[int]] = {int(found[3, i]): [0]}
    node, number = int(found[1, i]), 0
    while node >= 0:
        number -= 1
        parts.setdefault(int(nodes.part[node & ring]), []).append(number)
        before = int(nodes.before[node & ring])
        node = -1 if before == node else before
    return tuple(tuple(reversed(parts.get(part, []))) for part in range(max(parts) + 1))
