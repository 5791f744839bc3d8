"""OUTPUT COMPRESSED: the matches of each last event and window as one graph, from the matches themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import int64, uint32, void
from saffron.engine.match.compressed.graphs import Graphs
from saffron.engine.match.core.chains import previous
from saffron.engine.match.core.kernel_layout import CHAIN, LAST_ROW, PART
from saffron.engine.match.selection.entries import Entries
from saffron.engine.match.selection.merged_nodes import merged
from saffron.engine.match.selection.stored import Stored

Ints = NDArray[np.int64]

_GROUP = 1 << 33  # in a key: the graph's number; below it the node's, counted from the oldest one
_END = 1 << 32  # and of an ending node its component
_WRAP = 0xFFFFFFFF


@dataclass(frozen=True)
class Collapsed:
    """`graphs`, one for each of `entries`: any match of theirs, for its last event, window and deadline.

    Where matches end with the same event as different components, a node of component `graphs.components` closes the
    graph; it is no event.
    """

    graphs: Graphs
    entries: Entries


def grouped(entries: Entries, stored: Stored, tail: int) -> Collapsed:
    """All matches, as graphs in the order of deadlines, last events, and windows. `tail`: the oldest stored node."""
    group, first = _groups(entries)
    found, counts = entries.found, stored.counts(entries).sum(axis=1)
    chained = np.repeat(group, counts - 1)
    nodes = np.empty(int(counts.sum()) - len(entries), np.int64)
    before = np.empty(len(nodes), np.int64)
    _walk(np.ascontiguousarray(found), stored.nodes.before, nodes, before)
    chain_keys = chained * _GROUP + ((nodes - tail) & _WRAP)
    end_keys = group * _GROUP + _END + found[PART]
    ends = np.unique(end_keys)
    several = np.flatnonzero(np.bincount(ends // _GROUP, minlength=len(first)) > 1)
    closing = several * _GROUP + _END + stored.positive
    keys = np.unique(np.concatenate([chain_keys, ends, closing]))
    graph, low = keys // _GROUP, keys % _GROUP

    def place(wanted: Ints) -> Ints:
        return np.searchsorted(keys, wanted)

    root = np.zeros(len(keys), np.bool_)
    root[place(chain_keys[before == -1])] = True
    root[place(end_keys[found[CHAIN] == -1])] = True
    inner, last = before != -1, found[CHAIN] != -1
    edges = [
        (place(chain_keys[inner]), place(chained[inner] * _GROUP + ((before[inner] - tail) & _WRAP))),
        (place(end_keys[last]), place(group[last] * _GROUP + ((found[CHAIN][last] - tail) & _WRAP))),
    ]
    joined = ends[np.isin(ends // _GROUP, several)]
    edges.append((place(joined // _GROUP * _GROUP + _END + stored.positive), place(joined)))
    after, earlier = (np.concatenate(side) for side in zip(*edges, strict=True))
    pairs = np.unique(np.stack([after, earlier]), axis=1)
    ending = low >= _END
    node = (low + tail) & (len(stored.nodes.row) - 1)
    row = np.where(ending, found[LAST_ROW][first][graph], stored.nodes.row[node])
    first_node = np.searchsorted(graph, np.arange(len(first) + 1))
    graphs = Graphs(
        components=stored.positive,
        chosen=np.arange(len(first)),
        first_node=first_node,
        component=np.where(ending, low - _END, stored.nodes.part[node]).astype(np.uint8),
        place=row & stored.rows.mask,
        root=root,
        first_before=np.searchsorted(pairs[0], np.arange(len(keys) + 1)),
        before=(pairs[1] - first_node[graph[pairs[1]]]).astype(np.int32),
    )
    return Collapsed(merged(graphs), entries.only(first))


def _groups(entries: Entries) -> tuple[Ints, Ints]:
    """[n] the number of each match's graph; the first match of each."""
    same = np.stack([entries.deadline, entries.found[LAST_ROW], entries.windows])
    _, first, group = np.unique(same, axis=1, return_index=True, return_inverse=True)
    return group.reshape(-1), first


@kernel(void(int64[:, ::1], uint32[::1], int64[::1], int64[::1]))
def _walk(found, node_before, nodes, befores):  # type: ignore[no-untyped-def]
    """The nodes of all matches, the last event aside, and the node before each, -1 for none."""
    at = 0
    for i in range(found.shape[1]):
        node = found[1, i]
        while node >= 0:
            nodes[at] = node
            node = befores[at] = previous(node, node_before)
            at += 1
