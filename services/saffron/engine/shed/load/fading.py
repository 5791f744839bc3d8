"""A recent ratio, as two sums that fade."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Fading:
    """The ratio of the sums `over` and `under`."""

    over: float = 0.0
    under: float = 0.0

    def add(self, over: float, under: float, *, kept: float) -> None:
        """Add to both sums. `kept`: the factor (0 to 1) of what they were before."""
        self.over = kept * self.over + over
        self.under = kept * self.under + under

    @property
    def ratio(self) -> float:
        """The ratio; 0 before anything is added."""
        return self.over / self.under if self.under > 0 else 0.0
