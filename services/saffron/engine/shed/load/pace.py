"""The measured pace of one reader: its processing time over the time that a model expects."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from saffron.engine.shed.load.fading import Fading
from saffron.engine.shed.load.regression import Regression

_KEPT = 0.9
"""The factor on earlier measurements at each report, weighted by events: a first block may be small and slow."""
_MEMORY_MS = 200.0
"""The memory of measured over expected time, in ms of processing time."""
_MEMORY_OF_ALIVE_MS = 2_000.0
"""The memory of the time of an event beside a number of partial matches, in ms of processing time. It is the longer
one, since that number must vary in it.
"""
_FURTHEST = 128.0
"""The greatest factor, up or down, by which measurements correct the model. The model leaves out results, and to write
a result may take many times as long as to find it.
"""
_HALF_LIFE_MS = 2_000.0
"""The half-life of an overshoot, in ms of processing time, and of a slow commit, in ms."""
_SPAN_MS = 1_000.0
"""The memory of a reader's other work, in ms."""
_LEAST_FREE = 0.05
"""The least free share that expected times are divided by: other work makes a reader at most twenty times as slow."""
TELLING = 0.05
"""The least unmasked share of events whose time counts as a measurement: masked events take time, too."""
MOST_BLOCKS = 65_536
"""The most blocks remembered for a reader that does not report."""


@dataclass(frozen=True, slots=True)
class _Forwarded:
    """A block given to the reader.

    `next_seq`: its end. `expected`: ms. `worth`: the share of its events' work that no mask takes away. `seen`: by
    query the share of its events that are not masked.
    """

    next_seq: int
    expected: float
    events: int
    worth: float
    seen: Mapping[str, float]


@dataclass
class Pace:
    """The measured pace of one reader, against the model.

    `beside`: ms of an event of which nothing is masked, over the number of partial matches alive. `overshoot`: the
    greatest recent excess (ms) of the time between two reports over the expected one. `commit`: the greatest recent
    time (ms) from the end of a block to the commit of its results.
    """

    overshoot: float = 0.0
    commit: float = 0.0
    beside: Regression = field(default_factory=Regression)
    _ahead: deque[_Forwarded] = field(default_factory=lambda: deque(maxlen=MOST_BLOCKS))
    _off: Fading = field(default_factory=lambda: Fading(_MEMORY_MS, _MEMORY_MS))
    _mean: Fading = field(default_factory=Fading)
    _beside: Fading = field(default_factory=Fading)
    _born: Fading = field(default_factory=Fading)
    _busy: Fading = field(default_factory=Fading)
    _idle: Fading = field(default_factory=Fading)
    _alive: int = 0

    @property
    def factor(self) -> float:
        """Recent measured time over expected time."""
        return min(_FURTHEST, max(1 / _FURTHEST, self._off.ratio))

    @property
    def free(self) -> float:
        """The recent share of all time that is free for events and the writing of their results.

        Commits and other partitions take the rest.
        """
        return min(1.0, max(_LEAST_FREE, 1.0 - self._busy.ratio))

    @property
    def idle(self) -> float:
        """The recent share of all time with nothing to do."""
        return self._idle.ratio

    @property
    def mean(self) -> float:
        """The recent time (ms) of an event; 0: none was measured."""
        return self._mean.ratio

    @property
    def mean_alive(self) -> float:
        """The number of partial matches beside which `mean` was measured."""
        return self._beside.ratio

    @property
    def born(self) -> float:
        """The number of partial matches that an event adds, over blocks in which they become more."""
        return self._born.ratio

    @property
    def slowness(self) -> float:
        """The elapsed time for each unit of expected time."""
        return self.factor / self.free

    def forwarded(
        self, next_seq: int, expected: float, events: int, worth: float = 1.0, seen: Mapping[str, float] | None = None
    ) -> None:
        """Record a block given to the reader, to compare it with the next report."""
        self._ahead.append(_Forwarded(next_seq, expected, events, worth, seen or {}))

    def flying(self, beyond: int) -> float:
        """The elapsed time (ms) that the blocks beyond this position will take."""
        total = 0.0
        for block in reversed(self._ahead):
            if block.next_seq <= beyond:
                break
            total += block.expected
        return total * self.slowness

    def measured(
        self, position: int, milliseconds: float, events: int, alive: int, *, corrects: bool
    ) -> dict[str, float]:
        """Take a report: all up to `position` is done. Returns the events that each query saw, where that is known.

        Since the last report `events` events took `milliseconds`. `alive`: partial matches now. `corrects`: the
        expected times came from a model, which this report corrects.
        """
        expected, worth, counted, seen = 0.0, 0.0, 0, dict[str, float]()
        while self._ahead and self._ahead[0].next_seq <= position:
            block = self._ahead.popleft()
            expected, worth = expected + block.expected, worth + block.events * block.worth
            counted += block.events
            for query, share in block.seen.items():
                seen[query] = seen.get(query, 0.0) + block.events * share
        scale = events / counted if counted else 1.0  # others were not forwarded here: taken for like ones
        whole = worth * scale if counted else float(events)
        if whole >= TELLING * events:
            self._mean.add(milliseconds, whole, kept=_KEPT)
            self._beside.add(whole * alive, whole, kept=_KEPT)
            if whole > 0:
                kept = math.exp(-milliseconds / _MEMORY_OF_ALIVE_MS)
                self.beside.add(alive, milliseconds / whole, whole, kept=kept)
        self._born.add(max(0, alive - self._alive), events, kept=_KEPT)
        self._alive = alive
        if corrects and expected > 0:
            self._correct(milliseconds, expected * scale)
        return {query: share * scale for query, share in seen.items()}

    def _correct(self, milliseconds: float, expected: float) -> None:
        over = milliseconds - expected * self.factor
        self.overshoot = max(over, self.overshoot * 0.5 ** (milliseconds / _HALF_LIFE_MS))
        self._off.add(milliseconds, expected, kept=math.exp(-expected / _MEMORY_MS))

    def lived(self, elapsed: float, processing: float, other: float, commit: float) -> None:
        """Take a reader's report of `elapsed` ms: `processing` ms went into events, `other` ms into other work.

        `commit`: the most ms from the end of a block to the commit of its results; 0 if none was committed.
        """
        kept = math.exp(-elapsed / _SPAN_MS)
        self._busy.add(other, elapsed, kept=kept)
        self._idle.add(max(0.0, elapsed - processing - other), elapsed, kept=kept)
        self.commit = max(commit, self.commit * 0.5 ** (elapsed / _HALF_LIFE_MS))
