"""Counts of events by their features (papers G2): occurrences, contributions to matches, and the matches themselves.

Every count is a sum of integers, kept in two halves of the observations. A utility learned from one half is tried on
the other. So the loss that a model promises is not measured on what it was fitted to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.models.features.list_sample import ListSample

WEIGHT = 1024
"""Weights of matches, and contributions, are counted in these parts of one."""
MOST_KEYS = 1 << 18


@dataclass
class Half:
    """Sums over half of the observations, and what is estimated from them.

    `occurrences`: events by key. `contributions`: by key, in parts (see `WEIGHT`). `begun`: the contributions of a
    match's first event, in parts. `refusing`: the occurrences by which a NOT may refuse, whether or not there was
    something to refuse. `met`: partial matches alive when an event came, added up over all events. `matches`: the keys
    of each match, ascending. `abandoned`: the keys of each abandoned partial match, and last the key of the event that
    refused it; it is not observed, but filled in by `event_refusals`. `positions`: (code of a kind, bin of the position
    in a window) -> [contributions, occurrences], for eSPICE.
    """

    occurrences: dict[int, int] = field(default_factory=dict)
    contributions: dict[int, int] = field(default_factory=dict)
    begun: dict[int, int] = field(default_factory=dict)
    refusing: dict[int, int] = field(default_factory=dict)
    met: int = 0
    matches: ListSample = field(default_factory=ListSample)
    abandoned: ListSample = field(default_factory=ListSample)
    positions: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any]) -> None:
        """Add the row of one interval; see `FeatureCounts.add`."""
        for key, count in row.get("occurrences", {}).items():
            _count(self.occurrences, int(key), int(count))
        for key, count in row.get("begun", {}).items():
            _count(self.begun, int(key), round(count * WEIGHT))
        for key, count in row.get("refusing", {}).items():
            _count(self.refusing, int(key), int(count))
        self.met += int(row.get("met", 0))
        parts = round(row.get("weight", 1) * WEIGHT)
        for keys in row.get("matches", ()):
            for key in keys:
                _count(self.contributions, int(key), parts)
            self.matches.add(tuple(sorted(map(int, keys))), parts)
        for code, place, contributions, occurrences in row.get("positions", ()):
            sums = self.positions.setdefault((int(code), int(place)), [0, 0])
            sums[0] += int(contributions)
            sums[1] += int(occurrences)
        while len(self.occurrences) > MOST_KEYS:
            self.halve()

    def halve(self) -> None:
        """Forget half of everything, so that what comes weighs more than what was (integers stay integers)."""
        for counts in (self.occurrences, self.contributions, self.begun, self.refusing):
            _halve(counts)
        self.met //= 2
        self.matches.halve()
        halved = {place: [sums[0] // 2, sums[1] // 2] for place, sums in self.positions.items()}
        self.positions = {place: sums for place, sums in halved.items() if sums[1]}


@dataclass
class FeatureCounts:
    """The counts of one version of a query, under the features of identity `spec`."""

    query: str
    query_version: int
    spec: str
    halves: tuple[Half, Half] = field(default_factory=lambda: (Half(), Half()))
    vectors: dict[int, tuple[int, ...]] = field(default_factory=dict)
    rows: int = 0

    def add(self, row: Mapping[str, Any], half: int | None = None) -> bool:
        """Add a row of `observations.features`. False, and nothing is added, if it is of another query, version or
        spec.

            {"query", "query_version", "spec",
             "occurrences": {key: events},
             "met": partial matches alive at each of these, added up,
             "begun": {key: matches whose first event it was},
             "refusing": {key: events that a NOT may refuse by},
             "matches": [[key, ...], ...], "weight": matches for each one listed,
             "features": {key: vector},
             "positions": [[code of a kind, bin, contributions, occurrences], ...]}

        A missing field is empty; a missing weight is 1. `half`: the half (0 or 1) to add to; None: the halves take
        turns.
        """
        identity = row["query"], int(row["query_version"]), row.get("spec", self.spec)
        if identity != (self.query, self.query_version, self.spec):
            return False
        self.halves[self.rows % 2 if half is None else half].add(row)
        self.rows += 1
        for key, vector in row.get("features", {}).items():
            self.vectors[int(key)] = tuple(int(number) for number in vector)
        return True

    def halve(self) -> None:
        """Forget half of everything, and the vectors of keys that are gone."""
        for half in self.halves:
            half.halve()
        kept = self.halves[0].occurrences.keys() | self.halves[1].occurrences.keys()
        self.vectors = {key: vector for key, vector in self.vectors.items() if key in kept}

    @property
    def observations(self) -> int:
        """Events that were counted."""
        return sum(sum(half.occurrences.values()) for half in self.halves)

    def whole(self) -> Half:
        """Both halves together."""
        together = Half(
            occurrences=added(half.occurrences for half in self.halves),
            contributions=added(half.contributions for half in self.halves),
            begun=added(half.begun for half in self.halves),
            refusing=added(half.refusing for half in self.halves),
            met=sum(half.met for half in self.halves),
            matches=ListSample.together(half.matches for half in self.halves),
        )
        for half in self.halves:
            for place, sums in half.positions.items():
                held = together.positions.setdefault(place, [0, 0])
                held[0] += sums[0]
                held[1] += sums[1]
        return together


def added(parts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """Counts by key of all parts together."""
    together: dict[int, int] = {}
    for part in parts:
        for key, number in part.items():
            _count(together, key, number)
    return together


def _count(counts: dict[int, int], key: int, number: int) -> None:
    counts[key] = counts.get(key, 0) + number


def _halve(counts: dict[int, int]) -> None:
    for key in list(counts):
        counts[key] //= 2
        if not counts[key]:
            del counts[key]
