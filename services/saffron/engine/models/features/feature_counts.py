"""Counts of events by their features (papers G2): occurrences, contributions to matches, and the matches themselves.

Every count is an integer sum over one of two halves of the observations. A utility learned from one half is tried on
the other, so that the promised loss of a model is not measured on the data it was fitted to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.models.features.list_sample import ListSample

WEIGHT = 1024
"""The fixed-point scale of match weights and contributions: an integer count of WEIGHT is one match."""
MOST_KEYS = 1 << 18


@dataclass
class Half:
    """Sums over one half of the observations.

    `occurrences`: events by key. `contributions`: parts of matches by key (see `WEIGHT`). `begun`: the contributions of
    first events of matches. `refusing`: events by which a NOT may refuse, with or without a partial match to refuse.
    `met`: partial matches alive at an event, summed over all events. `matches`: the ascending keys of each match.
    `abandoned`: the keys of each abandoned partial match, and last the key of the event that refused it;
    `event_refusals` estimates these. `positions`: (code of a kind, bin of the position in a window) -> [contributions,
    occurrences], for eSPICE.
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
        """Halve all sums, so that new observations weigh more than old ones (integers stay integers)."""
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
        """Add one observation, a row of `observations.features`.

        Returns False, and adds nothing, for a row of another query, version or specification. Its fields:

        - "query", "query_version", "spec": the identity of the counts.
        - "occurrences": {key: events}.
        - "met": partial matches alive at these events, summed.
        - "begun": {key: matches whose first event has the key}.
        - "refusing": {key: events by which a NOT may refuse}.
        - "matches": [[key, ...], ...], the keys of each listed match.
        - "weight": the matches that each listed one stands for; 1 if missing.
        - "features": {key: vector}.
        - "positions": [[code of a kind, bin, contributions, occurrences], ...].

        Other missing fields are empty. `half`: the half (0 or 1) to add to; None alternates between them.
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
        """The sums of both halves."""
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
    """The sums of several counts by key."""
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
