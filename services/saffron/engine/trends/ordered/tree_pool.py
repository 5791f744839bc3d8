"""The index of a query (`ordered`), seen from Python: creation, growth, snapshots, statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Ints, Store, Wiring
from saffron.engine.trends.core.graphs import Graphs
from saffron.engine.trends.core.measures import Measures
from saffron.engine.trends.ordered import ordered
from saffron.engine.trends.ordered.ordered import Index, new, reserve, with_blocks

_PREFIX = "index."
WIDE = ("index.ints",)
"""The arrays that hold integers of any size under EXACT."""


def new_pool(graphs: Graphs, measures: Measures, windows: int) -> Index:
    """An empty index for a query's vertices in so many windows at a time."""
    sums = sum(measure.function == "sum" for measure in measures.numbers)
    return new(
        windows,
        (len(measures.numbers) - sums) * windows,
        sums=sums * windows,
        lows=len(measures.extremes) * windows,
        worded=any(asked.equal is not None for asked in graphs.trees.values()),
        number=object if graphs.plan.exact else np.int64,
    )


def with_room(index: Index, inserts: int) -> Index:
    """The index with room for so many insertions (`kernels_trees.has_nodes`)."""
    return with_blocks(index, int(index.head[ordered.BLOCKS]) + reserve(int(index.head[ordered.HEIGHT]) + 1) * inserts)


def widened(index: Index, source: Ints, target: Ints, windows: int) -> Index:
    """OPEN ON: the index with more slots; numbers in `source` move to `target`."""
    head = index.head
    old, rows = int(head[ordered.WINDOWS]), int(head[ordered.ROWS])

    def wider(array: NDArray[Any], used: int, nothing: float) -> NDArray[Any]:
        """The first rows with more slots, then the others as they are."""
        result = np.full((used // old, windows, array.shape[1]), nothing).astype(array.dtype)
        result[:, target] = array[:used].reshape(-1, old, array.shape[1])[:, source]
        return np.concatenate((result.reshape(-1, array.shape[1]), array[used:]))

    ints, smalls = wider(index.ints, rows, 0), wider(index.smalls, rows, 0)
    floats = wider(index.floats, len(index.floats) - 1, np.inf)
    columns = [ordered.WORD, ordered.LAST]
    head[columns] += (head[columns] > 0) * (rows // old * windows - rows)
    head[[ordered.WINDOWS, ordered.COUNTS, ordered.ROWS]] = (
        windows,
        head[ordered.COUNTS] // old * windows,
        rows // old * windows,
    )
    return index._replace(ints=ints, smalls=smalls, floats=floats)


def codes(index: Index | tuple[()], store: Store, wiring: Wiring, known: int) -> Iterator[Ints]:
    """Numbers of strings, below `known`, by which entries are ordered, or vertices that wait (TIME STRICT) will be.

    Which of an index's words and keys are strings, and which entries are left over, it does not say: all that may be
    such a number counts as one."""
    if not isinstance(index, Index):
        return
    waiting = len(wiring.trees) if wiring.params[layout.STRICT] else 0
    words = [index.ints[index.head[ordered.WORD]]] if index.head[ordered.WORD] else []
    words += list(store.marks[:, store.marks.shape[1] - waiting :].T)
    values = [np.ascontiguousarray(row).astype(np.int64).view(np.float64) for row in words]
    for row in (*values, index.floats[ordered.KEY], *store.values[len(store.values) - waiting :]):
        found = row[(row >= 0) & (row < known)]
        yield found[found == np.floor(found)].astype(np.int64)


def entries(index: Index, store: Store, wiring: Wiring) -> int:
    """The number of entries of all trees."""
    columns = wiring.trees[:, layout.T_COLUMN]
    roots = store.keys[: store.head[layout.KEYS]][:, columns].ravel()
    found = _of_lists(index, -roots[roots < -ordered.LISTS] - ordered.LISTS - 1, int(store.head[layout.KLO]))
    nodes = roots[roots >= -ordered.LISTS]
    while len(nodes):
        leaves, inners = -nodes[nodes < 0] - 1, nodes[nodes > 0] - 1
        found += int(index.meta[leaves, ordered.FILLED].sum())
        used = index.meta[inners, ordered.FILLED].astype(np.int64)
        place = np.arange(used.sum()) - np.repeat(np.cumsum(used) - used, used)
        nodes = index.smalls[ordered.CHILD, np.repeat(inners * ordered.BLOCK, used) + place].astype(np.int64)
    return found


def _of_lists(index: Index, runs: Ints, klo: int) -> int:
    """The number of entries of these lists that are in an open window."""
    used = index.meta[runs, ordered.FILLED].astype(np.int64)
    if index.head[ordered.LAST] == 0:
        return int(used.sum())
    place = np.arange(used.sum()) - np.repeat(np.cumsum(used) - used, used)
    last = index.ints[index.head[ordered.LAST], np.repeat(runs * ordered.BLOCK, used) + place]
    return int(np.count_nonzero(last >= klo))


def size(index: Index) -> int:
    """Bytes of its arrays."""
    return sum(array.nbytes for array in index)


def arrays(index: Index) -> dict[str, NDArray[Any]]:
    """All arrays by name."""
    return {f"{_PREFIX}{name}": array for name, array in index._asdict().items()}


def index_of(state: Mapping[str, NDArray[Any]]) -> Index:
    """The index from which `arrays` was made."""
    return Index(**{name: state[f"{_PREFIX}{name}"] for name in Index._fields})
