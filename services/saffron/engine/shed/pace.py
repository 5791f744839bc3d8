"""How fast one reader works through what it is given, against what it was expected to take."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

_KEPT = 0.9
"""Of what was measured before, at each report: the mean is one of events, so that a first block, which may be small and
slow, does not weigh more than those behind it."""
_MEMORY_MS = 200.0
"""Of processing time, over which what was measured is remembered."""
_FURTHEST = 16.0
"""What was measured corrects what was expected by at most this factor, either way."""
_HALF_LIFE_MS = 2_000.0
"""Of processing time, in which half of an overshoot is forgotten."""
_SPAN_MS = 1_000.0
"""Of time, over which is remembered what else a reader does."""
_LEAST_FREE = 0.2
_MOST_BLOCKS = 65_536
"""Remembered of a reader that does not report."""


@dataclass
class Pace:
    """`factor`: time measured over time expected, of late. `free`: the share of all time that is not taken by something
    else than events (results, commits, other partitions), of late. `overshoot`: ms by which what was done between two
    reports took longer than expected, at most, of late."""

    factor: float = 1.0
    free: float = 1.0
    overshoot: float = 0.0
    _ahead: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=_MOST_BLOCKS))
    _expected: float = _MEMORY_MS
    _spent: float = _MEMORY_MS
    _milliseconds: float = 0.0
    _events: float = 0.0
    _alive: float = 0.0
    _born: float = 0.0
    _last: int = 0
    _elapsed: float = 0.0
    _other: float = 0.0

    @property
    def mean(self) -> float:
        """ms of an event, of late; 0: none was measured."""
        return self._milliseconds / self._events if self._events > 0 else 0.0

    @property
    def mean_alive(self) -> float:
        """Partial matches beside which `mean` was measured."""
        return self._alive / self._events if self._events > 0 else 0.0

    @property
    def born(self) -> float:
        """By how many more partial matches are alive after an event, where they become more."""
        return self._born / self._events if self._events > 0 else 0.0

    @property
    def slowness(self) -> float:
        """Time that passes for each that is expected."""
        return self.factor / self.free

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
        return total * self.slowness

    def measured(self, position: int, milliseconds: float, events: int, alive: int, *, corrects: bool) -> None:
        """All up to `position` is done; since the last time so many events took so many ms, and so many partial matches
        are alive. `corrects`: what was expected came from a model, which this corrects."""
        expected = 0.0
        while self._ahead and self._ahead[0][0] <= position:
            expected += self._ahead.popleft()[1]
        self._milliseconds = _KEPT * self._milliseconds + milliseconds
        self._events = _KEPT * self._events + events
        self._alive = _KEPT * self._alive + events * alive
        self._born = _KEPT * self._born + max(0, alive - self._last)
        self._last = alive
        if not corrects or expected <= 0:
            return
        over = milliseconds - expected * self.factor
        self.overshoot = max(over, self.overshoot * 0.5 ** (milliseconds / _HALF_LIFE_MS))
        kept = math.exp(-expected / _MEMORY_MS)
        self._expected = kept * self._expected + expected
        self._spent = kept * self._spent + milliseconds
        self.factor = min(_FURTHEST, max(1 / _FURTHEST, self._spent / self._expected))

    def lived(self, elapsed: float, other: float) -> None:
        """In so many ms its reader was busy with something else for so many."""
        kept = math.exp(-elapsed / _SPAN_MS)
        self._elapsed = kept * self._elapsed + elapsed
        self._other = kept * self._other + other
        if self._elapsed > 0:
            self.free = min(1.0, max(_LEAST_FREE, 1.0 - self._other / self._elapsed))
