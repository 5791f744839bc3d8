"""Matches over imprecise time as JSON: as those of exact time, with the intervals of events and a confidence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.json_pieces import Pieces
from saffron.engine.match.core.rows import SEQ, TS
from saffron.engine.match.output.render import Written
from saffron.engine.match.output.tails import Tails
from saffron.engine.match.runs.runs import Runs
from saffron.engine.match.uncertain.search_state import MATCHES, PICKED, Work

Ints = NDArray[np.int64]

LATEST = "#latest"
"""A column of rows: the last instant at which the event can have happened."""


class LikelyMatches(Written):
    """The matches that one query found in a block. Valid until the next one.

    "ts" of an event is [lo, hi] where it is no single instant; "start" is the earliest, "end" the latest at which an
    event of the match can have happened; "confidence" stands last.
    """

    def __init__(self, runs: Runs, work: Work, name: str, partition: int) -> None:
        count, picked = int(work.counters[MATCHES]), int(work.counters[PICKED])
        self._picked = work.picked[:picked] & runs.rows.mask
        self._counts = work.counts[:count].copy()
        self._stops = work.found[:count, 2].copy()
        self._chance = work.chance[:count].copy()
        lows = None if runs.plan.window.slide is None else work.found[:count, 1].copy()
        last = work.found[:count, 0] & runs.rows.mask
        super().__init__(runs, name, partition, last, lows=lows, serials=None)

    @property
    def first(self) -> Ints:
        chosen = np.arange(len(self))
        place, _, _ = self._span(chosen, *self._taken(chosen))
        return self.stored.columns[SEQ][place].astype(np.int64)

    def _taken(self, chosen: Ints) -> tuple[Ints, Ints]:
        counts = self._counts[chosen]
        sizes = counts.sum(axis=1)
        ends = np.cumsum(sizes)
        return counts, self._picked[np.arange(ends[-1]) + np.repeat(self._stops[chosen] - ends, sizes)]

    def _times(self, pieces: Pieces, used: Ints) -> Ints:
        """[n, 5] the pieces of each event's time: lo alone if it is exact, else lo and hi in brackets."""
        columns = self._runs.rows.columns
        lo, hi = columns[TS][used], columns[LATEST][used]
        exact = lo == hi
        nothing, opening, comma, closing = (pieces.literal(text) for text in (b"", b"[", b",", b"]"))
        parts = (
            np.where(exact, nothing, opening),
            pieces.numbers(lo),
            np.where(exact, nothing, comma),
            np.where(exact, nothing, pieces.numbers(hi)),
            np.where(exact, nothing, closing),
        )
        return np.stack(parts, axis=1)

    def _span(self, chosen: Ints, counts: Ints, places: Ints) -> tuple[Ints, Ints, Ints]:
        sizes = counts.sum(axis=1)
        begins = np.cumsum(sizes) - sizes
        columns = self._runs.rows.columns
        start = np.minimum.reduceat(columns[TS][places].astype(np.int64), begins)
        end = np.maximum.reduceat(columns[LATEST][places].astype(np.int64), begins)
        return places[begins], start, end

    def _tails(self, chosen: Ints, counts: Ints, places: Ints) -> tuple[NDArray[np.uint8], Ints]:
        return Tails(self._runs, counts, places, self._value).texts(confidence=self._chance[chosen])
