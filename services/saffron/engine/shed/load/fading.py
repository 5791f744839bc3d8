"""What was measured of late, as a ratio of two sums that fade, however often there was something to add."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Fading:
    """`over`, `under`: the sums."""

    over: float = 0.0
    under: float = 0.0

    def add(self, over: float, under: float, *, kept: float) -> None:
        """Of what was there a share is `kept`."""
        self.over = kept * self.over + over
        self.under = kept * self.under + under

    @property
    def ratio(self) -> float:
        """0 where nothing was added."""
        return self.over / self.under if self.under > 0 else 0.0
