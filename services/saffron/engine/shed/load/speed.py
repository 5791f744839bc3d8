"""How long one reader takes: f, g and f^-1 (P7) as they are believed now."""

from __future__ import annotations

from dataclasses import dataclass, field

from saffron.engine.models.transitions.latency import LatencyFunction
from saffron.engine.shed.load.regression import Regression

_LEAST, _MOST = 0.25, 2.0
"""How far from what was measured f(n) is believed to be in proportion to n, where no model is there."""
_LEAST_ALONE = 0.02
"""Of an event's mean time, that an event takes at least beside no partial match, however steep the measured line."""


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
        """f(n) in ms an event, as steep around the recent mean of n as it was measured to be."""
        told, mean = self._told(partial_matches), self.beside.mean_x
        at_mean = self._told(mean)
        if mean <= 0 or at_mean <= 0 or self.beside.mean_y <= 0:
            return told
        slower, rise = self.beside.mean_y / at_mean, self._told(mean + 1) - at_mean
        slope = max(0.0, self.beside.slope(slower * rise)) / slower
        if slope < rise:
            return at_mean + slope / rise * (told - at_mean)
        return max(_LEAST_ALONE * at_mean, told + (slope - rise) * (partial_matches - mean))

    def _told(self, partial_matches: float) -> float:
        """f(n) by the model; before it is there, in proportion to the mean that was measured."""
        if self.function is not None:
            return self.function(partial_matches) / 1e6
        if self.mean_alive <= 0:
            return self.mean
        return self.mean * min(_MOST, max(_LEAST, partial_matches / self.mean_alive))

    def processing(self, partial_matches: float) -> float:
        """f(n) in ms an event, corrected."""
        return self.uncorrected(partial_matches) * self.slowness

    def shedding(self, partial_matches: float) -> float:
        """g(n) in ms; 0 before it is known."""
        return 0.0 if self.of_shedding is None else self.of_shedding(partial_matches) / 1e6

    def affordable(self, milliseconds: float, at_most: int) -> int:
        """n' = f^-1: the greatest number of partial matches, up to `at_most`, that leaves an event this many ms."""
        if self.function is None:
            whole = self.processing(at_most)
            return at_most if whole <= milliseconds else int(at_most * max(0.0, milliseconds) / whole)
        low, high = 0, at_most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.processing(middle) <= milliseconds else (low, middle - 1)
        return low
