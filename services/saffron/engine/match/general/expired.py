"""The runs of a block whose window is over, separated from the matches, among which kernels list them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.core.kernel_layout import DEADLINE_OF, FOUND_ROWS, LEAD, STATE_BITS

Ints = NDArray[np.int64]


class Expired:
    """The expired runs of one block. `passed`: instants and ordinals of its events, to check the contiguity of runs."""

    def __init__(self) -> None:
        self.forget(0)

    def forget(self, ordinal: int) -> None:
        """Begin a block: forget the runs that expired in the last one. `ordinal`: of the last event before it."""
        self.passed: list[tuple[Ints, Ints]] = []
        self._parts: list[Ints] = []
        self._ordinal = ordinal

    @property
    def found(self) -> Ints:
        """int64 [FOUND_ROWS, n]: the expired runs so far."""
        found: Ints = np.concatenate([np.zeros((FOUND_ROWS, 0), np.int64), *self._parts], axis=1)
        return found

    def __len__(self) -> int:
        return sum(part.shape[1] for part in self._parts)

    def split(self, buffer: Ints, start: int, stop: int) -> int:
        """Take them out of places [start, stop) of the list of matches; where the others now stop."""
        new = buffer[:, start:stop]
        ours = new[LEAD] < -1
        if ours.any():
            self._parts.append(new[:, ours].copy())
            stop -= int(ours.sum())
            buffer[:, start:stop] = new[:, ~ours]
        return stop

    def unbroken(self, found: Ints) -> NDArray[np.bool_]:
        """[n] whether no event of the stream came between the last one of each run and the end of its window."""
        if not self.passed:
            last = np.full(found.shape[1], self._ordinal)
        else:
            instants, ordinals = (np.concatenate(arrays) for arrays in zip(*self.passed, strict=True))
            ordinals = np.concatenate([[self._ordinal], ordinals])
            last = ordinals[np.searchsorted(instants, found[DEADLINE_OF], side="right")]
        unbroken: NDArray[np.bool_] = (-2 - found[LEAD]) >> STATE_BITS == last
        return unbroken

    @staticmethod
    def states(found: Ints) -> Ints:
        """[n] the states in which the runs waited."""
        states: Ints = (-2 - found[LEAD]) & ((1 << STATE_BITS) - 1)
        return states
