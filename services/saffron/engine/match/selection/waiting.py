"""Matches that were found and are not decided yet; their events stay stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.kernel_layout import FOUND_ROWS
from saffron.engine.match.selection.entries import Entries, joined, unpacked
from saffron.engine.match.selection.stored import Stored

Ints = NDArray[np.int64]


class Waiting:
    """Entries, each with the deadline at which it is decided. `windows`: whether they have windows of their own."""

    def __init__(self, *, windows: bool) -> None:
        self._windows = windows
        self.held: Entries = unpacked(np.zeros((FOUND_ROWS, 0), np.int64), windows=windows)

    def __len__(self) -> int:
        return len(self.held)

    def add(self, entries: Entries) -> None:
        if len(entries):
            self.held = joined([self.held, entries])

    def take(self, now: int, stored: Stored) -> Entries:
        """Remove and return the waiting entries whose deadline has passed, in the order of results."""
        due = self.held.deadline < now
        if not due.any():
            return self.held.only(due)
        taken = stored.in_order(self.held.only(due))
        self.held = self.held.only(~due)
        return taken

    def saved(self) -> Ints:
        """int64 [FOUND_ROWS, n]: the waiting entries, packed."""
        return self.held.packed()

    def restore(self, found: Ints) -> None:
        self.held = unpacked(np.array(found, np.int64, order="C"), windows=self._windows)
