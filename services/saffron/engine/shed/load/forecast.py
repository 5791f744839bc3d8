"""A forecast of the partial matches that a block will meet, when it is forwarded before earlier blocks are done.

A reader's last report is as old as the blocks in flight. Where partial matches live long, the report predicts the
coming blocks well. Where they come and go within the work in flight (all complete with one event, say), the mean is the
better guess. By a report from just behind such an event far too much would be forwarded. The weight of the report is
learned: it is the slope of a regression of the count when a block was done on the count known when it was forwarded.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from saffron.engine.shed.load.pace import MOST_BLOCKS
from saffron.engine.shed.load.regression import Regression

_MEMORY_MS = 2_000.0
"""The memory of pairs (known count, later count), in ms of processing time."""


@dataclass
class Forecast:
    """The line through recent pairs (known count, later count)."""

    _ahead: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=MOST_BLOCKS))
    _came: Regression = field(default_factory=Regression)

    def forwarded(self, next_seq: int, known: int) -> None:
        """Record a block up to `next_seq` that goes out behind others. `known`: partial matches known of now."""
        self._ahead.append((next_seq, known))

    def reported(self, position: int, alive: int, milliseconds: float) -> None:
        """Take a report: events up to `position` are done, the time that they took, and the partial matches alive."""
        known = None
        while self._ahead and self._ahead[0][0] <= position:
            _, known = self._ahead.popleft()
        if known is None:
            return
        self._came.add(known, alive, 1.0, kept=math.exp(-milliseconds / _MEMORY_MS))

    def expected(self, known: int) -> float:
        """The expected partial matches of a block behind those in flight, when `known` are reported."""
        mean = self._came.mean_x
        if mean <= 0:
            return float(known)
        slope = min(1.0, max(0.0, self._came.slope(1.0)))
        return max(0.0, self._came.mean_y + slope * (known - mean))
