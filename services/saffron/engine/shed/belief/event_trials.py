"""Trials of a learned order of events on true matches, which a reader samples.

Each event has a flag: whether the order alone would drop it, whatever was dropped in fact. The order loses a match if
it would drop any of the match's events. A trial compares these losses with those of even dropping of as many events
(`evenly`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saffron.engine.models.transitions.trials import LEAST_MATCHES, Trials
from saffron.engine.shed.drops.evenly import UNKNOWN, Even

Flags = NDArray[np.bool_]

_MOST_REMEMBERED = 1 << 20
"""Events: matches that begin earlier are not tried."""
_WINDOWS = 2.0
"""Windows of events that are remembered: some are in flight, and a reader reports late."""


@dataclass
class EventTrials:
    """The trial in progress of one query's order of events.

    `_blocks`: (first position, flag of each event from there on) of blocks with droppable events; `_firsts`: their
    first positions. `_forgotten`: flags of events before this position are dropped. `_seen`, `_gone`: number of events
    of this trial, and of those that would go. `_lengths`: for each match of the trial, its number of events in these
    blocks; `_lost`: number of matches that would be lost. `_since`: first position of the trial. `_reported`: the
    reader's count of matches at its last report.
    """

    _blocks: deque[tuple[int, Flags]] = field(default_factory=deque)
    _firsts: deque[int] = field(default_factory=deque)
    _remembered: int = 0
    _forgotten: int | None = None
    _seen: int = 0
    _gone: int = 0
    _lengths: list[int] = field(default_factory=list)
    _lost: int = 0
    _since: int | None = None
    _reported: int = 0
    _even: Even = UNKNOWN

    def saw(self, seq: NDArray[np.int64], goes: Flags, window: float, even: Even = UNKNOWN) -> None:
        """Add events at ascending positions, with the order's flags. `window`: the number of events in a window."""
        self._even = even
        if not len(seq):
            return
        first, own = int(seq[0]), np.zeros(int(seq[-1] - seq[0]) + 1, np.bool_)
        own[seq - first] = goes
        self._since = first if self._since is None else self._since
        self._forgotten = first if self._forgotten is None else self._forgotten
        self._blocks.append((first, own))
        self._firsts.append(first)
        self._remembered += len(own)
        self._seen += len(seq)
        self._gone += int(np.count_nonzero(goes))
        most = min(_MOST_REMEMBERED, _WINDOWS * window)
        while self._remembered - len(self._blocks[0][1]) > most:
            begin, old = self._blocks.popleft()
            self._firsts.popleft()
            self._remembered, self._forgotten = self._remembered - len(old), begin + len(old)

    def add_report(self, count: int, newest: Sequence[Sequence[int]], window: float) -> Trials:
        """Add a reader's report; returns the trial that it completes, or empty `Trials`.

        `count`: matches since the reader began. `newest`: positions of the events of the newest matches. `window`: the
        number of events that a trial covers at least. The gain of a trial is 1 - (matches lost) / (matches that even
        dropping would lose).
        """
        new, self._reported = count - self._reported if count >= self._reported else count, count
        for match in newest[max(0, len(newest) - new) :] if new else ():
            marks = [mark for position in match if (mark := self._would_go(position)) is not None]
            if marks and self._forgotten is not None and min(match) >= self._forgotten:
                self._lengths.append(len(marks))
                self._lost += any(marks)
        if len(self._lengths) < LEAST_MATCHES or self._since is None or not self._blocks:
            return Trials()
        if self._firsts[-1] - self._since < window:
            return Trials()
        gone = self._gone / self._seen
        even = sum(self._even.lost(gone, length) for length in self._lengths)
        found = Trials.of(1.0 - self._lost / even) if even > 0 else Trials()
        self._seen = self._gone = self._lost = 0
        self._lengths, self._since = [], None
        return found

    def _would_go(self, position: int) -> bool | None:
        """The flag of the event at a position; None: its block had no droppable events."""
        place = bisect_right(self._firsts, position) - 1
        if place < 0:
            return None
        first, own = self._blocks[place]
        return bool(own[position - first]) if position - first < len(own) else None
