"""Time inside a step of a service's loop, for measuring only.

A step decides by the time that it was given, so that a simulation repeats from its seed. Durations are measured by the
time that has passed since.
"""

from __future__ import annotations

from time import perf_counter_ns


class StepClock:
    """The step's given time plus the time that has passed since its start."""

    def __init__(self) -> None:
        self._start = 0, perf_counter_ns()

    def start(self, now_ms: int) -> None:
        """Starts a step at `now_ms` (ms since 1970)."""
        self._start = now_ms, perf_counter_ns()

    def now(self) -> float:
        """The present time in ms since 1970, on any thread."""
        given, began = self._start
        return given + (perf_counter_ns() - began) / 1e6
