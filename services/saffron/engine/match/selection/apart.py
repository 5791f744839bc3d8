"""OUTPUT NON-OVERLAP: of matches of one key that overlap in time, the one that comes first in the order of results."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import kernel
from saffron.engine.kernels.numba_types import int64, uint8, void
from saffron.engine.match.core.kernel_layout import FIRST_ROW, LAST_ROW
from saffron.engine.match.selection.entries import Entries
from saffron.engine.match.selection.stored import Stored

Ints = NDArray[np.int64]


class Apart:
    """The greedy choice of matches that do not overlap within a key. `ends` [keys]: last row taken, -1 for none.

    What a key left behind does the next one at its place no harm, all of whose rows come later.
    """

    def __init__(self) -> None:
        self.ends: Ints = np.zeros(0, np.int64)

    def left(self, entries: Entries, stored: Stored) -> Entries:
        """The entries that a greedy choice takes. `entries`: in the order of results, after those of earlier calls."""
        if not len(entries):
            return entries
        slots = stored.slots(entries)
        more = int(slots.max()) + 1 - len(self.ends)
        if more > 0:
            self.ends = np.pad(self.ends, (0, more), constant_values=-1)
        kept = np.empty(len(entries), np.uint8)
        _greedy(slots, entries.found[FIRST_ROW].copy(), entries.found[LAST_ROW].copy(), self.ends, kept)
        return entries.only(kept.astype(np.bool_))


@kernel(void(int64[::1], int64[::1], int64[::1], int64[::1], uint8[::1]))
def _greedy(slots, first, last, ends, kept):  # type: ignore[no-untyped-def]
    for i in range(len(slots)):
        kept[i] = first[i] > ends[slots[i]]
        if kept[i]:
            ends[slots[i]] = last[i]
