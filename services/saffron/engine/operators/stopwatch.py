"""Time for operators that have no clock: the shell gives it, and nothing of it changes an answer."""

from __future__ import annotations

from collections.abc import Callable

Stopwatch = Callable[[], int]
"""Nanoseconds from any start."""


def no_time() -> int:
    """The stopwatch of an operator without measurement: always 0."""
    return 0
