"""The events of matches of flat plans, written fast: events shared with an earlier match are copied from it.

In a flat plan the chain of a match (see `chains`) is its events in the order of components. Matches of one run follow
each other along one chain, so that from the second on only the events since the last match are walked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import boolean, int32, int64, uint8, uint32, void
from saffron.engine.match.core.chains import is_shared, previous
from saffron.engine.match.core.kernel_layout import CHAIN, FIRST_ROW, LAST_ROW, MARK_OF, OWN_OF
from saffron.engine.match.core.nodes import Nodes

Ints = NDArray[np.int64]


def written(
    found: Ints, components: int, ring: int, nodes: Nodes, values: Ints, *, merging: bool = False
) -> tuple[Ints, Ints]:
    """int64 [matches, components]: how many events each component bound; and a value of every event, match by match.

    `found`: matches of a flat plan (see `kernel_layout`). `values`: int64, one for each place row & ring. `merging`: of
    runs that merge, where chains are shared by matches of different runs, but not by two that begin with one event.
    """
    total = int(found.shape[1])
    counts, sources = np.zeros((total, components), np.int64), np.empty((3, total), np.int64)
    latest = np.full(ring + 1 if merging else len(nodes.row), -1, np.int32)
    _measure(np.ascontiguousarray(found), nodes.before, nodes.part, merging, latest, counts, sources)
    ends = np.cumsum(sources[2])
    out = np.empty(int(ends[-1]) if total else 0, np.int64)
    _write(np.ascontiguousarray(found), ring, nodes.row, nodes.before, sources, ends, values, out)
    return counts, out


@kernel(void(int64[:, ::1], uint32[::1], uint8[::1], boolean, int32[::1], int64[:, ::1], int64[:, ::1]))
def _measure(found, node_before, node_part, merging, latest, counts, sources):  # type: ignore[no-untyped-def]
    """Find the events that matches share, by walking their chains. All arrays are results.

    `sources` [3, matches]: the earlier match whose events before its last one begin this one, or -1; the number of
    nodes walked; the number of events. `latest`: the last match whose chain ends at a place of the ring of nodes; under
    `merging` the last match that begins at a row's place.
    """
    ring, rows, last = len(node_before) - 1, len(latest) - 1, counts.shape[1] - 1
    for i in range(found.shape[1]):
        node, mark = found[CHAIN, i], found[MARK_OF, i]
        steps, source = 0, np.int64(-1)
        while node >= 0:
            if mark != 0 and not is_shared(node, mark):
                node, mark = found[OWN_OF, i], np.int64(0)
            earlier = np.int64(latest[found[FIRST_ROW, i] & rows] if merging else latest[node & ring])
            if earlier >= 0 and (not merging or found[CHAIN, earlier] == node):
                source = earlier
                break
            counts[i, np.int64(node_part[node & ring])] += 1
            steps += 1
            node = previous(node, node_before)
        sources[0, i], sources[1, i], sources[2, i] = source, steps, steps + 1
        if source >= 0:
            sources[2, i] += sources[2, source] - 1
            for component in range(last + 1):
                counts[i, component] += counts[source, component]
            counts[i, last] -= 1
        counts[i, last] += 1
        if found[CHAIN, i] >= 0:
            latest[found[FIRST_ROW, i] & rows if merging else found[CHAIN, i] & ring] = i


@kernel(void(int64[:, ::1], int64, uint32[::1], uint32[::1], int64[:, ::1], int64[::1], int64[::1], int64[::1]))
def _write(found, ring, node_row, node_before, sources, ends, values, out):  # type: ignore[no-untyped-def]
    """Write the value of every event to `out`, match by match. `ends` [matches]: the end of each match there.

    Events shared with an earlier match are copied. `sources`: as `_measure` fills it.
    """
    nodes = len(node_row) - 1
    for i in range(found.shape[1]):
        at = ends[i] - 1
        out[at] = values[found[LAST_ROW, i] & ring]
        node, mark = found[CHAIN, i], found[MARK_OF, i]
        for _ in range(sources[1, i]):
            if mark != 0 and not is_shared(node, mark):
                node, mark = found[OWN_OF, i], np.int64(0)
            at -= 1
            out[at] = values[np.int64(node_row[node & nodes]) & ring]
            node = np.int64(node_before[node & nodes])
        source = sources[0, i]
        if source >= 0:
            begin, size = ends[i] - sources[2, i], sources[2, source] - 1
            low = ends[source] - sources[2, source]
            for k in range(size):
                out[begin + k] = out[low + k]
