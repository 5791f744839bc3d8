"""The time inside a step of a service's loop, for measuring only.

A step may wait for input and work for a while: what it decides, it decides by the time that it was given (so that a
simulation repeats from its seed); how long something took until now, it must measure by the time that it is now.
"""

from __future__ import annotations

from time import perf_counter_ns


class StepClock:
    """What the step was given, plus what has passed since."""

    def __init__(self) -> None:
        self._start = 0, perf_counter_ns()

    def start(self, now_ms: int) -> None:
        """A step begins, at this time (ms since 1970)."""
        self._start = now_ms, perf_counter_ns()

    def now(self) -> float:
        """ms since 1970; on any thread."""
        given, began = self._start
        return given + (perf_counter_ns() - began) / 1e6
