"""Events by the hash of the values that an equality compares (`joins`): kept beside the ring of rows.

A hash stands for its values only where conditions are still asked, so that a collision costs time and no answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.addresses import AddressTable
from saffron.engine.kernels.hashing import hashes_of
from saffron.engine.match.core.rows import SLOT, Rows
from saffron.engine.match.uncertain.arrays import SHAPE, WORK
from saffron.engine.match.uncertain.arrival import enter_all
from saffron.engine.match.uncertain.joins import Joins, Side
from saffron.engine.match.uncertain.search_state import Shape, Work

Ints = NDArray[np.int64]


def found_by_value(joins: Joins, shape: Shape, work: Work, rows: Rows, numbers: Ints) -> Work:
    """`work` with the hashes of the new rows `numbers`; with all rows before them entered anew, where the ring of rows
    is no longer that of the hashes. The rows' own columns are in `work`."""
    capacity = rows.capacity
    if work.hashes.shape[1] == capacity:
        _write(joins, work, rows, numbers & rows.mask)
        return work
    hashes, buckets, chains = (np.full((len(joins.by), capacity), -1, np.int64) for _ in range(3))
    work = work._replace(hashes=hashes, buckets=buckets, chains=chains)
    _write(joins, work, rows, np.arange(capacity))
    before = int(numbers[0]) if len(numbers) else rows.head
    enter_all(AddressTable(SHAPE).of(shape), AddressTable(WORK).of(work), before)
    return work


def _write(joins: Joins, work: Work, rows: Rows, places: Ints) -> None:
    for number, side in enumerate(joins.by):
        work.hashes[number, places] = _hashes(side, rows, places)


def _hashes(side: Side, rows: Rows, places: Ints) -> Ints:
    """int64 [n], not negative: of the key, and of what the equalities compare."""
    compared = [rows.columns[name][places].astype(np.int64) for name in (SLOT, *(f".{name}" for name in side.names))]
    return (hashes_of(np.stack(compared)) >> np.uint64(1)).view(np.int64)
