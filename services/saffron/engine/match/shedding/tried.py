"""Trials of the order that drop orders give partial matches, by what came of those that were followed.

Each followed partial match is ranked when it is noted, long before it is known what comes of it. A trial takes those
whose windows are over, of one window's length at least, and of more where few of them matched.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.transitions.trials import LEAST_MATCHES, Trials, gain

Floats = NDArray[np.float64]

MOST_HELD = 16_384
"""Partial matches of a trial that waits for matches; beyond that every second one that came to nothing stands for
two."""


@dataclass
class Tried:
    """Of one query. `sums`: over all trials. `since`: an instant, from which on the one to come counts."""

    sums: Trials = Trials()
    since: int | None = None
    _held: list[Floats] = field(default_factory=list)

    def add(self, worth: Floats, left: Floats, matches: Floats, clock: int, window: int) -> None:
        """Partial matches whose windows are over by now (`clock`): [n] by what each would have gone, what was left of
        its window then, and what came of it."""
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
