"""Trials of a learned order of events, on true matches of which a reader's sample tells.

For each event it is remembered whether the order alone would drop it, whatever was dropped. A match would be lost if it
would drop any of its events. It is compared with what even dropping of as many events would lose (`evenly`).
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
    """Of one query. `_blocks`: first position, and whether each event from there on would go, of blocks of which
    anything might go; `_firsts`: the former. `_forgotten`: all before this position is not remembered. `_seen`,
    `_gone`: events of this trial, and those that would go; `_lengths`: of its matches, in such blocks; `_lost`: how
    many would be lost; `_since`: where it began. `_told`: matches that the reader has told of."""

    _blocks: deque[tuple[int, Flags]] = field(default_factory=deque)
    _firsts: deque[int] = field(default_factory=deque)
    _remembered: int = 0
    _forgotten: int | None = None
    _seen: int = 0
    _gone: int = 0
    _lengths: list[int] = field(default_factory=list)
    _lost: int = 0
    _since: int | None = None
    _told: int = 0
    _even: Even = UNKNOWN

    def saw(self, seq: NDArray[np.int64], goes: Flags, window: float, even: Even = UNKNOWN) -> None:
        """Events at these positions, ascending, and whether the order would drop each; `window`: events of one."""
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

    def told(self, count: int, newest: Sequence[Sequence[int]], window: float) -> Trials:
        """The reader has told of so many matches since it began, and of the newest which events they have; the trial
        that is over with them, if one is."""
        new, self._told = count - self._told if count >= self._told else count, count
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
        """None: of its block nothing might go."""
        place = bisect_right(self._firsts, position) - 1
        if place < 0:
            return None
        first, own = self._blocks[place]
        return bool(own[position - first]) if position - first < len(own) else None
