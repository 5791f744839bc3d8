"""How fast one reader works through what it is given, against what it was expected to take."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

_SMOOTH = 0.1
_MEMORY_MS = 200.0
"""Of processing time, over which what was measured is remembered."""
_FURTHEST = 16.0
"""What was measured corrects what was expected by at most this factor, either way."""
_HALF_LIFE_MS = 2_000.0
"""Of processing time, in which half of an overshoot is forgotten."""
_MOST_BLOCKS = 65_536
"""Remembered of a reader that does not report."""


@dataclass
class Pace:
    """`factor`: time measured over time expected, of late. `mean`: ms of an event, of late; None: none was measured.
    `overshoot`: ms by which what was done between two reports took longer than expected, at most, of late."""

    factor: float = 1.0
    mean: float | None = None
    overshoot: float = 0.0
    _ahead: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_MOST_BLOCKS))
    _expected: float = _MEMORY_MS
    _spent: float = _MEMORY_MS

    def forwarded(self, next_seq: int, expected: float) -> None:
        """A block was given that reaches to `next_seq` and is expected to take so many ms."""
        self._ahead.append((next_seq, expected))

    def flying(self, beyond: int) -> float:
        """ms that the blocks are worth which reach beyond this position."""
        total = 0.0
        for next_seq, expected in reversed(self._ahead):
            if next_seq <= beyond:
                break
            total += expected
        return total * self.factor

    def measured(self, position: int, milliseconds: float, events: int, *, corrects: bool) -> None:
        """All up to `position` is done; since the last time so many events took so many ms. `corrects`: what was
        expected came from a model, which this corrects."""
        expected = 0.0
        while self._ahead and self._ahead[0][0] <= position:
            expected += self._ahead.popleft()[1]
        mean = milliseconds / events
        self.mean = mean if self.mean is None else self.mean + _SMOOTH * (mean - self.mean)
        if not corrects or expected <= 0:
            return
        over = milliseconds - expected * self.factor
        self.overshoot = max(over, self.overshoot * 0.5 ** (milliseconds / _HALF_LIFE_MS))
        kept = math.exp(-expected / _MEMORY_MS)
        self._expected = kept * self._expected + expected
        self._spent = kept * self._spent + milliseconds
        self.factor = min(_FURTHEST, max(1 / _FURTHEST, self._spent / self._expected))
