"""The time that one reader takes: the present estimates of f, g and f^-1 (P7)."""

from __future__ import annotations

from dataclasses import dataclass, field

from saffron.engine.models.transitions.latency import LatencyFunction
from saffron.engine.shed.load.regression import Regression

_LEAST, _MOST = 0.25, 2.0
"""Bounds of f(n) over its measured mean: before there is a model, f is taken as proportional to n within them."""
_LEAST_ALONE = 0.02
"""The least time of an event beside no partial match, as a share of its mean time."""


@dataclass(frozen=True)
class Speed:
    """The time that one reader takes for events and for shedding.

    `function`, `of_shedding`: by the model, None before there is one. `slowness`: measured time over the model's.
    `mean`: recent ms for an event of which nothing is masked, beside `mean_alive` partial matches. `overshoot`: the
    greatest recent excess (ms) over the expected time. `beside`: the measured ms of an event over the number of partial
    matches. It says what a partial match takes where the model does not, since their number hardly varied in training.
    """

    function: LatencyFunction | None = None
    of_shedding: LatencyFunction | None = None
    slowness: float = 1.0
    mean: float = 0.0
    mean_alive: float = 0.0
    overshoot: float = 0.0
    beside: Regression = field(default_factory=Regression)

    def uncorrected(self, partial_matches: float) -> float:
        """The time f(n) in ms an event. Around the recent mean of n it rises as steeply as was measured."""
        expected, mean = self._expected(partial_matches), self.beside.mean_x
        at_mean = self._expected(mean)
        if mean <= 0 or at_mean <= 0 or self.beside.mean_y <= 0:
            return expected
        slower, rise = self.beside.mean_y / at_mean, self._expected(mean + 1) - at_mean
        slope = max(0.0, self.beside.slope(slower * rise)) / slower
        if slope < rise:
            return at_mean + slope / rise * (expected - at_mean)
        return max(_LEAST_ALONE * at_mean, expected + (slope - rise) * (partial_matches - mean))

    def _expected(self, partial_matches: float) -> float:
        """The time f(n) in ms an event, by the model; before there is one, proportional to the measured mean."""
        if self.function is not None:
            return self.function(partial_matches) / 1e6
        if self.mean_alive <= 0:
            return self.mean
        return self.mean * min(_MOST, max(_LEAST, partial_matches / self.mean_alive))

    def processing(self, partial_matches: float) -> float:
        """The time f(n) in ms an event, corrected by `slowness`."""
        return self.uncorrected(partial_matches) * self.slowness

    def shedding(self, partial_matches: float) -> float:
        """The time g(n) of a drop order in ms; 0 before it is known."""
        return 0.0 if self.of_shedding is None else self.of_shedding(partial_matches) / 1e6

    def affordable(self, milliseconds: float, at_most: int) -> int:
        """The inverse n' = f^-1: the most partial matches, up to `at_most`, beside which an event takes at most so many
        ms.
        """
        if self.function is None:
            whole = self.processing(at_most)
            return at_most if whole <= milliseconds else int(at_most * max(0.0, milliseconds) / whole)
        low, high = 0, at_most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.processing(middle) <= milliseconds else (low, middle - 1)
        return low
