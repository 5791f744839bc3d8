"""The stored events of a query, as a choice among matches reads them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core import chains
from saffron.engine.match.core.kernel_layout import FIRST_ROW, LAST_ROW
from saffron.engine.match.core.nodes import Nodes
from saffron.engine.match.core.rows import SLOT, UNTIL, Rows
from saffron.engine.match.general.found import settle
from saffron.engine.match.selection.entries import Entries, unpacked

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Stored:
    """The stored events of a query. `positive`: the number of components that a match can bind."""

    rows: Rows
    nodes: Nodes
    positive: int

    def counts(self, entries: Entries) -> Ints:
        """int64 [n, positive]: how many events each component bound."""
        counts = np.zeros((len(entries), self.positive), np.int64)
        chains.measure(entries.found, *self.nodes.arrays, counts)
        return counts

    def events(self, entries: Entries, counts: Ints) -> Ints:
        """The rows of all bound events, entry by entry, by component. `counts`: as `counts` gives them."""
        places = np.empty(int(counts.sum()), np.int64)
        chains.walk(entries.found, self.rows.mask, *self.nodes.arrays, counts, places)
        rows: Ints = self.rows.tail + ((places - self.rows.tail) & self.rows.mask)
        return rows

    def in_order(self, entries: Entries) -> Entries:
        """The entries in the order of results."""
        found = entries.packed()
        kept = settle(found, self.positive, self.rows.tail, self.nodes)
        return unpacked(np.ascontiguousarray(found[:, :kept]), windows=entries.lows is not None)

    def until(self, entries: Entries, *, last: bool) -> Ints:
        """[n] the last instant of the latest window that holds the first, or the last, event of each."""
        return self._of(UNTIL, entries, last=last)

    def slots(self, entries: Entries) -> Ints:
        """[n] the place of each match's key."""
        return self._of(SLOT, entries, last=False)

    def _of(self, column: str, entries: Entries, *, last: bool) -> Ints:
        row = entries.found[LAST_ROW if last else FIRST_ROW] & self.rows.mask
        values: Ints = self.rows.columns[column][row].astype(np.int64)
        return values
