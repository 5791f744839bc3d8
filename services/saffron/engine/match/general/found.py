"""Matches in the order of results; one found in several ways (choices are unions) is one.

The order is by the last event, then the first, then all in turn. Matches of the same events are ordered by the events
of each component in turn. An unbound component comes last: of two sides of an OR, the first comes first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import int64, uint8, uint32, void
from saffron.engine.match.core.chains import length, previous
from saffron.engine.match.core.kernel_layout import DUE_OF, LOW, SERIAL
from saffron.engine.match.core.nodes import Nodes

Ints = NDArray[np.int64]

_NOT_BOUND = 2**62
"""The row in a sort key for a component without events: it comes after all rows."""


def settle(found: Ints, components: int, base: int, nodes: Nodes) -> int:
    """Sort matches in place, equal ones once; returns their number. `base`: the oldest row."""
    count = int(found.shape[1])
    if count < 2:
        return count
    ends = np.empty(count, np.int64)
    _measure(found, components, nodes.before, ends)
    ends = np.cumsum(ends)
    keys = np.empty(int(ends[-1]), np.int64)
    _write(found, components, base, *nodes.arrays, ends, keys)
    order = np.empty(count, np.int64)
    kept = int(_sort(keys, ends, order))
    found[:, :kept] = found[:, order[:kept]]
    return kept


@kernel(void(int64[:, :], int64, uint32[::1], int64[::1]))
def _measure(found, components, node_before, sizes):  # type: ignore[no-untyped-def]
    """The length of each match's key."""
    for i in range(found.shape[1]):
        sizes[i] = 8 + 2 * length(found[1, i], node_before) + components


@kernel(void(int64[:, :], int64, int64, uint32[::1], uint32[::1], uint8[::1], int64[::1], int64[::1]))
def _write(found, components, base, node_row, node_before, node_part, ends, keys):  # type: ignore[no-untyped-def]
    """Keys: last row, first row, all rows, -1, by component its rows and -1 or _NOT_BOUND, window, due time.

    Rows are counted from `base`.
    """
    ring = len(node_row) - 1
    wrap = np.int64(0xFFFFFFFF)
    counts = np.empty(components, np.int64)
    begin = 0
    for i in range(found.shape[1]):
        count = (ends[i] - begin - 6 - components) // 2
        counts[:] = 0
        counts[found[3, i]] += 1
        at = begin + 2 + count - 1
        keys[at] = (found[2, i] - base) & wrap
        node = found[1, i]
        while node >= 0:
            at -= 1
            keys[at] = (np.int64(node_row[node & ring]) - base) & wrap
            counts[np.int64(node_part[node & ring])] += 1
            node = previous(node, node_before)
        keys[begin] = keys[begin + 1 + count]
        keys[begin + 1] = keys[begin + 2]
        keys[begin + 2 + count] = -1
        at = begin + 3 + count
        for component in range(components):
            keys[at + counts[component]] = -1 if counts[component] > 0 else _NOT_BOUND
            at += counts[component]
            counts[component] = at
            at += 1
        keys[at], keys[at + 1], keys[at + 2] = found[LOW, i], found[SERIAL, i], found[DUE_OF, i]
        counts[found[3, i]] -= 1
        keys[counts[found[3, i]]] = keys[begin]
        node = found[1, i]
        while node >= 0:
            part = np.int64(node_part[node & ring])
            counts[part] -= 1
            keys[counts[part]] = (np.int64(node_row[node & ring]) - base) & wrap
            node = previous(node, node_before)
        begin = ends[i]


@kernel(int64(int64[::1], int64[::1], int64, int64))
def _difference(keys, ends, i, j):  # type: ignore[no-untyped-def]
    """The order of keys i and j, number by number: -1 if i comes first, 1 if j does, 0 if they are equal.

    Key i is `keys[ends[i - 1]:ends[i]]`. No key is the beginning of another.
    """
    a = ends[i - 1] if i > 0 else 0
    b = ends[j - 1] if j > 0 else 0
    while a < ends[i] and b < ends[j]:
        if keys[a] != keys[b]:
            return -1 if keys[a] < keys[b] else 1
        a += 1
        b += 1
    return 0


@kernel(int64(int64[::1], int64[::1], int64[::1]))
def _sort(keys, ends, order):  # type: ignore[no-untyped-def]
    """Write the order of distinct matches to `order`; returns their number (merge sort; mostly in order)."""
    n = len(ends)
    for i in range(n):
        order[i] = i
    spare = np.empty(n, np.int64)
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            if middle < high and _difference(keys, ends, order[middle - 1], order[middle]) > 0:
                spare[low:middle] = order[low:middle]
                left, right, out = low, middle, low
                while left < middle:
                    if right < high and _difference(keys, ends, order[right], spare[left]) < 0:
                        order[out] = order[right]
                        right += 1
                    else:
                        order[out] = spare[left]
                        left += 1
                    out += 1
        width *= 2
    kept = 0
    for i in range(n):
        if kept == 0 or _difference(keys, ends, order[kept - 1], order[i]) != 0:
            order[kept] = order[i]
            kept += 1
    return kept
