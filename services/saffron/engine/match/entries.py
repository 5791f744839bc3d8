"""What a query reports of the matches found in a block: one entry for each window of each match, in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.layout import ALL_WINDOWS, AT_ONCE, DEADLINE_OF, FIRST_ROW, LAST_ROW, LEAD, LOW, SERIAL
from saffron.engine.match.query import QueryRuns
from saffron.engine.match.rows import SEQ, TS

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Entries:
    """`found` [FOUND_ROWS, n]: see `layout`. `lows`, `serials` [n]: the window's first instant and what tells it from
    others with the same bounds; None for WITHIN alone, where a match has no window of its own."""

    found: Ints
    lows: Ints | None
    serials: Ints | None

    def __len__(self) -> int:
        return int(self.found.shape[1])

    def only(self, chosen: NDArray[np.generic]) -> Entries:
        """Those of a mask, or in the order of an index."""
        lows = None if self.lows is None else self.lows[chosen]
        serials = None if self.serials is None else self.serials[chosen]
        return Entries(np.ascontiguousarray(self.found[:, chosen]), lows, serials)

    @property
    def deadline(self) -> Ints:
        """[n] when the window closed for whose end the match waited; AT_ONCE where it was known with its last event."""
        deadline: Ints = self.found[DEADLINE_OF]
        return deadline


def entries_of(runs: QueryRuns) -> Entries:
    """Those of the block at hand, without what a leading NOT rules out."""
    found = runs.found.copy()
    columns, mask = runs.rows.columns, runs.rows.mask
    clock = columns[SEQ if runs.plan.window.events else TS]
    first, last = found[FIRST_ROW] & mask, found[LAST_ROW] & mask
    windows = runs.windows.holding(columns[SEQ][first], clock[first], clock[last])
    if windows is None:
        return Entries(found, None, None)
    match, lows, serials = windows
    found = np.ascontiguousarray(found[:, match])
    kept = (found[LOW] == ALL_WINDOWS) | ((found[LOW] == lows) & (found[SERIAL] == serials))
    lead = found[LEAD] & mask
    before = columns[SEQ][lead] < serials if runs.plan.window.opens is not None else clock[lead] < lows
    kept &= (found[LEAD] < 0) | before
    return Entries(found, lows, serials) if kept.all() else Entries(found, lows, serials).only(kept)


def at_once(entries: Entries) -> NDArray[np.bool_]:
    """[n] which were known with their last event."""
    known: NDArray[np.bool_] = entries.deadline == AT_ONCE
    return known
