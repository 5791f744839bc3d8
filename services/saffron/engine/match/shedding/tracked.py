"""Tracked partial matches: a sample followed to the ends of windows, to learn the matches made by each state and age.

In some blocks, some of a query's partial matches are noted with their state and age (see `ages`). Their matches are
counted until their windows end. A drop order for partial matches deletes all notes, except those of partial matches
that orders retain by their first events. A dropped event censors the notes that exist: they no longer describe the
Markov chain, but still test the order in which partial matches would be dropped (`tried`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saffron.engine.match.shedding.candidates import Candidates
from saffron.engine.match.shedding.retained import ANY_LAST, drawn
from saffron.engine.match.shedding.tried import Tried
from saffron.engine.models.transitions.ages import AGES, FOLDS, MOST_STATES, SHARES, ages

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_NOTES = 8192
A_BLOCK = 128
"""The most notes that one block makes of partial matches that orders retain, and the most of others."""

_FIRST, _LAST, _AT, _UNTIL, _CELL, _ALIKE, _FOUND, _LEFT, _WORTH, _CENSORED = range(10)
_ROWS, _ROWS_BEFORE = 10, 7
_NOT_RANKED = float("nan")


def are_tracked(first: Ints, share: float) -> Flags:
    """[n] whether orders retain all partial matches with these first events, so that their outcomes are observed."""
    found: Flags = drawn(0, "", first) < share
    return found


class Tracked:
    """A table of notes, one for each tracked partial match of a query: int64 [10, n], ordered by first event.

    Its rows:

    - _FIRST, _LAST: the first and the last event.
    - _AT: the position before which the note was made.
    - _UNTIL: the end of the window.
    - _CELL: state and age.
    - _ALIKE: the number of partial matches with the same first and last event.
    - _FOUND: matches since the note.
    - _LEFT: the rest of the window at the note.
    - _WORTH: the bits of the utility (NaN: no order has given it yet).
    - _CENSORED: 1 if an event was dropped since the note.

    `tried`: trials of the order of utility, since the start of this operator.
    """

    def __init__(self, notes: Sequence[Sequence[int]] = ()) -> None:
        self._notes: Ints = _by_first(_read(notes))
        self._counts: dict[tuple[int, int], list[int]] = {}
        self.tried = Tried()

    def __len__(self) -> int:
        return int(self._notes.shape[1])

    @property
    def full(self) -> bool:
        """True if no note can be made before others end."""
        return len(self) + 2 * A_BLOCK > MOST_NOTES

    def have(self, first: Ints) -> Flags:
        """[n] whether there is a note with each of these first events."""
        noted = self._notes[_FIRST]
        if not len(noted):
            return np.zeros(len(first), np.bool_)
        found: Flags = noted[np.minimum(np.searchsorted(noted, first), len(noted) - 1)] == first
        return found

    def note(
        self, at: int, clock: int, window: int, found: Candidates, share: float, worth: Floats | None = None
    ) -> None:
        """Note a sample of the candidates before event `at`, first of those that orders retain, `share` of all.

        `worth` [candidates]: their utility; None where no order has given one.
        """
        chosen = _chosen(found, at, share)
        if not len(chosen) or int(found.state.max()) >= MOST_STATES:
            return
        left, state = found.left[chosen], found.state[chosen]
        age = ages(left, found.waited[chosen], found.matched[chosen], window)
        notes = np.empty((_ROWS, len(chosen)), np.int64)
        notes[_FIRST], notes[_LAST], notes[_AT] = found.first[chosen], found.last[chosen], at
        notes[_UNTIL], notes[_CELL] = clock + left, state * AGES + age
        notes[_ALIKE], notes[_FOUND] = alike(found.first, found.last, chosen), 0
        utility = np.full(len(chosen), _NOT_RANKED) if worth is None else worth[chosen]
        notes[_LEFT], notes[_WORTH], notes[_CENSORED] = left, utility.view(np.int64), 0
        self._notes = _by_first(np.concatenate([self._notes, notes], axis=1))

    def void(self, share: float = 0.0) -> None:
        """Delete all notes but those that orders retain, `share` of all: a drop makes other outcomes unknown."""
        if len(self):
            self._notes = self._notes[:, are_tracked(self._notes[_FIRST], share)]

    def censor(self) -> None:
        """Mark all notes as censored: an event was dropped, with which they might have made other matches."""
        self._notes[_CENSORED] = 1

    def match(self, seqs: Ints, counts: Ints) -> None:
        """Count matches for the notes that led to them.

        `counts`: events of each match. `seqs`: their positions, match after match. Call it once for each match.
        """
        stops = np.cumsum(counts)
        match = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((seqs, match))
        seqs = seqs[order]
        first = seqs[stops - counts]
        noted = self._notes[_FIRST]
        low, high = np.searchsorted(noted, first, "left"), np.searchsorted(noted, first, "right")
        several = high - low
        which = np.repeat(np.arange(len(first)), several)
        notes = np.arange(len(which)) - np.repeat(np.cumsum(several) - several - low, several)
        bound = _before(seqs, stops, counts, which, self._notes[_AT, notes])
        last = self._notes[_LAST, notes]
        np.add.at(self._notes[_FOUND], notes[(last == ANY_LAST) | (last == bound)], 1)

    def passed(self, clock: int, window: int) -> None:
        """Settle the tracked partial matches whose windows ended before `clock`: their matches have been reported."""
        over = self._notes[_UNTIL] < clock
        if not over.any():
            return
        ended = self._notes[:, over]
        worth = ended[_WORTH].view(np.float64)
        ranked = ~np.isnan(worth)
        matches = ended[_FOUND] / ended[_ALIKE]
        self.tried.add(worth[ranked], ended[_LEFT, ranked].astype(np.float64), matches[ranked], clock, window)
        told = ended[:, ended[_CENSORED] == 0]
        for cell, until, alike, came in told[[_CELL, _UNTIL, _ALIKE, _FOUND]].T.tolist():
            state, age = divmod(cell, AGES)
            fold = until // window % FOLDS
            sums = self._counts.setdefault((state, AGES * fold + age), [0, 0])
            sums[0] += 1
            sums[1] += came * SHARES // alike
        self._notes = self._notes[:, ~over]

    def rows(self) -> list[list[int]]:
        """[state, AGES * fold + age, tracked, matches in SHARES] of those whose windows are over since then."""
        counts, self._counts = self._counts, {}
        return [[*cell, *sums] for cell, sums in sorted(counts.items())]

    def record(self) -> list[list[int]]:
        """The notes as JSON, for a snapshot."""
        found: list[list[int]] = self._notes.tolist()
        return found


def _read(notes: Sequence[Sequence[int]]) -> Ints:
    """The notes of a snapshot. A snapshot of an older version has no ranks: its notes are not ranked."""
    found = np.array(notes, np.int64).reshape(len(notes) or _ROWS, -1 if len(notes) else 0)
    if len(found) == _ROWS_BEFORE:
        unranked = np.full(found.shape[1], _NOT_RANKED).view(np.int64)
        none = np.zeros_like(unranked)
        found = np.concatenate([found, [none, unranked, none]])
    return found


def _by_first(notes: Ints) -> Ints:
    return notes[:, np.argsort(notes[_FIRST], kind="stable")]


def _chosen(found: Candidates, at: int, share: float) -> Ints:
    """The places of the candidates that are noted: by a draw that is another one at each position."""
    spared = are_tracked(found.first, share)
    draw = drawn(at, "note", found.first)
    groups = np.flatnonzero(spared), np.flatnonzero(~spared)
    return np.concatenate([_least(group, draw[group]) for group in groups])


def _least(group: Ints, draw: NDArray[np.float64]) -> Ints:
    """The `A_BLOCK` members of a group with the least numbers of a draw in [0, 1)."""
    low = np.flatnonzero(draw < 4 * A_BLOCK / max(1, len(group)))
    if len(low) >= A_BLOCK:
        group, draw = group[low], draw[low]
    return group[np.argsort(draw, kind="stable")[:A_BLOCK]]


def alike(first: Ints, last: Ints, chosen: Ints) -> Ints:
    """The number of partial matches with the same first and last event, for each of the chosen: its alternatives."""
    near = np.flatnonzero(np.isin(first, first[chosen]))
    pairs = np.stack([first[near], last[near]])
    _, place, counts = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    number = np.zeros(len(first), np.int64)
    number[near] = counts[place.ravel()]
    found: Ints = number[chosen]
    return found


def _before(seqs: Ints, stops: Ints, counts: Ints, which: Ints, at: Ints) -> Ints:
    """The last event of each match in `which` before position `at`; -2 where there is none."""
    low, high = (stops - counts)[which], stops[which]
    begin = low.copy()
    while (open_ := low < high).any():
        middle = (low + high) // 2
        below = open_ & (seqs[np.minimum(middle, len(seqs) - 1)] < at)
        low = np.where(below, middle + 1, low)
        high = np.where(open_ & ~below, middle, high)
    return np.where(low > begin, seqs[np.maximum(low - 1, 0)], -2)
