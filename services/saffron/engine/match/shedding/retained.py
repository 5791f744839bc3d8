"""The loss of drop orders, estimated from partial matches that they retain.

An order retains a few of the partial matches that it would drop, by a seeded draw, until their windows are over. Each
is noted with the matches that the model expects of it. A match that a retained one makes would have been lost. The
matches made, divided by the matches expected, correct the expected loss of the partial matches that were dropped. Each
counts by the inverse of its chance to be retained (Horvitz and Thompson). So the estimate holds even if the model is
wrong, or the stream has changed since the model was learned.

Partial matches with a high expectation are retained more often, as there is more to learn from them. Where partial
matches are dropped at random, all have the same chance.

A partial match is known by its first event and by the last one that it had bound. Where several agree in both (before
alternatives part; under skip-till-any-match) a match counts for each of them in part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from saffron.engine.kernels.hashing import GOLDEN, mixed, unit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ANY_LAST = -1
"""A `last` that matches any: the first event alone identifies the partial match."""
MOST_NOTES = 1 << 16
_FEW_NOTES = 1 << 10
"""The most notes among which those of single orders are searched."""
_TRUST = 4.0
"""The weight of the prior, in lost partial matches: then observed and expected loss weigh the same."""

_ALL_ALIKE = 0.4
_MOST_TIMES, _MOST = 12.0, 0.6
_MORE, _FEW = 5.0, 200


def chances(expected: Floats, share: float, *, alike: bool) -> Floats:
    """The chance (0 to 1) of each partial match to be retained, [n]; `share` is their mean, at most.

    A part of the chance is equal for all; the rest is in proportion to the matches `expected` of each.
    """
    mean = float(expected.mean()) if len(expected) else 0.0
    if alike or mean <= 0:
        return np.full(len(expected), share)
    found: Floats = share * (_ALL_ALIKE + np.minimum((1 - _ALL_ALIKE) * expected / mean, _MOST_TIMES))
    return np.minimum(found, _MOST)


def drawn(seed: int, query: str, first: Ints) -> Floats:
    """[n] a number of [0, 1) for each partial match of a query, by its first event."""
    start = (seed * GOLDEN + (crc32(query.encode()) << 32)) % 2**64
    found: Floats = unit(mixed(first.view(np.uint64) + np.uint64(start)))
    return found


@dataclass
class Note:
    """A partial match that an order before event `at` retained. `last`: the last event that it had bound.

    `until`: the end of its window. `expected`: its matches by the model; `lost`: the matches that it made. `weight`:
    the number of dropped partial matches that it stands for. `alike`: the number of partial matches, itself included,
    with the same first and last event; a match may come of any of them.
    """

    at: int
    last: int
    until: int
    expected: float
    weight: float
    alike: int = 1
    lost: int = 0


@dataclass
class Retained:
    """The notes of one query by first event, and sums over those whose windows are over.

    `expected`, `lost`: matches, by weight. `drawn`: expected of the noted ones alone. `came`: how many were matched.
    `made`: how many were noted ever.
    """

    notes: dict[int, list[Note]] = field(default_factory=dict)
    expected: float = 0.0
    lost: float = 0.0
    drawn: float = 0.0
    came: int = 0
    made: int = 0
    _held: int = 0

    def share(self, wanted: float) -> float:
        """The share of partial matches to drop that is retained: more while there have been few, none at the limit."""
        return 0.0 if self._held >= MOST_NOTES else wanted * min(_MORE, max(1.0, _FEW / (1 + self.made)))

    def are_known(self, first: Ints, last: Ints) -> Flags:
        """[n] whether each partial match was noted, or continues one that was."""
        if not self.notes:
            return np.zeros(len(first), np.bool_)
        begins = np.sort(np.fromiter(self.notes, np.int64, len(self.notes)))
        lasts = np.array([min(one.last for one in self.notes[key]) for key in begins.tolist()])
        place = np.minimum(np.searchsorted(begins, first), len(begins) - 1)
        known: Flags = (begins[place] == first) & ((last == ANY_LAST) | (lasts[place] <= last))
        return known

    def note(
        self, at: int, first: Ints, last: Ints, until: Ints, expected: Floats, weight: Floats, alike: Ints
    ) -> None:
        """Note the partial matches that an order at position `at` retained."""
        columns = (column.tolist() for column in (first, last, until, expected, weight, alike))
        for begins, *rest in zip(*columns, strict=True):
            self.notes.setdefault(begins, []).append(Note(at, *rest))
            self._held += 1
            self.made += 1

    def forget(self, first: Ints) -> None:
        """Forget retained partial matches with these first events, which were dropped after all.

        Their outcome stays unknown. The others that the same orders retained get their weight, in proportion, unless
        more than `_FEW_NOTES` are left.
        """
        gone: dict[int, float] = {}
        for begins in first.tolist():
            for note in self.notes.pop(begins, ()):
                gone[note.at] = gone.get(note.at, 0.0) + note.weight * note.expected
                self._held -= 1
        if not gone or self._held > _FEW_NOTES:
            return
        left: dict[int, list[Note]] = {at: [] for at in gone}
        for note in (note for held in self.notes.values() for note in held if note.at in gone):
            left[note.at].append(note)
        for at, notes in left.items():
            expected = sum(note.weight * note.expected for note in notes)
            for note in notes if expected > 0 else ():
                note.weight *= 1 + gone[at] / expected

    def match(self, seqs: Ints) -> None:
        """Count a match of these events (ascending) for the retained partial matches that led to it."""
        for note in self.notes.get(int(seqs[0]), ()):
            bound = int(seqs[np.searchsorted(seqs, note.at) - 1])
            if note.last in (ANY_LAST, bound):
                note.lost += 1
                return

    def passed(self, clock: int) -> None:
        """Settle the retained partial matches whose windows ended before `clock`: their matches have been reported."""
        over = [first for first, notes in self.notes.items() if all(one.until < clock for one in notes)]
        for first in over:
            for note in self.notes.pop(first):
                self.expected += note.weight * note.expected
                self.lost += note.weight * note.lost / note.alike
                self.drawn += note.expected
                self.came += note.lost > 0
                self._held -= 1

    def corrected(self, loss: float) -> float:
        """The number of lost matches: the model's prediction `loss`, corrected by the retained partial matches."""
        return loss * self.ratio if self.expected > 0 else loss + self.lost

    @property
    def ratio(self) -> float:
        """Lost matches over expected ones; the fewer were noted the nearer to 1."""
        if self.expected <= 0:
            return 1.0
        ratio = self.lost / self.expected
        seen = max(float(self.came), self.drawn / max(1.0, ratio))
        return 1.0 + seen / (seen + _TRUST) * (ratio - 1.0)

    def record(self) -> dict[str, Any]:
        """The notes and sums as JSON, for a snapshot."""
        notes = [[first, *asdict(one).values()] for first, held in self.notes.items() for one in held]
        return {"notes": notes, "sums": [self.expected, self.lost, self.drawn, self.came, self.made]}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Retained:
        """The state that a snapshot's `record` describes."""
        made = cls({}, *record["sums"])
        for first, *note in record["notes"]:
            made.notes.setdefault(int(first), []).append(Note(*note))
            made._held += 1
        return made
