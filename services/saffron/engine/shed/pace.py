"""How fast one reader works through what it is given, against what it was expected to take."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from saffron.engine.shed.fading import Fading

_KEPT = 0.9
"""Of what was measured before, at each report: the mean is one of events, so that a first block, which may be small and
slow, does not weigh more than those behind it."""
_MEMORY_MS = 200.0
"""Of processing time, over which what was measured is remembered."""
_FURTHEST = 16.0
"""What was measured corrects what was expected by at most this factor, either way."""
_HALF_LIFE_MS = 2_000.0
"""Of processing time, in which half of an overshoot is forgotten; of time, in which half of a slow commit is."""
_SPAN_MS = 1_000.0
"""Of time, over which is remembered what else a reader does."""
_LEAST_FREE = 0.05
"""Expected times are divided by the free share: something else makes a reader at most twenty times as slow."""
TELLING = 0.05
"""Share of events that must not have been masked for what they took to tell what one takes: others take time, too."""
MOST_BLOCKS = 65_536
"""Remembered of a reader that does not report."""


@dataclass
class Pace:
    """`overshoot`: ms by which what was done between two reports took longer than expected, at most, of late.
    `commit`: ms from where a block had been done until its results were committed, at most, of late."""

    overshoot: float = 0.0
    commit: float = 0.0
    _ahead: deque[tuple[int, float, float]] = field(default_factory=lambda: deque(maxlen=MOST_BLOCKS))
    _off: Fading = field(default_factory=lambda: Fading(_MEMORY_MS, _MEMORY_MS))
    _mean: Fading = field(default_factory=Fading)
    _beside: Fading = field(default_factory=Fading)
    _born: Fading = field(default_factory=Fading)
    _busy: Fading = field(default_factory=Fading)
    _idle: Fading = field(default_factory=Fading)
    _alive: int = 0

    @property
    def factor(self) -> float:
        """Time measured over time expected, of late."""
        return min(_FURTHEST, max(1 / _FURTHEST, self._off.ratio))

    @property
    def free(self) -> float:
        """The share of all time that is not taken by something else than events (results, commits, other partitions),
        of late."""
        return min(1.0, max(_LEAST_FREE, 1.0 - self._busy.ratio))

    @property
    def idle(self) -> float:
        """The share of all time for which there was nothing to do, of late."""
        return self._idle.ratio

    @property
    def mean(self) -> float:
        """ms of an event, of late; 0: none was measured."""
        return self._mean.ratio

    @property
    def mean_alive(self) -> float:
        """Partial matches beside which `mean` was measured."""
        return self._beside.ratio

    @property
    def born(self) -> float:
        """By how many more partial matches are alive after an event, where they become more."""
        return self._born.ratio

    @property
    def slowness(self) -> float:
        """Time that passes for each that is expected."""
        return self.factor / self.free

    def forwarded(self, next_seq: int, expected: float, events: float) -> None:
        """A block was given that reaches to `next_seq` and is expected to take so many ms: it is worth so many events
        of which none is masked."""
        self._ahead.append((next_seq, expected, events))

    def flying(self, beyond: int) -> float:
        """ms that the blocks are worth which reach beyond this position."""
        total = 0.0
        for next_seq, expected, _ in reversed(self._ahead):
            if next_seq <= beyond:
                break
            total += expected
        return total * self.slowness

    def measured(self, position: int, milliseconds: float, events: int, alive: int, *, corrects: bool) -> None:
        """All up to `position` is done; since the last time so many events took so many ms, and so many partial matches
        are alive. `corrects`: what was expected came from a model, which this corrects."""
        expected = given = 0.0
        known = False
        while self._ahead and self._ahead[0][0] <= position:
            _, ms, worth = self._ahead.popleft()
            expected, given, known = expected + ms, given + worth, True
        seen = given if known else float(events)
        if seen >= TELLING * events:
            self._mean.add(milliseconds, seen, kept=_KEPT)
            self._beside.add(seen * alive, seen, kept=_KEPT)
        self._born.add(max(0, alive - self._alive), events, kept=_KEPT)
        self._alive = alive
        if not corrects or expected <= 0:
            return
        over = milliseconds - expected * self.factor
        self.overshoot = max(over, self.overshoot * 0.5 ** (milliseconds / _HALF_LIFE_MS))
        self._off.add(milliseconds, expected, kept=math.exp(-expected / _MEMORY_MS))

    def lived(self, elapsed: float, processing: float, other: float, commit: float) -> None:
        """In so many ms its reader worked on events for so many, and was busy with something else for so many; results
        that were committed meanwhile took at most so many from where their blocks had been done, 0: there were none."""
        kept = math.exp(-elapsed / _SPAN_MS)
        self._busy.add(other, elapsed, kept=kept)
        self._idle.add(max(0.0, elapsed - processing - other), elapsed, kept=kept)
        self.commit = max(commit, self.commit * 0.5 ** (elapsed / _HALF_LIFE_MS))
