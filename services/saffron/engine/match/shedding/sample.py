"""Sums over a shadow's sample of first events, and the size of that sample."""

from __future__ import annotations

from dataclasses import dataclass

SHARE, LEAST_SHARE = 0.04, 0.002
ENOUGH = 256
"""The number of sampled first events with matches from which on the share falls as 1 / n."""
BUDGET, AT_FIRST = 0.005, 4.0
"""BUDGET: the checks of a shadow, as a share of its query's own (events, and partial matches that they meet).
AT_FIRST: the factor on it until enough has been seen.
"""


@dataclass
class Sampled:
    """The measured loss of one query: sums over sampled first events, each weighted by 1 / share.

    `true`: matches that begin in the sample when nothing is dropped; without a shadow, all reported matches.
    `missed`: true matches that the query did not report. `false`: reported matches of the sample that are not true.

    `begun`, `squares`, `firsts`: first events with any of these matches, weighted, by squared weight, and unweighted.
    `compared`: matches that the query reported meanwhile, unweighted, in the sample or not.

    `events`: events that the shadow took. `met`: the shadow's partial matches that they met. `halvings`: times that the
    share was halved because the shadow cost too much.
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
        """The factor on share and budget: 1 up to `ENOUGH` first events, then falling as 1 / n."""
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
