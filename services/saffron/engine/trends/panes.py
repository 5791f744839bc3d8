"""Overlapping windows without a cost per window, where no transition has a condition: matrices of panes (T8, issue 5).

A pane is what the bounds of windows cut time (or positions) into; a window is a run of panes. Without conditions, what
an event does to a key's totals is linear: with the row vector (1, total of each state, final total) an event is a
matrix, a pane the product of its events' matrices, a window that of its panes, and its result stands in row 0, last
column. So an event costs two small matrices whatever the number of windows, and a window one product of a row.

The products of windows come from a queue of two stacks (Tangwongsan, Hirzel, Schneider: Low-latency sliding-window
aggregation in worst-case constant time, 2017, section 2): panes before `MIDDLE` hold the product of themselves and all
behind them up to there, so that the window from pane a on is that of a times `back`, the product of all panes since.

Entries of matrices are aggregates of sets of paths: (COUNT(*), COUNT(E)s; SUMs; least values), see `numbers`. Sum: of
counts and sums, least of least. Product of (c, k, s, l) and (c', k', s', l'): (c c', c k' + k c', c s' + s c', least of
both), for a trend that is a path through both has the events of both; where either count is 0 it is nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from saffron.engine.trends.layout import Floats, Ints, Smalls

# ---- wiring
SIZE = 0  # [3] of `shape`: rows of a matrix, states + 2
RING = 1  # panes that a window may have
COUNTS = 2  # COUNT(*), COUNT(E)s; the numbers behind are sums
SHAPE_SIZE = 3

# ---- marks [keys, 2]
MIDDLE = 0  # the first pane of `back`
LAST = 1  # the last pane that has an event
MARKS_SIZE = 2
NO_PANE = -(2**62)


class Panes(NamedTuple):
    """All keys' panes: matrix key * (RING + 1) + pane mod RING, and `back` behind them. Snapshots are these arrays."""

    shape: Ints
    edges: Ints  # [transitions, 2]: source, target
    starts: Ints  # [states] 1: a trend may begin there
    ends: Ints  # [states] 1: a trend may end there
    marks: Ints  # [keys, 2]
    stamps: Ints  # [matrices] the pane that a matrix is of
    ns: Ints  # [matrices, SIZE * SIZE * numbers]: row, column, number
    es: Smalls
    lows: Floats  # [matrices, SIZE * SIZE * least values]
    event_marks: Ints  # [states, COUNT(E)s] given with an event: 1 where it counts
    event_ms: Ints  # [states, SUMs] its values m * 2**f (`wide.split`), 0 where it has none
    event_fs: Smalls
    event_lows: Floats  # [states, least values] inf where it has none
    row_ns: Ints  # [SIZE + states, numbers] scratch: a row of a product, or what an event brings; [0]: results
    row_es: Smalls
    row_lows: Floats


def new(
    edges: list[tuple[int, int]],
    starts: list[bool],
    ends: list[bool],
    ring: int,
    *,
    counted: int = 0,
    sums: int = 0,
    lows: int = 0,
    number: Any = np.int64,
) -> Panes:
    """No key yet. `counted`: COUNT(E)s; `number`: the dtype of n, object for EXACT."""
    states, numbers = len(starts), 1 + counted + sums
    size = states + 2
    return Panes(
        shape=np.array([size, ring, 1 + counted], dtype=np.int64),
        edges=np.array(edges, dtype=np.int64).reshape(-1, 2),
        starts=np.array(starts, dtype=np.int64),
        ends=np.array(ends, dtype=np.int64),
        marks=np.zeros((0, MARKS_SIZE), dtype=np.int64),
        stamps=np.zeros(0, dtype=np.int64),
        ns=np.zeros((0, size * size * numbers), dtype=number),
        es=np.zeros((0, size * size * numbers), dtype=np.int32),
        lows=np.zeros((0, size * size * lows), dtype=np.float64),
        event_marks=np.zeros((states, counted), dtype=np.int64),
        event_ms=np.zeros((states, sums), dtype=np.int64),
        event_fs=np.zeros((states, sums), dtype=np.int32),
        event_lows=np.full((states, lows), np.inf),
        row_ns=np.zeros((size + states, numbers), dtype=number),
        row_es=np.zeros((size + states, numbers), dtype=np.int32),
        row_lows=np.zeros((size + states, lows), dtype=np.float64),
    )


def grown(panes: Panes, keys: int) -> Panes:
    """Room for this many keys, more than now; the new ones have no pane."""
    rows = keys * (int(panes.shape[RING]) + 1)

    def longer(array: Any, length: int, fill: int) -> Any:
        result = np.full((length, *array.shape[1:]), fill, dtype=array.dtype)
        result[: len(array)] = array
        return result

    return panes._replace(
        marks=longer(panes.marks, keys, NO_PANE),
        stamps=longer(panes.stamps, rows, NO_PANE),
        ns=longer(panes.ns, rows, 0),
        es=longer(panes.es, rows, 0),
        lows=longer(panes.lows, rows, 0),
    )
