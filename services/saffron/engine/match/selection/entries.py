"""Entries: the matches found in a block, one entry for each window of each match, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.kernel_layout import AT_ONCE, DEADLINE_OF, LOW, SERIAL

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Entries:
    """Matches, one entry for each match and window. `found` [FOUND_ROWS, n]: see `kernel_layout`.

    `lows` [n]: first instant of the window. `serials` [n]: the number that tells windows with the same bounds apart.
    Both are None for WITHIN alone, where a match has no window of its own.
    """

    found: Ints
    lows: Ints | None
    serials: Ints | None

    def __len__(self) -> int:
        return int(self.found.shape[1])

    def only(self, chosen: NDArray[np.generic]) -> Entries:
        """The entries that a mask selects, or an index, in the order of the index."""
        lows = None if self.lows is None else self.lows[chosen]
        serials = None if self.serials is None else self.serials[chosen]
        return Entries(np.ascontiguousarray(self.found[:, chosen]), lows, serials)

    @property
    def deadline(self) -> Ints:
        """[n] when the window closed for whose end the match waited; AT_ONCE where it was known with its last event."""
        deadline: Ints = self.found[DEADLINE_OF]
        return deadline

    @property
    def windows(self) -> Ints:
        """[n] identities of the entries' windows."""
        return np.zeros(len(self), np.int64) if self.serials is None else self.serials

    def due(self, deadline: Ints) -> Entries:
        """The entries with other deadlines, at which they become results."""
        found = self.found.copy()
        found[DEADLINE_OF] = deadline
        return Entries(found, self.lows, self.serials)

    def packed(self) -> Ints:
        """int64 [FOUND_ROWS, n]: the entries as one array, with the windows in the rows LOW and SERIAL."""
        found = self.found.copy()
        if self.lows is not None and self.serials is not None:
            found[LOW], found[SERIAL] = self.lows, self.serials
        return found


def unpacked(found: Ints, *, windows: bool) -> Entries:
    """Entries from the array of `packed`. `windows`: whether they have windows of their own."""
    return Entries(found, found[LOW].copy(), found[SERIAL].copy()) if windows else Entries(found, None, None)


def joined(entries: Sequence[Entries]) -> Entries:
    """All these entries of one query, one after another."""
    if len(entries) == 1:
        return entries[0]
    windows = entries[0].lows is not None
    return unpacked(np.concatenate([one.packed() for one in entries], axis=1), windows=windows)


def at_once(entries: Entries) -> NDArray[np.bool_]:
    """[n] which were known with their last event."""
    known: NDArray[np.bool_] = entries.deadline == AT_ONCE
    return known
