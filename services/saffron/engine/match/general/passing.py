"""Events that are taken together: when they were, and how many had come by then."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Passing:
    """The events of a part as runs pass them.

    `instants`, `ordinals` [n], ascending: of each event. `clock`, `ordinal`: of the event before the first.
    """

    instants: Ints
    ordinals: Ints
    clock: int
    ordinal: int

    @cached_property
    def _counted(self) -> Ints:
        """The instants of the events that have an ordinal of their own, and before them that of the one before."""
        own = np.diff(self.ordinals, prepend=self.ordinal) > 0
        return np.concatenate([[self.clock], self.instants[own]])

    def instants_of(self, ordinals: Ints) -> Ints:
        """[n] when the events with these ordinals were, or the one before the first."""
        found: Ints = self._counted[ordinals - self.ordinal]
        return found

    def ordinals_at(self, deadlines: Ints) -> Ints:
        """[n] the ordinals of the last events that are not behind these instants."""
        found = np.full(len(deadlines), self.ordinals[-1])
        early = np.flatnonzero(deadlines < self.instants[-1])
        passed = np.searchsorted(self.instants, deadlines[early], side="right")
        found[early] = np.where(passed > 0, self.ordinals[passed - 1], self.ordinal)
        return found
