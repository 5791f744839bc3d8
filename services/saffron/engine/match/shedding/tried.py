"""Trials of the order by which drop orders rank partial matches, from the outcomes of tracked partial matches.

Each tracked partial match is ranked when it is noted, long before its outcome is known. A trial takes the tracked
partial matches whose windows end within one window's length, and within a longer time where few of them matched.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.transitions.trials import LEAST_MATCHES, Trials, gain

Floats = NDArray[np.float64]

MOST_HELD = 16_384
"""The most partial matches of a trial that waits for matches. Beyond it, every second one that did not match is left
out, and the others count twice."""


@dataclass
class Tried:
    """The trials of one query. `sums`: over all finished trials. `since`: instant at which the current one began."""

    sums: Trials = Trials()
    since: int | None = None
    _held: list[Floats] = field(default_factory=list)

    def add(self, worth: Floats, left: Floats, matches: Floats, clock: int, window: int) -> None:
        """Add partial matches whose windows are over at `clock`; finish the trial if it is long enough.

        [n] each: `worth`, the utility by which they were ranked; `left`, the rest of their window then; `matches`, how
        many matches each made. `window`: its length. A trial lasts one window at least, and until enough matched.
        """
        if not len(worth):
            return
        self.since = clock if self.since is None else self.since
        self._held.append(np.array([worth, left, matches]))
        if clock - self.since < window:
            return
        held = np.concatenate(self._held, axis=1)
        if float(np.minimum(held[2], 1.0).sum()) >= LEAST_MATCHES:
            found = gain(*held)
            self.sums += Trials() if found is None else Trials.of(found)
            self.since, self._held = clock, []
        else:
            self._held = [_thinned(held) if held.shape[1] > MOST_HELD else held]


def _thinned(held: Floats) -> Floats:
    matched = held[2] > 0
    rest = held[:, ~matched][:, ::2]
    rest[1] *= 2
    return np.concatenate([held[:, matched], rest], axis=1)
