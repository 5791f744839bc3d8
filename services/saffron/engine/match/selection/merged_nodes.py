"""Graphs made smaller: nodes of one event that are followed by the same are one (OUTPUT COMPRESSED).

Each match keeps its one path, since merged nodes have the same endings. If one beginning led to both of them, each
match from there would have had two paths before.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.hashing import GOLDEN, chained
from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import boolean, int64, uint8, uint64, void
from saffron.engine.match.compressed.graphs import Graphs

Ints = NDArray[np.int64]


def merged(graphs: Graphs) -> Graphs:
    """Graphs of the same matches with as few nodes as merging from the end gives. Each match must have one path."""
    nodes = np.arange(len(graphs.place))
    graph = np.repeat(np.arange(len(graphs)), np.diff(graphs.first_node))
    child = np.repeat(nodes, np.diff(graphs.first_before))
    parent = graphs.before + graphs.first_node[graph[child]]
    order = np.argsort(parent, kind="stable")
    after = child[order]
    one = nodes.copy()
    _represent(
        np.searchsorted(parent[order], np.arange(len(nodes) + 1)), after, graph, graphs.place, graphs.component, one
    )
    kept = one == nodes
    number = (np.cumsum(kept) - 1)[one]
    root = np.zeros(int(kept.sum()), np.bool_)
    root[number[graphs.root]] = True
    first_node = np.searchsorted(graph[kept], np.arange(len(graphs) + 1))
    edges = np.unique(np.stack([number[child], number[parent]]), axis=1)
    return replace(
        graphs,
        first_node=first_node,
        component=graphs.component[kept],
        place=graphs.place[kept],
        root=root,
        first_before=np.searchsorted(edges[0], np.arange(len(root) + 1)),
        before=(edges[1] - first_node[graph[kept][edges[1]]]).astype(np.int32),
    )


@kernel(boolean(int64[::1], int64[::1], int64, int64))
def _alike(first_after, after, i, j):  # type: ignore[no-untyped-def]
    """True if the same nodes follow nodes i and j."""
    a, b = first_after[i], first_after[j]
    count = first_after[i + 1] - a
    if first_after[j + 1] - b != count:
        return False
    k = 0
    while k < count and after[a + k] == after[b + k]:
        k += 1
    return k == count


@kernel(uint64(int64[::1], int64[::1], uint8[::1], int64))
def _hash(first_after, after, component, node):  # type: ignore[no-untyped-def]
    value = chained(np.uint64(GOLDEN), np.uint64(component[node]))
    for k in range(first_after[node], first_after[node + 1]):
        value = chained(value, np.uint64(after[k]))
    return value


@kernel(void(int64[::1], int64[::1], int64[::1], int64[::1], uint8[::1], int64[::1]))
def _represent(first_after, after, graph, place, component, one):  # type: ignore[no-untyped-def]
    """one [nodes]: the first node that each is merged with, itself to begin with. after[first_after[k] :
    first_after[k + 1]]: what follows node k; here those that they are merged with."""
    high = len(one)
    while high > 0:
        low = high - 1
        while low > 0 and graph[low - 1] == graph[high - 1] and place[low - 1] == place[high - 1]:
            low -= 1
        hashes = np.empty(high - low, np.uint64)
        for node in range(low, high):
            for k in range(first_after[node], first_after[node + 1]):
                after[k] = one[after[k]]
            after[first_after[node] : first_after[node + 1]].sort()
            hashes[node - low] = _hash(first_after, after, component, node)
        order = np.argsort(hashes, kind="mergesort")
        first = 0
        for k in range(1, high - low):
            if hashes[order[k]] != hashes[order[first]]:
                first = k
            node = low + order[k]
            for earlier in range(first, k):  # nearly always the first of them
                other = low + order[earlier]
                if component[node] == component[other] and _alike(first_after, after, node, other):
                    one[node] = one[other]
                    break
        high = low
