"""Detection of a wall clock that somebody has set while a process runs.

Durations in a service's loop are differences of the time that it is given. A clock that is set back by an hour would
stop blocks and commits for an hour; one that is set forward would make sources look silent. So the loop begins anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_SLACK_MS = 2_000
"""Differences that are no setting: a leap second, and what a clock loses against the other."""


def wall_ms() -> int:
    """The wall clock in ms since 1970 UTC."""
    return time.time_ns() // 1_000_000


def steady_ms() -> int:
    """The monotonic clock in ms. It stands still while the machine sleeps."""
    return time.monotonic_ns() // 1_000_000


class ClockWatch:
    """The wall clock beside one that nobody sets, from now on."""

    def __init__(self, wall: Callable[[], int] = wall_ms, steady: Callable[[], int] = steady_ms) -> None:
        self._wall = wall
        self._steady = steady
        self._apart = wall() - steady()

    def set_by(self) -> int:
        """The ms by which the wall clock was set since the start; 0 if it was not set."""
        changed = self._wall() - self._steady() - self._apart
        return changed if abs(changed) > _SLACK_MS else 0
