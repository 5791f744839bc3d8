"""The time that one reader takes: the present estimates of f, g and f^-1 (P7)."""

from __future__ import annotations

from dataclasses import dataclass

from saffron.engine.models.transitions.latency import LatencyFunction

_LEAST, _MOST = 0.25, 2.0
"""Bounds of f(n) over its measured mean: before there is a model, f is taken as proportional to n within them."""


@dataclass(frozen=True)
class Speed:
    """The time that one reader takes for events and for shedding.

    `function`, `of_shedding`: by the model, None before there is one. `slowness`: measured time over the model's.
    `mean`: recent ms for an event of which nothing is masked, beside `mean_alive` partial matches. `overshoot`: the
    greatest recent excess (ms) over the expected time.
    """

    function: LatencyFunction | None = None
    of_shedding: LatencyFunction | None = None
    slowness: float = 1.0
    mean: float = 0.0
    mean_alive: float = 0.0
    overshoot: float = 0.0

    def uncorrected(self, partial_matches: float) -> float:
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
        """The inverse n' = f^-1: the partial matches at which an event takes so many ms; all where f is unknown."""
        if self.function is None:
            whole = self.processing(at_most)
            return at_most if whole <= milliseconds else int(at_most * max(0.0, milliseconds) / whole)
        return self.function.inverse(milliseconds * 1e6 / self.slowness, at_most)
