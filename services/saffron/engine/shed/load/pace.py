"""How fast one reader works through what it is given, against what it was expected to take."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from saffron.engine.shed.load.fading import Fading
from saffron.engine.shed.load.regression import Regression

_KEPT = 0.9
"""Of what was measured before, at each report: the mean is one of events, so that a first block, which may be small and
slow, does not weigh more than those behind it."""
_MEMORY_MS = 200.0
"""Of processing time, over which what was measured is remembered."""
_MEMORY_OF_ALIVE_MS = 2_000.0
"""Of processing time, over which is remembered what an event took beside so many partial matches: longer than the
above, since their number must vary in it."""
_FURTHEST = 128.0
"""What was measured corrects what was expected by at most this factor, either way: the model knows nothing of results,
and to write one may take many times as long as to find it."""
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


@dataclass(frozen=True, slots=True)
class _Forwarded:
    """A block: up to where, ms that it is expected to take, events, `worth`: the share of their work that no mask
    takes away, `seen`: by query the share of its events that are not masked."""

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
        """Time measured over time expected, of late."""
        return min(_FURTHEST, max(1 / _FURTHEST, self._off.ratio))

    @property
    def free(self) -> float:
        """The share of all time that is not taken by something else than events and the writing of their results
        (commits, other partitions), of late."""
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
        """The number of partial matches that an event adds, over blocks in which they become more."""
        return self._born.ratio

    @property
    def slowness(self) -> float:
        """Time that passes for each that is expected."""
        return self.factor / self.free

    def forwarded(
        self, next_seq: int, expected: float, events: int, worth: float = 1.0, seen: Mapping[str, float] | None = None
    ) -> None:
        """Record a block given to the reader, to compare it with the next report."""
        self._ahead.append(_Forwarded(next_seq, expected, events, worth, seen or {}))

    def flying(self, beyond: int) -> float:
        """ms that the blocks are worth which reach beyond this position."""
        total = 0.0
        for block in reversed(self._ahead):
            if block.next_seq <= beyond:
                break
            total += block.expected
        return total * self.slowness

    def measured(
        self, position: int, milliseconds: float, events: int, alive: int, *, corrects: bool
    ) -> dict[str, float]:
        """All up to `position` is done; since the last time so many events took so many ms, and so many partial matches
        are alive. `corrects`: what was expected came from a model, which this corrects. By query, how many of the
        events it has seen, where that is known."""
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
