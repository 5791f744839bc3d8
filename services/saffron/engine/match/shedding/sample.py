"""Sums over the sample of first events that a shadow follows."""

from __future__ import annotations

from dataclasses import dataclass

SHARE, LEAST_SHARE = 0.04, 0.002
ENOUGH = 256
"""First events that true matches came of, beyond which the share falls as 1 / n."""
BUDGET, AT_FIRST = 0.005, 4.0
"""Of a query's own checks (events, and partial matches that they meet), what its shadow may take; while there is one,
times as much until enough has been seen."""


@dataclass
class Sampled:
    """Sums over a sample of first events, each counted as many times as it stands for (1 / share).

    `true`: matches of the sample where nothing is dropped, and all reported matches while there was no shadow.
    `missed`: those of them that the query did not report. `false`: reported matches of the sample that are not true.

    `begun`: first events with any of these matches. `squares`: the same, times squared. `firsts`: the same, each
    counted once. `compared`: matches that the query itself reported meanwhile, each counted once, in the sample or not.

    `events`: events that the shadow took. `met`: partial matches of its own that they met. `halvings` of the share: the
    shadow cost too much so many times.
    """

    true: float = 0.0
    missed: float = 0.0
    false: float = 0.0
    compared: int = 0
    begun: float = 0.0
    squares: float = 0.0
    firsts: int = 0
    events: int = 0
    met: float = 0.0
    halvings: int = 0

    @property
    def checks(self) -> float:
        """The checks of conditions that the shadow has taken."""
        return self.events + self.met

    @property
    def share(self) -> float:
        """The share of first events to sample."""
        return max(LEAST_SHARE, SHARE * self._early) / 2.0**self.halvings

    @property
    def budget(self) -> float:
        """The checks that the shadow may take from now on, as a share of the query's own checks."""
        return BUDGET * max(1.0, AT_FIRST * self._early)

    @property
    def _early(self) -> float:
        """1 until enough has been seen, and less after."""
        return min(1.0, ENOUGH / max(1, self.firsts))

    def add(self, true: int, missed: int, false: int, firsts: int) -> None:
        """Add the counts of a block."""
        times = 1 / self.share
        self.true += times * true
        self.missed += times * missed
        self.false += times * false
        self.begun += times * firsts
        self.squares += times**2 * firsts
        self.firsts += firsts
