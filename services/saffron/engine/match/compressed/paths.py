"""Kernels that write all matches of graphs at once, where no event can be bound to two components of one graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from saffron.engine.kernels.jit import jitable, kernel
from saffron.engine.kernels.numba_types import boolean, float64, int32, int64, uint8, uint32, void

_GRAPHS = (int64[::1], boolean[::1], int64[::1], int32[::1])


@kernel(boolean(int64[::1], uint8[::1], int64[::1]))
def shared(first_node, component, place):  # type: ignore[no-untyped-def]
    """True if some event has nodes of two components in a graph."""
    for graph in range(len(first_node) - 1):
        for node in range(first_node[graph] + 1, first_node[graph + 1]):
            if place[node] == place[node - 1] and component[node] != component[node - 1]:
                return True
    return False


@kernel(void(*_GRAPHS, float64[::1]))
def sizes(first_node, root, first_before, before, total):  # type: ignore[no-untyped-def]
    """Write to `total` [3] the numbers of matches, events and distinct beginnings of matches; up to 2**53."""
    largest = 0
    for graph in range(len(first_node) - 1):
        largest = max(largest, first_node[graph + 1] - first_node[graph])
    paths, length = np.empty(largest), np.empty(largest)
    total[:] = 0.0
    for graph in range(len(first_node) - 1):
        start = first_node[graph]
        last = first_node[graph + 1] - start - 1
        for node in range(last + 1):
            number = 1.0 if root[start + node] else 0.0
            events = 0.0
            for edge in range(first_before[start + node], first_before[start + node + 1]):
                number += paths[before[edge]]
                events += length[before[edge]]
            paths[node], length[node] = number, events + number
            total[2] += number
        total[0] += paths[last]
        total[1] += length[last]


@jitable
def _largest(first_node: Any, first_before: Any) -> Any:
    """The most nodes, and the most edges, of one graph."""
    largest, most = 0, 0
    for graph in range(len(first_node) - 1):
        start, stop = first_node[graph], first_node[graph + 1]
        largest = max(largest, stop - start)
        most = max(most, first_before[stop] - first_before[start])
    return largest, most


@kernel(void(int64, int64, int64[::1], int32[::1], int64[::1], int64[::1]))
def _turn(start, stop, first_before, before, begin, after):  # type: ignore[no-untyped-def]
    """Write the nodes that may follow node k of a graph, ascending, to after[begin[k] : begin[k + 1]]."""
    size = stop - start
    begin[: size + 2] = 0
    for edge in range(first_before[start], first_before[stop]):
        begin[before[edge] + 2] += 1
    for node in range(size):
        begin[node + 2] += begin[node + 1]
    for node in range(size):
        for edge in range(first_before[start + node], first_before[start + node + 1]):
            after[begin[before[edge] + 1]] = node
            begin[before[edge] + 1] += 1


@kernel(
    void(
        int64[::1], uint8[::1], int64[::1], boolean[::1], int64[::1], int32[::1],
        int64[::1], int64[:, ::1], int64[::1],
    )
)  # fmt: skip
def write(first_node, component, place, root, first_before, before, graphs, counts, places):  # type: ignore[no-untyped-def]
    """Every match's graph, counts by component, and its events' places: depth first, which is the order of results."""
    largest, most = _largest(first_node, first_before)
    begin, after = np.empty(largest + 2, np.int64), np.empty(most + 1, np.int64)
    depths, path, held = (
        np.empty(largest + 1, np.int64),
        np.empty(largest + 1, np.int64),
        np.empty(largest + 1, np.int64),
    )
    bound = np.zeros(counts.shape[1], np.int64)
    match, at = 0, 0
    for graph in range(len(first_node) - 1):
        start, stop = first_node[graph], first_node[graph + 1]
        size = stop - start
        end = size - 1
        _turn(start, stop, first_before, before, begin, after)
        for opening in range(size):
            if not root[start + opening]:
                continue
            depth = 0
            path[0], depths[0], held[0] = opening, begin[opening], place[start + opening]
            bound[component[start + opening]] += 1
            while depth >= 0:
                node = path[depth]
                edge = depths[depth]
                if edge < begin[node + 1] and after[edge] != end:
                    depths[depth] = edge + 1
                    depth += 1
                    child = after[edge]
                    path[depth], depths[depth], held[depth] = child, begin[child], place[start + child]
                    bound[component[start + child]] += 1
                    continue
                if edge < begin[node + 1] or node == end:
                    # The end is the last of those that may follow.
                    if node != end:
                        depth += 1
                        held[depth] = place[stop - 1]
                        bound[component[stop - 1]] += 1
                    graphs[match] = graph
                    for each in range(len(bound)):
                        counts[match, each] = bound[each]
                    for k in range(depth + 1):
                        places[at + k] = held[k]
                    at += depth + 1
                    match += 1
                    if node != end:
                        bound[component[stop - 1]] -= 1
                        depth -= 1
                bound[component[start + node]] -= 1
                depth -= 1


@kernel(
    int64(
        int64[::1], uint8[::1], int64[::1], boolean[::1], int64[::1], int32[::1],
        int64, int64, int64, uint32[::1], uint32[::1], uint8[::1], int64[:, ::1],
    )
)  # fmt: skip
def chain(  # type: ignore[no-untyped-def]
    first_node, component, place, root, first_before, before,
    tail, ring, node, node_row, node_before, node_part, found,
):  # fmt: skip
    """Every match as a chain of the match buffer (see `chains`), in the order of `write`; the number of the next node.

    found [at least 3, matches]: first row, node before the last event or -1, last row. Rows are numbered from `tail`
    on and stand at place row & ring; nodes are numbered from `node` on.
    """
    largest, most = _largest(first_node, first_before)
    begin, after = np.empty(largest + 2, np.int64), np.empty(most + 1, np.int64)
    edges, path, held = np.empty(largest + 1, np.int64), np.empty(largest + 1, np.int64), np.empty(largest, np.int64)
    wrap, slots = np.int64(0xFFFFFFFF), len(node_row) - 1
    match = 0
    for graph in range(len(first_node) - 1):
        start, stop = first_node[graph], first_node[graph + 1]
        _turn(start, stop, first_before, before, begin, after)
        end = stop - start - 1
        last = tail + ((place[stop - 1] - tail) & ring)
        for opening in range(end + 1):
            if not root[start + opening]:
                continue
            first = tail + ((place[start + opening] - tail) & ring)
            if opening == end:
                found[0, match], found[1, match], found[2, match] = first, -1, last
                match += 1
                continue
            depth = 0
            path[0] = opening
            edges[0] = -1
            while depth >= 0:
                mine = path[depth]
                if edges[depth] < 0:
                    edges[depth] = begin[mine]
                    held[depth] = node
                    row = tail + ((place[start + mine] - tail) & ring)
                    node_row[node & slots] = np.uint32(row & wrap)
                    node_before[node & slots] = np.uint32(held[max(depth - 1, 0)] & wrap)
                    node_part[node & slots] = component[start + mine]
                    node += 1
                edge = edges[depth]
                if edge < begin[mine + 1] and after[edge] != end:
                    edges[depth] += 1
                    depth += 1
                    path[depth], edges[depth] = after[edge], -1
                    continue
                if edge < begin[mine + 1]:
                    found[0, match], found[1, match], found[2, match] = first, held[depth] & wrap, last
                    match += 1
                depth -= 1
    return node
