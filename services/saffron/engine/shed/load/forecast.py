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

_MEMORY_MS = 2_000.0
"""The memory of pairs (known count, later count), in ms of processing time."""
_TRUST = 0.2
"""The prior for slope 1: `_TRUST` mean^2 of the known counts is added to their variance, and to their covariance with
the later counts. Counts that hardly vary leave the slope near 1. With covariance 0 the slope is 1/2 where their
variance is `_TRUST` mean^2, and less where it is more.
"""


@dataclass
class Forecast:
    """Fading sums over pairs (known count, later count)."""

    _ahead: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=MOST_BLOCKS))
    _pairs: float = 0.0
    _known: float = 0.0
    _came: float = 0.0
    _squares: float = 0.0
    _products: float = 0.0

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
        kept = math.exp(-milliseconds / _MEMORY_MS)
        self._pairs = kept * self._pairs + 1.0
        self._known = kept * self._known + known
        self._came = kept * self._came + alive
        self._squares = kept * self._squares + known * known
        self._products = kept * self._products + known * alive

    def expected(self, known: int) -> float:
        """The expected partial matches of a block behind those in flight, when `known` are reported."""
        mean = self._known / self._pairs if self._pairs else 0.0
        if mean <= 0:
            return float(known)
        came = self._came / self._pairs
        varied = self._squares / self._pairs - mean**2
        together = self._products / self._pairs - mean * came
        trust = _TRUST * mean**2
        slope = min(1.0, max(0.0, (together + trust) / (varied + trust)))
        return max(0.0, came + slope * (known - mean))
