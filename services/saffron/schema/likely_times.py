"""Likely times of events: those from 1980 to 2100. A unit that is wrong by a thousand leads out of them."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from saffron.counted import counted

EARLIEST, LATEST = 315_532_800_000, 4_102_444_800_000
"""1980 and 2100, in ms since 1970."""
FIRST, LAST = EARLIEST // 1000, LATEST // 1000
"""Likely times in seconds."""
DAY = 86_400_000


def is_likely(ts: float) -> bool:
    """True if a time (ms) is likely."""
    return EARLIEST <= ts <= LATEST


def moment_of(ts: int) -> datetime | None:
    """The moment of a time (ms). None: it lies within a day of 1970, and is probably made up; or outside all years."""
    if abs(ts) <= DAY:
        return None
    try:
        return datetime.fromtimestamp(ts / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


class SecondsCount:
    """Counts times (ms) that seem to be in seconds: they lie in 1970, and would be likely as seconds."""

    def __init__(self) -> None:
        self._seconds = self._smaller = 0

    def add(self, ts: NDArray[np.int64]) -> None:
        """Counts the times of a batch."""
        if not len(ts) or ts.min() >= LAST:
            return
        self._seconds += int(np.count_nonzero((ts >= FIRST) & (ts < LAST)))
        self._smaller += int(np.count_nonzero((ts >= 0) & (ts < FIRST)))

    def value(self) -> int:
        """See `in_seconds`."""
        return in_seconds(self._seconds, self._smaller)


def in_seconds(likely: int, smaller: int) -> int:
    """The number of times that seem to be in seconds, of `likely` in FIRST..LAST and `smaller` in 0..FIRST.

    0 where more than one in a hundred is smaller: a clock that began at 0 has come as far.
    """
    return 0 if smaller * 100 > likely else likely


def seconds_notice(count: int) -> str:
    """A sentence for the user on times that seem to be in seconds."""
    return f"times of {counted(count, 'event')} lie in 1970, and would lie between 1980 and 2100 if they are in seconds"
