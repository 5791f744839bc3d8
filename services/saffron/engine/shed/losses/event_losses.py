"""Expected share of a query's matches lost to dropped events.

A match has k events (`Extent.length`) within the last `Extent.reach` events, or those of its block if they are more.
Let p be the dropped part of the contributions in that stretch. A match that ends there is lost with probability
L = 1 - (1 - p)^k.

The number of due matches W is not observed once events are missing. For a block of n events with contributions c (in
means of all events) beside `alive` partial matches, the model is W = n (c / n)^b (1 + alive)^a. Under
skip-till-next-match a share r of the lost is replaced by other matches, so that found ~ W - (1 - r) L W. The parameters
a, b and r are chosen from a fixed grid by maximum likelihood (Poisson) of the counts that readers report; a and b near
1/2 and 1 are preferred.

The estimate is sum(L W) / sum(W). `at_random` is the loss of random dropping: L of the share that goes of the
events that the query can take, in place of p.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from math import log, log1p

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EVENTS_A_MATCH = 3.0
"""The assumed number of events of a match where neither a model nor a plan says it."""
_MOST = 0.999
"""Greatest L. It is below 1 since the logarithm of what is expected to be found is taken, also of blocks that are
dropped whole."""
_LEAST = 1e-3
"""Least c / n. It is above 0 since its logarithm is taken, also of blocks that contribute nothing."""
_OF_CONTRIBUTION, _OF_ALIVE = (one.reshape(-1) for one in np.meshgrid(np.arange(3) / 2, np.arange(7) / 4))
"""The grid of b (0, 1/2, 1) and a (0, 1/4, ..., 3/2), all pairs."""
_INSTEAD = np.arange(5) / 4
"""The grid of r (0, 1/4, ..., 1)."""
_UNKNOWN = int(np.flatnonzero((_OF_CONTRIBUTION == 1.0) & (_OF_ALIVE == 0.5))[0])
"""The place of the usual powers, which hold until something has been found."""
_UNLIKELY = 60.0 * ((_OF_CONTRIBUTION - 1.0) ** 2 + (_OF_ALIVE - 0.5) ** 2)
"""The penalty on the log-likelihood of powers other than the usual ones. It is high, since matches come in clumps: a
few dozen of them say no more than one.
"""
_MOST_MARKS = 8_192
"""The most marks kept for a reader that does not report. Beyond it the older half is dropped."""
_DUE, _LOST, _AT_RANDOM, _PROMISED = range(4)
"""Rows of matches: due, and lost of these; lost if each event were as good as any other; lost as promised."""


@dataclass(frozen=True)
class Extent:
    """The extent of a query's matches: `length`, their events; `reach`, the events of the stream that they span."""

    length: float = EVENTS_A_MATCH
    reach: float = 1.0


@dataclass(frozen=True)
class _Mark:
    """Sums up to the end of a block. `sums` [4]: contributions of events, the part of them that goes, the part that was
    promised to go, and fitting events that go. `matches` [4, powers]: rows `_DUE` to `_PROMISED`."""

    end: float
    sums: Floats
    matches: Floats


def _no_matches() -> Floats:
    return np.zeros((4, len(_OF_ALIVE)))


@dataclass
class EventLosses:
    """The matches that one query loses with dropped events: its estimate, and the powers a, b and r fitted so far.

    `_counted`: matches found, as the reader counted them last. `_heard`: cumulative matches, as in a mark, up to the
    reader's last position. The others cover the time since its first report. `_matches`: matches, as in a mark.
    `_found`: those found. `_logs` [powers, instead]: sums of (matches found) * log(matches expected to be found).
    `_powers`: index of the likeliest powers.
    """

    extent: Extent = Extent()
    _marks: list[_Mark] = field(default_factory=list)
    _counted: float | None = None
    _heard: Floats = field(default_factory=_no_matches)
    _matches: Floats = field(default_factory=_no_matches)
    _found: float = 0.0
    _logs: Floats = field(default_factory=lambda: np.zeros((len(_OF_ALIVE), len(_INSTEAD))))
    _powers: int = _UNKNOWN

    def add(
        self,
        block: tuple[int, int],
        contributed: float,
        alive: int,
        part: float,
        fitting: float = 0.0,
        promised: float | None = None,
    ) -> None:
        """Add a block of events [begin, end), and its drops.

        `contributed`: contribution of its events to matches, in means of all events. `alive`: number of partial
        matches. `part`: the dropped part (0 to 1) of the contributions. `promised`: the same as the choice of means
        assumed it; None: `part`. `fitting`: the share that goes of the events that the query can take.
        """
        begin, end = block
        if not self._marks:
            self._marks.append(_Mark(begin, np.zeros(4), _no_matches()))
        last = self._marks[-1]
        by_promise = part if promised is None else promised
        added = contributed, contributed * part, contributed * by_promise, (end - begin) * fitting
        sums = last.sums + np.array(added)
        one, other, between = self._around(min(end - self.extent.reach, begin))
        whole, gone, foretold, dropped = (sums - one.sums - between * (other.sums - one.sums)).tolist()
        events = end - one.end - between * (other.end - one.end)
        lost = [1.0, self._lost(whole, gone), self._lost(events, dropped), self._lost(whole, foretold)]
        each = max(_LEAST, contributed / (end - begin))
        due = (end - begin) * np.exp(log(each) * _OF_CONTRIBUTION + log1p(alive) * _OF_ALIVE)
        self._marks.append(_Mark(end, sums, last.matches + np.array(lost)[:, None] * due))
        if self._counted is None:
            self._forget(begin)
        if len(self._marks) > _MOST_MARKS:
            del self._marks[: _MOST_MARKS // 2]

    def heard(self, position: int, count: float) -> None:
        """Take a reader's report: it has applied all events before `position`, and found `count` matches."""
        before, self._counted = self._counted, count
        if not self._marks:
            return
        one, other, between = self._around(position)
        earlier, self._heard = self._heard, one.matches + between * (other.matches - one.matches)
        if before is not None:
            self._take(self._heard - earlier, count - before if count >= before else count)
        self._forget(position)

    @property
    def share(self) -> float:
        """The share of the matches so far that is expected to be lost; 0 before any event."""
        return self._share_of(_LOST)

    @property
    def at_random(self) -> float:
        """The expected share of lost matches if all events contributed equally."""
        return self._share_of(_AT_RANDOM)

    @property
    def promised(self) -> float:
        """The share of lost matches that was promised when means were chosen."""
        return self._share_of(_PROMISED)

    def _share_of(self, row: int) -> float:
        sums = self._matches if self._found > 0 else self._marks[-1].matches if self._marks else _no_matches()
        due = sums[_DUE, self._powers]
        return float(sums[row, self._powers] / due) if due > 0 else 0.0

    def _take(self, matches: Floats, found: float) -> None:
        """Fit the powers to `found` of `matches`; nothing is fitted if a reader has started again further back."""
        expected = _to_be_found(matches)
        if expected.min() <= 0:
            return
        self._matches += matches
        if found > 0:
            self._found += found
            self._logs += found * np.log(expected)
        if self._found > 0:
            likely = self._logs - self._found * np.log(_to_be_found(self._matches))
            self._powers = int(np.argmax(likely.max(axis=1) - _UNLIKELY))

    def _forget(self, position: float) -> None:
        """Drop the marks that nothing needs once all events before a position are reported."""
        past = bisect_right(self._marks, position - self.extent.reach, key=_end)
        del self._marks[: max(0, min(past, len(self._marks) - 1) - 1)]

    def _lost(self, contributed: float, gone: float) -> float:
        """The share of matches lost, if `gone` of `contributed` is dropped."""
        part = min(1.0, max(0.0, gone / contributed)) if contributed > 0 else 0.0
        return min(_MOST, float(1.0 - (1.0 - part) ** self.extent.length))

    def _around(self, position: float) -> tuple[_Mark, _Mark, float]:
        """The marks before and behind a position, and how far it is from the one to the other; the first or the last,
        where it is not between any."""
        place = bisect_left(self._marks, position, key=_end)
        if place in (0, len(self._marks)):
            at = self._marks[place - 1 if place else 0]
            return at, at, 0.0
        one, other = self._marks[place - 1], self._marks[place]
        return one, other, (position - one.end) / (other.end - one.end)


def _end(mark: _Mark) -> float:
    return mark.end


def _to_be_found(matches: Floats) -> Floats:
    """Matches in proportion to which some are found: powers x instead."""
    return np.asarray(matches[_DUE, :, None] - matches[_LOST, :, None] * (1.0 - _INSTEAD))
