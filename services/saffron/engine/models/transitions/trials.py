"""Trials of a learned order: the loss of dropping by it, on matches that it was not learned from.

A trial takes partial matches, or matches, whose outcome became known after they were ranked (prequential evaluation: A.
P. Dawid, *Statistical theory: the prequential approach*, 1984). Its *gain* is a share of the losses of even dropping:
the share that the order avoids. It is 1 if the order loses nothing, 0 if it is as good as chance, below 0 if it is
worse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_MATCHES = 16.0
"""Matches of a trial, at least: fewer come in one clump, and tell as much as one."""
SHARES: Floats = np.arange(1, 5) / 8
"""Shares of the time to be saved at which an order is compared with even dropping; the mean is taken."""


@dataclass(frozen=True)
class Trials:
    """Sums over `count` trials: of their gains, and of their squares."""

    count: float = 0.0
    gains: float = 0.0
    squares: float = 0.0

    def __add__(self, other: Trials) -> Trials:
        return Trials(self.count + other.count, self.gains + other.gains, self.squares + other.squares)

    @classmethod
    def of(cls, gain: float) -> Trials:
        """The sums of one trial with this gain."""
        return cls(1.0, gain, gain * gain)


def gain(worth: Floats, time: Floats, matches: Floats) -> float | None:
    """The gain of dropping by ascending `worth` over even dropping, at equal time saved; None without matches.

    `worth` [n]: by the order. `time` [n], 0 or more: saved by dropping each. `matches` [n]: made by each. Partial
    matches of equal worth are dropped evenly. Even dropping loses the share of matches that it saves of the time.
    """
    whole, total = float(matches.sum()), float(time.sum())
    if whole <= 0 or total <= 0:
        return None
    _, level = np.unique(worth, return_inverse=True)
    saved = np.concatenate([[0.0], np.cumsum(np.bincount(level, time))]) / total
    lost = np.concatenate([[0.0], np.cumsum(np.bincount(level, matches))]) / whole
    return float(1.0 - np.interp(SHARES, saved, lost).mean() / SHARES.mean())
