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

_MEMORY_MS = 2_000.0
"""Of processing time, over which is remembered what came of what was known."""
_TRUST = 0.2
"""How firmly the slope is held at 1: `_TRUST` mean^2 of the known counts is added to their variance, and to their
covariance with what came. Counts that hardly vary cannot tell the slope, which then stays near 1; if what came does not
follow them at all (covariance 0), it is 1/2 where their variance is `_TRUST` mean^2, and less where it is more."""


@dataclass
class Forecast:
    """Fading sums over pairs of what was known, and what came."""

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
        """Take a report: all events up to `position` are done, in so many ms; so many partial matches are alive."""
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
        """Where so many are known of, how many a block behind those in flight will meet."""
        mean = self._known / self._pairs if self._pairs else 0.0
        if mean <= 0:
            return float(known)
        came = self._came / self._pairs
        varied = self._squares / self._pairs - mean**2
        together = self._products / self._pairs - mean * came
        trust = _TRUST * mean**2
        slope = min(1.0, max(0.0, (together + trust) / (varied + trust)))
        return max(0.0, came + slope * (known - mean))
