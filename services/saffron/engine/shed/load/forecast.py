"""How many partial matches a block will meet that is forwarded before others are done.

What a reader last reported is as old as the blocks in flight. Where partial matches live long that says as much of the
blocks to come; where they come and go within what is in flight (all complete with one event, say) it says little, and
the mean is the better guess: by a report from just behind such an event far too much is forwarded, as if it cost
nothing. How much it says is learned: the slope of how many there were when a block was done over how many were known
when it was forwarded.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from saffron.engine.shed.load.pace import MOST_BLOCKS
from saffron.engine.shed.load.regression import Regression

_MEMORY_MS = 2_000.0
"""Of processing time, over which is remembered what came of what was known."""


@dataclass
class Forecast:
    """The line through pairs of what was known, and what came, of late."""

    _ahead: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=MOST_BLOCKS))
    _came: Regression = field(default_factory=Regression)

    def forwarded(self, next_seq: int, known: int) -> None:
        """Record a block up to `next_seq` that goes out behind others. `known`: partial matches known of now."""
        self._ahead.append((next_seq, known))

    def reported(self, position: int, alive: int, milliseconds: float) -> None:
        """Take a report: all events up to `position` are done, in so many ms; so many partial matches are alive."""
        known = None
        while self._ahead and self._ahead[0][0] <= position:
            _, known = self._ahead.popleft()
        if known is None:
            return
        self._came.add(known, alive, 1.0, kept=math.exp(-milliseconds / _MEMORY_MS))

    def expected(self, known: int) -> float:
        """Where so many are known of, how many a block behind those in flight will meet."""
        mean = self._came.mean_x
        if mean <= 0:
            return float(known)
        slope = min(1.0, max(0.0, self._came.slope(1.0)))
        return max(0.0, self._came.mean_y + slope * (known - mean))
