"""Counts of events that were dropped for an aggregate query (shedding), window by window."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.trends.core.arrays import Ints
from saffron.language.plan.clauses import Window

_NAMES = ("instants", "seqs", "counts")


class Shed:
    """Counts of dropped events, one a pane: a stretch of time (EVENTS: of positions) that no window cuts (T7).

    Windows that open at events may be cut anywhere: there each event has a count of its own.
    """

    def __init__(self, window: Window) -> None:
        self._size = window.size
        self._pane = None if window.opens is not None else gcd(window.size, window.slide or window.size)
        # Ascending: the first instant of each pane, the position of its first dropped event, how many there are.
        self._instants, self._seqs, self._counts = (np.zeros(0, np.int64) for _ in _NAMES)

    def __len__(self) -> int:
        return len(self._counts)

    def add(self, instants: Ints, seqs: Ints) -> None:
        """More dropped events, in order, all behind those added before."""
        if not len(instants):
            return
        if self._pane is None:
            firsts, starts = np.arange(len(instants)), instants
        else:
            starts = instants - instants % self._pane
            if len(self) and self._instants[-1] == starts[0]:
                here = int(np.searchsorted(starts, starts[0], side="right"))
                self._counts[-1] += here
                instants, seqs, starts = instants[here:], seqs[here:], starts[here:]
            firsts = np.flatnonzero(np.diff(starts, prepend=starts[0] - 1)) if len(starts) else np.zeros(0, np.int64)
        self._instants = np.concatenate([self._instants, starts[firsts]])
        self._seqs = np.concatenate([self._seqs, seqs[firsts]])
        self._counts = np.concatenate([self._counts, np.diff(firsts, append=len(starts))])

    def within(self, lows: Ints, openers: Ints) -> Ints:
        """[n] how many events were dropped in the windows that begin at `lows`, at event `openers` (-1: at none)."""
        if not len(self):
            return np.zeros(len(lows), np.int64)
        total = np.concatenate([[0], np.cumsum(self._counts)])
        first = np.searchsorted(self._instants, lows)
        first = np.where(openers < 0, first, np.searchsorted(self._seqs, openers))
        found: Ints = total[np.searchsorted(self._instants, lows + self._size)] - total[first]
        return np.maximum(found, 0)

    def forget(self, before: int) -> None:
        """Drop the counts before this instant: no window that begins earlier will be asked for."""
        if len(self) and self._instants[0] < before:
            kept = int(np.searchsorted(self._instants, before))
            self._instants, self._seqs, self._counts = (getattr(self, f"_{name}")[kept:] for name in _NAMES)

    def saved(self, name_of: str) -> dict[str, NDArray[np.generic]]:
        """The state as arrays, whose names begin with `name_of`."""
        return {f"{name_of}.{name}": getattr(self, f"_{name}").copy() for name in _NAMES} if len(self) else {}

    def restore(self, arrays: Mapping[str, NDArray[Any]], name_of: str) -> None:
        """Restore the state of `saved`."""
        none = np.zeros(0, np.int64)
        self._instants, self._seqs, self._counts = (
            np.array(arrays.get(f"{name_of}.{name}", none), np.int64) for name in _NAMES
        )
