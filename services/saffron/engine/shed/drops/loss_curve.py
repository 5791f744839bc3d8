"""The loss curve of dropping events, by which queries and means are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SHARES: Floats = np.linspace(0.0, 1.0, 65)


@dataclass(frozen=True)
class LossCurve:
    """The share of matches lost, as a rising function of the share of events dropped.

    `lost` [65]: its values at `SHARES`.
    """

    lost: Floats

    @classmethod
    def of(cls, lost: Callable[[float], float]) -> LossCurve:
        """The curve of a function."""
        return cls(np.maximum.accumulate([lost(share) for share in SHARES.tolist()]))

    def towards_random(self, part: float, length: float) -> LossCurve:
        """The interpolation between this curve (`part` 0) and random dropping (1), for matches of `length` events."""
        if part == 0:
            return self
        at_random = np.maximum(self.lost, 1.0 - (1.0 - SHARES) ** length)
        return self.towards(LossCurve(at_random), part)

    def towards(self, other: LossCurve, part: float) -> LossCurve:
        """The linear interpolation between this curve (`part` 0) and another one (1)."""
        return self if part == 0 else LossCurve(self.lost + part * (other.lost - self.lost))

    def at(self, share: float) -> float:
        """The share of matches lost at a share of events dropped, linear between points."""
        return float(np.interp(share, SHARES, self.lost))

    def of_each(self, length: float) -> LossCurve:
        """The share of each of a match's `length` events that is dropped, if each is dropped independently."""
        return LossCurve(1.0 - (1.0 - self.lost) ** (1.0 / length))

    @cached_property
    def pieces(self) -> tuple[tuple[float, float, float], ...]:
        """(slope, begin, end) of each piece of the lower convex hull, in order."""
        hull = [0]
        for point in range(1, len(SHARES)):
            while len(hull) > 1 and self._above(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        return tuple(
            (
                float((self.lost[other] - self.lost[one]) / (SHARES[other] - SHARES[one])),
                float(SHARES[one]),
                float(SHARES[other]),
            )
            for one, other in pairwise(hull)
        )

    def _above(self, one: int, middle: int, other: int) -> bool:
        """True if the middle point is on or above the line between the two others."""
        left, right = SHARES[middle] - SHARES[one], SHARES[other] - SHARES[middle]
        return bool(self.lost[middle] * (left + right) >= self.lost[one] * right + self.lost[other] * left)
