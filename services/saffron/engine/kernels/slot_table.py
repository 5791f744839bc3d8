"""An open-addressing table of slots: int32 [a power of two], -1 where it is empty, at most half full.

A slot is the number of an entry that its owner keeps in arrays of its own: the hash of each (uint64), and what it is
the hash of. A lookup begins at the hash's low bits and goes on to the next place.

Five tables are none of these. `match.core.key_table` frees slots again, and stands in snapshots. That of
`trends.kernels.tables` stands in snapshots too, and its loops are rewritten for each query. `match.selection.marks` has
no slots: its entries are all that there is. Those of `match.compressed.groups` and `match.merging.merge` are filled and
left for each event, in room that is never cleared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.jit import inlined, kernel
from saffron.engine.kernels.numba_types import int32, uint64, void

_SMALLEST = 8


def table_of(hashes: NDArray[np.uint64], room: int) -> NDArray[np.int32]:
    """The table in which slot i has hash i, with room for `room` slots."""
    table = np.full(max(_SMALLEST, 1 << (2 * room - 1).bit_length()), -1, dtype=np.int32)
    _fill(table, hashes)
    return table


@kernel(void(int32[::1], uint64[::1]), _nrt=False)
def _fill(table, hashes):  # type: ignore[no-untyped-def]
    mask = np.uint64(len(table) - 1)
    for slot in range(len(hashes)):
        at = hashes[slot] & mask
        while table[at] >= 0:
            at = (at + np.uint64(1)) & mask
        table[at] = slot


@inlined
def place_of(table: Any, words: Any, word: Any) -> Any:
    """The place of a word in the table, or the free place where it belongs. The word is its own hash.

    `words`: the words of the slots.
    """
    mask = np.uint64(len(table) - 1)
    at = word & mask
    while table[at] >= 0 and words[table[at]] != word:
        at = (at + np.uint64(1)) & mask
    return at
