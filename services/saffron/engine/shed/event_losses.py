"""What dropping events has lost of a query's matches so far, as expected: by what goes of what matches need.

A match is lost when any of its k events is. They lie in any blocks of a stretch of the stream: where of what the
stretch contributes to matches the part p goes, of matches that end there the share L = 1 - (1 - p)^k is lost.

How many end where is not known of those that are lost. Some of a match's events come to many partial matches, and some
begin or are alone; so a block is held to be due matches in proportion to W = c (1 + alive)^a: what its events
contribute, by their features, and the partial matches that wait. Nor is every match that is found one that was due, for
in the stead of one that is lost another may be found (skip-till-next): found are matches in proportion to
(1 - L) W + r L W. Both a and r are those by which what was found when is likeliest (Poisson), and the share that is
lost is the sum of L W over that of W.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from saffron.engine.shed.event_drops import EVENTS_A_MATCH

_MOST = 0.999
_POWERS = np.arange(7) / 4
_INSTEAD = np.arange(5) / 4
_ROOT = 2
"""The place of the power that holds as long as nothing has been found."""
_DUE, _LOST = 0, 1


@dataclass(frozen=True)
class Extent:
    """How many events a match of a query has, and over how many events of the stream it extends."""

    length: float = EVENTS_A_MATCH
    reach: float = 1.0


@dataclass(frozen=True)
class _Mark:
    """The end of a block, and sums up to there: what its events contribute, the part of it that `gone` is, and the
    `matches` that were due and those lost (2 x powers)."""

    end: float
    contributed: float
    gone: float
    matches: NDArray[np.float64]

    def before(self, later: _Mark, end: float) -> _Mark:
        """The sums at an end between this one and a later one, as if all between were evenly spread."""
        part = (end - self.end) / (later.end - self.end)
        return _Mark(
            end,
            self.contributed + part * (later.contributed - self.contributed),
            self.gone + part * (later.gone - self.gone),
            self.matches + part * (later.matches - self.matches),
        )


def _no_matches() -> NDArray[np.float64]:
    return np.zeros((2, len(_POWERS)))


@dataclass
class EventLosses:
    """Of one query. `_counted`: matches found, as the reader counts. Of what has been heard of: `_matches` as in a
    mark, those found, and of each of these the logarithm of what was to be found, in all (powers x instead)."""

    extent: Extent = Extent()
    _marks: deque[_Mark] = field(default_factory=deque)
    _counted: float = 0.0
    _matches: NDArray[np.float64] = field(default_factory=_no_matches)
    _found: float = 0.0
    _logs: NDArray[np.float64] = field(default_factory=lambda: np.zeros((len(_POWERS), len(_INSTEAD))))

    def add(self, block: tuple[int, int], contributed: float, alive: int, part: float) -> None:
        """A block of events [begin, end): what they contribute, the partial matches that wait, the part that goes."""
        begin, end = block
        if not self._marks:
            self._marks.append(_Mark(begin, 0.0, 0.0, _no_matches()))
        last = self._marks[-1]
        whole, gone = last.contributed + contributed, last.gone + contributed * part
        start = self._at(min(end - self.extent.reach, begin))
        lost = self._lost(whole - start.contributed, gone - start.gone)
        due = contributed * (1.0 + alive) ** _POWERS
        self._marks.append(_Mark(end, whole, gone, last.matches + np.stack([due, lost * due])))

    def heard(self, position: int, count: float) -> None:
        """All events before `position` have been applied, and so many matches found by now."""
        new = count - self._counted if count >= self._counted else count
        self._counted = count
        if not self._marks or position <= self._marks[0].end:
            return
        matches = self._at(position).matches
        expected = _to_be_found(matches - self._matches)
        self._matches = matches
        if new > 0 and expected.min() > 0:
            self._found += new
            self._logs += new * np.log(expected)
        while len(self._marks) > 2 and self._marks[1].end <= position - self.extent.reach:
            self._marks.popleft()

    @property
    def share(self) -> float:
        """Of the matches so far, the share that is expected to be lost; 0 before any event."""
        if self._found > 0:
            likely = self._logs - self._found * np.log(_to_be_found(self._matches))
            return _ratio(self._matches[:, np.argmax(likely.max(axis=1))])
        return _ratio(self._marks[-1].matches[:, _ROOT]) if self._marks else 0.0

    def _lost(self, contributed: float, gone: float) -> float:
        """The share of matches lost, where so much goes of what is contributed."""
        part = min(1.0, max(0.0, gone / contributed)) if contributed > 0 else 0.0
        return min(_MOST, float(1.0 - (1.0 - part) ** self.extent.length))

    def _at(self, position: float) -> _Mark:
        """The sums up to a position; up to the first or the last that is known, where it is not between them."""
        ends = [mark.end for mark in self._marks]
        place = int(np.searchsorted(ends, position))
        if place == 0:
            return self._marks[0]
        if place == len(ends):
            return self._marks[-1]
        return self._marks[place - 1].before(self._marks[place], position)


def _to_be_found(matches: NDArray[np.float64]) -> NDArray[np.float64]:
    """Matches in proportion to which some are found: powers x instead."""
    return np.asarray(matches[_DUE, :, None] - matches[_LOST, :, None] * (1.0 - _INSTEAD))


def _ratio(matches: NDArray[np.float64]) -> float:
    """Of what is due, what is lost."""
    return float(matches[_LOST] / matches[_DUE]) if matches[_DUE] > 0 else 0.0
