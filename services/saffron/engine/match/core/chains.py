"""The match buffer (N5): each event that a run binds is a node that points at the node before it.

Runs share the nodes of their common beginning, so that a node is one event after one chain of events. Nodes are in a
ring in the order of their events. A run lives no longer than its window, so all nodes of events before the oldest
window in force are dead at once: the ring's tail moves on, without reference counts. (The paper's stacks with version
numbers store an event once and a pointer per distinct predecessor; this stores both together, 9 bytes.)

The first event's node points at itself. A match is (start row, node before the last event or -1, last row). Matches of
merged runs (N7) share the chain from the merge on. Only its nodes after MARK_OF are the match's; before them come those
of the chain of OWN_OF.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from saffron.engine.kernels.jit import jitable, kernel
from saffron.engine.kernels.numba_types import boolean, int64, uint8, uint32, void
from saffron.engine.match.core.kernel_layout import MARK_OF, OWN_OF

_NODES = (uint32[::1], uint32[::1], uint8[::1])


@jitable
def is_shared(node: Any, mark: Any) -> Any:
    """True if a node of the chain of merged runs came after they were; numbers are kept modulo 2^32."""
    return ((node - mark) & 0xFFFFFFFF) < 0x80000000


@jitable
def previous(node: Any, node_before: Any) -> Any:
    """The node before a node of a chain; -1 if it is the first event's."""
    before = np.int64(node_before[node & (len(node_before) - 1)])
    return -1 if before == node else before


@jitable
def length(node: Any, node_before: Any) -> Any:
    """The number of nodes of the chain that ends with `node`; -1 is the empty chain."""
    count = 0
    while node >= 0:
        count += 1
        node = previous(node, node_before)
    return count


@kernel(int64(int64, int64, uint32[::1], int64[::1]))
def _suffix(node, stop, node_before, into):  # type: ignore[no-untyped-def]
    """Write the nodes from `node` back to `stop` (exclusive; -1: to the root) to `into`; returns their number."""
    ring = len(node_before) - 1
    count = 0
    while node != stop:
        into[count] = node
        count += 1
        before = np.int64(node_before[node & ring])
        if before == node:
            break
        node = before
    return count


@kernel(boolean(int64, int64, int64, int64, int64, *_NODES))
def _before(a, b, base, last, meeting, node_row, node_before, node_part):  # type: ignore[no-untyped-def]
    """True if chain a, which parts from b after node `meeting` by the same event, comes first in order of all seqs."""
    ring = len(node_row) - 1
    size_a, size_b, node = 1, 1, a
    while node != meeting:
        size_a, node = size_a + 1, np.int64(node_before[node & ring])
    node = b
    while node != meeting:
        size_b, node = size_b + 1, np.int64(node_before[node & ring])
    path_a, path_b = np.empty(size_a, np.int64), np.empty(size_b, np.int64)
    count_a, count_b = _suffix(a, meeting, node_before, path_a), _suffix(b, meeting, node_before, path_b)
    wrap = np.int64(0xFFFFFFFF)
    part = np.int64(0)
    for step in range(1, max(count_a, count_b) + 2):
        row_a = ((np.int64(node_row[path_a[count_a - step] & ring]) - base) & wrap) if step <= count_a else last
        row_b = ((np.int64(node_row[path_b[count_b - step] & ring]) - base) & wrap) if step <= count_b else last
        if row_a != row_b:
            return row_a < row_b
        if part == 0 and step <= count_a and step <= count_b:
            # The same events, as different components: the one that went on earlier comes first.
            part = np.int64(node_part[path_b[count_b - step] & ring]) - np.int64(
                node_part[path_a[count_a - step] & ring]
            )
        if step > count_a and step > count_b:
            break
    return part < 0


@kernel(boolean(int64[:, ::1], int64, int64, int64, int64, *_NODES))
def _in_order(found, i, j, tail, base, node_row, node_before, node_part):  # type: ignore[no-untyped-def]
    """True if match i comes before match j, which ends with the same event."""
    if found[0, i] != found[0, j]:
        return found[0, i] < found[0, j]
    ring = len(node_row) - 1
    wrap = np.int64(0xFFFFFFFF)
    a, b = found[1, i], found[1, j]
    last = (found[2, i] - base) & wrap
    row_a, row_b = last, last
    while a != b:
        if ((a - tail) & wrap) > ((b - tail) & wrap):
            row_a = (np.int64(node_row[a & ring]) - base) & wrap
            a = np.int64(node_before[a & ring])
        else:
            row_b = (np.int64(node_row[b & ring]) - base) & wrap
            b = np.int64(node_before[b & ring])
    if row_a != row_b:
        return row_a < row_b
    return _before(found[1, i], found[1, j], base, last, a, node_row, node_before, node_part)


@kernel(void(int64[::1], int64[::1], int64, int64, int64, int64[:, ::1], int64, int64, *_NODES))
def _merge(order, spare, low, middle, high, found, tail, base, node_row, node_before, node_part):  # type: ignore[no-untyped-def]
    """Merge the parts [low, middle) and [middle, high) of `order`, each of which is in order already.

    `order`: numbers of matches in `found`. `spare`: scratch of the same length.
    """
    for k in range(low, middle):
        spare[k] = order[k]
    left, right, out = low, middle, low
    while left < middle:
        if right < high and _in_order(found, order[right], spare[left], tail, base, node_row, node_before, node_part):
            order[out] = order[right]
            right += 1
        else:
            order[out] = spare[left]
            left += 1
        out += 1


@kernel(void(int64[:, ::1], int64, int64, int64, int64, *_NODES))
def sort(found, start, stop, tail, base, node_row, node_before, node_part):  # type: ignore[no-untyped-def]
    """Put matches [start, stop), which stand in the order of their last events, into the order of results.

    That is last seq, first seq, then all seqs in pattern order. Most groups of one last event are in order already, by
    their first events; the others are merged run by run (natural merge sort). `tail`, `base`: the oldest node and the
    oldest row, from which numbers known modulo 2^32 are compared.
    """
    while start < stop:
        end = start + 1
        while end < stop and found[2, end] == found[2, start]:
            end += 1
        sorted_to = start + 1
        while sorted_to < end and found[0, sorted_to - 1] < found[0, sorted_to]:
            sorted_to += 1
        if sorted_to < end:
            order = np.arange(start, end)
            spare = np.empty(end - start, np.int64)
            bounds = np.empty(end - start + 1, np.int64)
            runs = 0
            bounds[0] = 0
            for k in range(1, end - start):
                if _in_order(found, order[k], order[k - 1], tail, base, node_row, node_before, node_part):
                    runs += 1
                    bounds[runs] = k
            runs += 1
            bounds[runs] = end - start
            while runs > 1:
                kept = 0
                for k in range(0, runs - 1, 2):
                    _merge(
                        order, spare, bounds[k], bounds[k + 1], bounds[k + 2],
                        found, tail, base, node_row, node_before, node_part,
                    )  # fmt: skip
                    kept += 1
                    bounds[kept] = bounds[k + 2]
                if runs % 2 == 1:
                    kept += 1
                    bounds[kept] = bounds[runs]
                runs = kept
            found[:, start:end] = found[:, order].copy()
        start = end


@kernel(void(int64[:, ::1], *_NODES, int64[:, ::1]))
def measure(found, node_row, node_before, node_part, counts):  # type: ignore[no-untyped-def]
    """Write to `counts` [matches, components] the number of events that each component of each match bound."""
    ring = len(node_row) - 1
    for i in range(found.shape[1]):
        counts[i, found[3, i]] += 1
        node, mark = found[1, i], found[MARK_OF, i]
        while node >= 0:
            if mark != 0 and not is_shared(node, mark):
                node, mark = found[OWN_OF, i], np.int64(0)
            counts[i, np.int64(node_part[node & ring])] += 1
            node = previous(node, node_before)


@kernel(void(int64[:, ::1], int64, *_NODES, int64[:, ::1], int64[::1]))
def walk(found, row_mask, node_row, node_before, node_part, counts, rows):  # type: ignore[no-untyped-def]
    """Write to `rows` the place of each bound event in the ring of rows, match by match, by component.

    `counts` [matches, components]: from `measure`.
    """
    ring = len(node_row) - 1
    ends = np.empty(counts.shape[1], np.int64)
    end = 0
    for i in range(found.shape[1]):
        for each in range(counts.shape[1]):
            end += counts[i, each]
            ends[each] = end
        ends[found[3, i]] -= 1
        rows[ends[found[3, i]]] = found[2, i] & row_mask
        node, mark = found[1, i], found[MARK_OF, i]
        while node >= 0:
            if mark != 0 and not is_shared(node, mark):
                node, mark = found[OWN_OF, i], np.int64(0)
            part = np.int64(node_part[node & ring])
            ends[part] -= 1
            rows[ends[part]] = np.int64(node_row[node & ring]) & row_mask
            node = previous(node, node_before)
