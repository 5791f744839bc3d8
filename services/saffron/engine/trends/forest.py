"""The trees of a query (`ordered`): made, given room, written into snapshots, counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.trends.graphs import Graphs
from saffron.engine.trends.layout import KEYS, T_COLUMN, Ints, Store, Wiring
from saffron.engine.trends.measures import Measures
from saffron.engine.trends.ordered import BLOCK, COUNTS, FAN, HEIGHT, USED, WINDOWS, Index, Nodes, doubled, new

_PREFIX = "index."
WIDE = ("index.given_ns", "index.found_ns", "index.leaves.ns", "index.inners.ns")
"""The arrays that hold integers of any size under EXACT."""


def planted(graphs: Graphs, measures: Measures, windows: int) -> Index:
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
    while index.leaves.free[0] + 2 * FAN * inserts > len(index.leaves.meta):
        index = index._replace(leaves=doubled(index.leaves))
    while index.inners.free[0] + 2 * FAN * (int(index.shape[HEIGHT]) + 2) * inserts > len(index.inners.meta):
        index = index._replace(inners=doubled(index.inners))
    return index


def widened(index: Index, source: Ints, target: Ints, windows: int) -> Index:
    """OPEN ON: the index with so many slots; what was in `source` is in `target`."""
    old = int(index.shape[WINDOWS])

    def wider(array: NDArray[Any], nothing: float) -> NDArray[Any]:
        rows = len(array) // old
        result = np.full((rows, windows, *array.shape[1:]), nothing).astype(array.dtype)
        result[:, target] = array.reshape(rows, old, *array.shape[1:])[:, source]
        return result.reshape(rows * windows, *array.shape[1:])

    def nodes(of: Nodes) -> Nodes:
        return of._replace(ns=wider(of.ns, 0), es=wider(of.es, 0), lows=wider(of.lows, np.inf))

    index.shape[[WINDOWS, COUNTS]] = windows, index.shape[COUNTS] // old * windows
    scratch = {name: getattr(index, name) for name in ("given_ns", "given_es", "found_ns", "found_es")}
    return index._replace(
        leaves=nodes(index.leaves),
        inners=nodes(index.inners),
        given_lows=wider(index.given_lows, np.inf),
        found_lows=wider(index.found_lows, np.inf),
        **{name: wider(array, 0) for name, array in scratch.items()},
    )


def entries(index: Index, store: Store, wiring: Wiring) -> int:
    """How many entries all trees have."""
    columns = wiring.trees[:, T_COLUMN]
    nodes = store.keys[: store.head[KEYS]][:, columns].ravel()
    found = 0
    while len(nodes):
        leaves, inners = -nodes[nodes < 0] - 1, nodes[nodes > 0] - 1
        found += int(index.leaves.meta[leaves, USED].sum())
        used = index.inners.meta[inners, USED].astype(np.int64)
        place = np.arange(used.sum()) - np.repeat(np.cumsum(used) - used, used)
        nodes = index.inners.children[np.repeat(inners * BLOCK, used) + place].astype(np.int64)
    return found


def size(index: Index) -> int:
    """Bytes of its arrays."""
    return sum(array.nbytes for array in arrays(index).values())


def arrays(index: Index) -> dict[str, NDArray[Any]]:
    """All arrays by name."""
    found = {f"{_PREFIX}{name}": part for name, part in index._asdict().items() if not isinstance(part, tuple)}
    for side in ("leaves", "inners"):
        found |= {f"{_PREFIX}{side}.{name}": part for name, part in getattr(index, side)._asdict().items()}
    return found


def index_of(state: Mapping[str, NDArray[Any]]) -> Index:
    """What `arrays` was made from."""
    sides = {s: Nodes(**{n: state[f"{_PREFIX}{s}.{n}"] for n in Nodes._fields}) for s in ("leaves", "inners")}
    whole: dict[str, Any] = {name: state[f"{_PREFIX}{name}"] for name in Index._fields if name not in sides}
    return Index(**(whole | sides))
