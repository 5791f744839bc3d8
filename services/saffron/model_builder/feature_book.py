"""The state of a query's model of events: counts by features, and the basis of the published model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import orjson

from saffron.engine.models.bodies import features_body, features_of
from saffron.engine.models.features.feature_counts import WEIGHT, FeatureCounts, added
from saffron.engine.models.features.features import FeatureError, FeatureSpec
from saffron.model_builder.feature_rows import (
    BEGUN,
    MATCH,
    MESSAGE,
    MET,
    OCCURRENCE,
    POSITION,
    REFUSING,
    SPECIFICATION,
    VECTOR,
    FeatureRow,
)

MOST_KEYS = 1 << 15
"""Most different keys in a half of a query's observations; above it all counts are halved, which drops rare keys."""
MOST_EVENTS = 1 << 26
"""Most events of a query; above it all counts are halved."""
STALE_BATCHES = 30
"""Number of batches without observations after which another specification may replace one."""

_LARGEST = 1 << 64
_RIVAL_MATCHES, _RIVAL_TIMES = 20, 2
"""Another specification may replace one without a model from so many matches on, and so many times as many."""
_MOST_RIVALS = 256
"""Most other specifications whose matches are counted: there is one for each partition, at most."""


@dataclass(frozen=True)
class Basis:
    """The basis of a model of events: occurrences and contributions by key, and the number of events (`observed`).

    Contributions are in parts of one match, see `WEIGHT`.
    """

    occurrences: Mapping[int, int]
    contributions: Mapping[int, int]
    observed: int


@dataclass
class FeatureBook:
    """The state of one query under one specification of features.

    `in_force`: the basis of the model published last, None without one. `touched`: the last batch that updated it.
    `since_halved`: number of batches that updated it since its counts were halved (`decay` counts them). `rivals`:
    matches (in parts, see `WEIGHT`) that came under other specifications while no model was in force.
    """

    counts: FeatureCounts
    spec: FeatureSpec
    touched: int
    in_force: Basis | None = None
    since_halved: int = 0
    rivals: dict[str, int] = field(default_factory=dict)

    def add(self, batch: int, rows: Sequence[FeatureRow]) -> None:
        """Count the rows of a batch; the caller has selected those of this query, version and specification.

        Counts above `MOST_EVENTS` or `MOST_KEYS` are halved.
        """
        self.touched = batch
        for half in (0, 1):
            own = [row for row in rows if row.half == half]
            for content in _contents(own):
                self.counts.add({**self._identity(), **content}, half)
        while self.counts.observations > MOST_EVENTS or self._most_keys() > MOST_KEYS:
            self.halve()

    def yields_to(self, spec: str, rows: Sequence[FeatureRow]) -> bool:
        """True if another specification of the same query shall have the book: no model is in force, and the other one
        has brought more matches. Counts those of `rows`, which are of the other one.

        Events without matches teach nothing. So the specification of a partition where few matches fall must not hold
        the book for ever, while the rows of others are refused.
        """
        if self.in_force is not None:
            self.rivals.clear()
            return False
        brought = sum(row.count for row in rows if row.kind == MATCH)
        if brought and (spec in self.rivals or len(self.rivals) < _MOST_RIVALS):
            self.rivals[spec] = self.rivals.get(spec, 0) + brought
        own = sum(sum(half.matches.lists().values()) for half in self.counts.halves)
        return self.rivals.get(spec, 0) >= max(_RIVAL_MATCHES * WEIGHT, _RIVAL_TIMES * own)

    def halve(self) -> None:
        """Halve all counts. Of the basis in force only `observed` is halved, as its keys are compared by shares."""
        self.counts.halve()
        self.since_halved = 0
        if self.in_force is not None:
            self.in_force = replace(self.in_force, observed=self.in_force.observed // 2)

    def basis(self) -> Basis:
        """The basis of a model that is trained now."""
        occurrences = added(half.occurrences for half in self.counts.halves)
        contributions = added(half.contributions for half in self.counts.halves)
        return Basis(occurrences, contributions, sum(occurrences.values()))

    def body(self) -> dict[str, Any]:
        """The book as JSON values."""
        return {
            "counts": features_body(self.counts),
            "spec": self.spec.body(),
            "touched": self.touched,
            "in_force": None if self.in_force is None else _basis_body(self.in_force),
            "since_halved": self.since_halved,
            "rivals": self.rivals,
        }

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> FeatureBook:
        """The book of a `body`. Books of older builders have no basis in force, and no rivals."""
        spec, in_force = FeatureSpec.of(body["spec"]), body.get("in_force")
        return cls(
            features_of(body["counts"]),
            spec,
            body["touched"],
            None if in_force is None else _basis_of(in_force),
            body.get("since_halved", 0),
            dict(body.get("rivals", {})),
        )

    def _identity(self) -> dict[str, Any]:
        return {"query": self.counts.query, "query_version": self.counts.query_version, "spec": self.counts.spec}

    def _most_keys(self) -> int:
        """The number of different keys in the larger half."""
        return max(len(half.occurrences) for half in self.counts.halves)


@dataclass
class FeatureBooks:
    """The books by query. If partitions chose different features, the specification observed first is kept, unless
    another one brings more matches before it has a model (`FeatureBook.yields_to`).

    Its model, once published, makes the other partitions adopt that specification.
    """

    held: dict[str, FeatureBook] = field(default_factory=dict)

    def add(self, batch: int, rows: Iterable[FeatureRow], most: int) -> int:
        """Apply the rows of a batch, and return the number of invalid rows.

        `most`: of queries with a book. A further query replaces one without observations for long, or gets no book.
        """
        named = [row for row in rows if row.kind != MESSAGE]
        refused = 0
        for identity, group in groupby(sorted(named, key=_order), key=_identity):
            own = list(group)
            book = self._book(identity, own, batch, most)
            if book is None:
                refused += len(own)
            else:
                book.add(batch, own)
        return refused

    def _book(
        self, identity: tuple[str, int, str], rows: Sequence[FeatureRow], batch: int, most: int
    ) -> FeatureBook | None:
        """The book for rows of one identity; None if it is outdated, unknown, or there is no room."""
        query, version, spec = identity
        known = self.held.get(query)
        if known is not None:
            if (known.counts.query_version, known.counts.spec) == (version, spec):
                return known
            if known.counts.query_version > version:
                return None
            fresh = known.counts.query_version == version and batch - known.touched < STALE_BATCHES
            if fresh and not known.yields_to(spec, rows):
                return None
        found = next((parsed for row in rows if row.kind == SPECIFICATION and (parsed := _parsed(row.text))), None)
        if found is None or found.identity != spec:
            return None
        if known is None and not self._has_room(batch, most):
            return None
        made = self.held[query] = FeatureBook(FeatureCounts(query, version, spec), found, batch)
        return made

    def _has_room(self, batch: int, most: int) -> bool:
        """True if one more book fits; a stale one is dropped to make room."""
        if len(self.held) < most:
            return True
        oldest = min(self.held, key=lambda name: (self.held[name].touched, name))
        if batch - self.held[oldest].touched < STALE_BATCHES:
            return False
        del self.held[oldest]
        return True


def _basis_body(basis: Basis) -> dict[str, Any]:
    return {
        "occurrences": {str(key): count for key, count in sorted(basis.occurrences.items())},
        "contributions": {str(key): parts for key, parts in sorted(basis.contributions.items())},
        "observed": basis.observed,
    }


def _basis_of(body: Mapping[str, Any]) -> Basis:
    occurrences, contributions = (
        {int(key): count for key, count in body[name].items()} for name in ("occurrences", "contributions")
    )
    return Basis(occurrences, contributions, body["observed"])


def _contents(rows: Sequence[FeatureRow]) -> list[dict[str, Any]]:
    """The rows of one half as bodies for `FeatureCounts.add`: the sums, then matches grouped by their weight."""
    counted: dict[str, dict[int, int]] = {OCCURRENCE: {}, BEGUN: {}, REFUSING: {}}
    met = 0
    vectors: dict[int, list[int]] = {}
    positions: list[list[int]] = []
    matches: dict[int, list[list[int]]] = {}
    for row in rows:
        keys = [int(key) for key in row.key.split(",") if key]
        if row.kind == POSITION:
            positions.append([row.a, row.b, row.count, row.occurred])
        elif row.kind == MET:
            met += row.count
        elif not keys or max(keys) >= _LARGEST:
            continue
        elif row.kind in counted:
            counts = counted[row.kind]
            counts[keys[0]] = counts.get(keys[0], 0) + row.count
        elif row.kind == VECTOR:
            vectors[keys[0]] = [int(number) for number in row.text.split(",") if number]
        elif row.kind == MATCH and row.count:
            matches.setdefault(row.count, []).append(keys)
    sums: dict[str, Any] = {
        "occurrences": counted[OCCURRENCE],
        "begun": counted[BEGUN],
        "refusing": counted[REFUSING],
        "met": met,
        "features": vectors,
        "positions": positions,
    }
    return [sums, *({"matches": found, "weight": weight / WEIGHT} for weight, found in matches.items())]


def _parsed(text: str) -> FeatureSpec | None:
    """The specification in a text, None for an invalid one."""
    try:
        return FeatureSpec.of(orjson.loads(text))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, FeatureError):
        return None


def _identity(row: FeatureRow) -> tuple[str, int, str]:
    """(query, version, specification) of a row, with defaults for nulls; the rows of a book have the same."""
    return row.query or "", row.query_version if row.query_version is not None else -1, row.spec or ""


def _order(row: FeatureRow) -> tuple[tuple[str, int, str], int, str]:
    """The sort key of rows, so that equal batches are applied in one order."""
    return _identity(row), row.partition, repr(row)
