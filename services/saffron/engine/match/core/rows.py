"""The events that a query may still need, as a ring of columns (N9): appended at the head, given up at the tail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import int64, void
from saffron.engine.match.core.rings import copy_ring, unrolled

_SMALLEST = 1024

SEQ, TS, TIME, TYPE, UNTIL, SLOT, NODE_AT = "#seq", "#ts", "#time", "#type", "#until", "#slot", "#node_at"
"""Names of the columns that every row has: position, event time, message time, type's code, last instant (ms or
position) of the latest window that holds the event, key's slot, first node that this event's step may have made.
"""

LINKS = ("#mask", "#before")
"""Columns of a query with NOT: the event's mask, and the number of the same key's row before it, or -1."""

RESULT, FIRES, DUE, COUNTED = "#result", "#fires", "#due", "#counted"
RESULTS = (RESULT, FIRES, DUE, COUNTED)
"""Columns of a query that reads other queries' results: the fields of `derived.Composed`."""

_OWN: dict[str, type[np.generic]] = {
    SEQ: np.int64,
    TS: np.int64,
    TIME: np.int64,
    TYPE: np.int32,
    UNTIL: np.int64,
    SLOT: np.int64,
    NODE_AT: np.int64,
}

Array = NDArray[np.generic]


class Rows:
    """Rows [tail, head), numbered from 0 since the query began; row i stands at place i & mask of every column."""

    def __init__(self, attributes: Mapping[str, np.dtype[np.generic]]) -> None:
        self.tail = 0
        self.head = 0
        dtypes: dict[str, Any] = {**_OWN, **attributes}
        self.columns: dict[str, Array] = {name: np.zeros(_SMALLEST, dtype) for name, dtype in dtypes.items()}

    @property
    def capacity(self) -> int:
        return len(self.columns[SEQ])

    @property
    def mask(self) -> int:
        return self.capacity - 1

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(column.nbytes for column in self.columns.values())

    def __len__(self) -> int:
        return self.head - self.tail

    def append(self, count: int) -> tuple[slice, slice]:
        """Room for `count` more rows: where the first of them stand, and where the rest do (the ring's start)."""
        while len(self) + count > self.capacity:
            self._grow()
        begin = self.head & self.mask
        first = min(count, self.capacity - begin)
        self.head += count
        return slice(begin, begin + first), slice(0, count - first)

    def write(self, name: str, places: tuple[slice, slice], values: Array) -> None:
        """Fill a column at the places that `append` gave."""
        column = self.columns[name]
        first = places[0].stop - places[0].start
        column[places[0]] = values[:first]
        if places[1].stop:
            column[places[1]] = values[first:]

    def gather(self, name: str, places: tuple[slice, slice], values: Array, chosen: NDArray[np.intp]) -> None:
        """Write the chosen values into a column's places without an extra copy; `values` have the column's type."""
        column = self.columns[name]
        first = places[0].stop - places[0].start
        np.take(values, chosen[:first], out=column[places[0]], mode="clip")
        if places[1].stop:
            np.take(values, chosen[first:], out=column[places[1]], mode="clip")

    def add(self, name: str, dtype: np.dtype[np.generic], null: float) -> None:
        """Add a column, which is null in the rows that are there."""
        self.columns[name] = np.full(self.capacity, null, dtype)

    def live(self, name: str) -> Array:
        """The column's values of rows [tail, head), in order (a copy)."""
        return unrolled(self.columns[name], self.tail, self.head)

    def expire(self, now: int, touched: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give up the rows that no window holds any longer at `now`; the slots of keys that they were the last of."""
        freed = np.empty(len(self), np.int64)
        count = np.zeros(1, np.int64)
        kept = np.array([self.tail], np.int64)
        _expire(self.columns[UNTIL], self.columns[SLOT], touched, self.head, now, kept, freed, count)
        self.tail = int(kept[0])
        return freed[: count[0]]

    def first_node(self, node: int) -> int:
        """The oldest node that a live row may have; `node` if there is none."""
        return node if self.tail == self.head else int(self.columns[NODE_AT][self.tail & self.mask])

    def identities(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64 [n]: identities of these events: positions; for results of other queries 64 bits of their ids."""
        seq = self.columns[SEQ][places].astype(np.int64)
        if RESULT not in self.columns:
            return seq
        result = self.columns[RESULT][places].astype(np.int64)
        return np.where(result != 0, result, seq)

    def arrays(self) -> dict[str, Array]:
        """All columns' live rows, and the number of the first."""
        return {"#tail": np.array([self.tail]), **{name: self.live(name) for name in self.columns}}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Rows:
        rows = cls({name: column.dtype for name, column in arrays.items() if name not in (*_OWN, "#tail")})
        rows.tail = rows.head = int(arrays["#tail"][0])
        places = rows.append(len(arrays[SEQ]))
        for name in rows.columns:
            rows.write(name, places, arrays[name])
        return rows

    def _grow(self) -> None:
        for name, column in self.columns.items():
            grown = np.zeros(2 * len(column), column.dtype)
            copy_ring(column, grown, self.tail, self.head)
            self.columns[name] = grown


@kernel(void(int64[::1], int64[::1], int64[::1], int64, int64, int64[::1], int64[::1], int64[::1]))
def _expire(until, slot, touched, head, now, tail, freed, count):  # type: ignore[no-untyped-def]
    """Write to `tail` the first row whose latest window is not over at `now`, or `head` if there is none.

    `freed`, `count`: the slots of the keys that have no row any more, and their number. Their `touched` becomes -1.
    """
    mask = len(until) - 1
    row = tail[0]
    while row < head and until[row & mask] < now:
        key = slot[row & mask]
        if touched[key] == row:
            freed[count[0]] = key
            count[0] += 1
            touched[key] = -1
        row += 1
    tail[0] = row
