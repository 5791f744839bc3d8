"""The arrays of a trend query as machine code gets them: one address for each tuple (`engine.kernels.addresses`)."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from saffron.engine.kernels.addresses import AddressTable, Reference, arrays_of, reader
from saffron.engine.trends.core.arrays import Batch, Store, Wiring
from saffron.engine.trends.ordered.ordered import Index

STORE = Reference(
    "trends.Store",
    arrays_of(
        Store,
        {
            2: "keys panes matrices groups where slots entries entry_numbers entry_scales entry_extremes "
            "marks values starts out out_numbers out_scales out_extremes",
            3: "absent latest counts count_scales count_extremes sums sum_scales sum_extremes",
            4: "totals total_scales total_extremes",
        },
    ),
)
BATCH = Reference(
    "trends.Batch",
    arrays_of(
        Batch,
        {
            2: "words group_words attributes mantissas exponents "
            "range_keys range_own range_words range_lows range_highs",
        },
    ),
)
INDEX = Reference("trends.Index", arrays_of(Index, {2: "meta ints smalls floats"}))


store_in, batch_in, index_in = reader(STORE), reader(BATCH), reader(INDEX)
"""Readers of a named tuple's arrays from the table that a kernel is called with; in Python, of the tuple itself."""


class ByReference:
    """The loops made for one query (`source.special`), which get its arrays by address: as the loops themselves."""

    def __init__(self, made: ModuleType, rehash: Any) -> None:
        self._advance, self.rehash = made.advance, rehash
        store, batch = ({name for whole, name in made.READ if whole == one} for one in ("store", "batch"))
        self._store, self._batch, self._index = (
            AddressTable(STORE, read=store),
            AddressTable(BATCH, read=batch),
            AddressTable(INDEX),
        )
        self._asks = made.ASKS

    def advance(
        self,
        begin: int,
        stop: int,
        point: int,
        position: int,
        select: Any,
        wiring: Wiring,
        store: Store,
        batch: Batch,
        index: Index | tuple[()],
    ) -> int:
        """See `kernels.advance`; the wiring is part of the machine code."""
        read = batch if begin < stop else ()  # of a batch without events nothing is read
        tables = self._store.of(store), self._batch.of(read), self._index.of(index)
        reached: int = self._advance(begin, stop, point, position, select if self._asks else 0, 0, *tables)
        return reached
