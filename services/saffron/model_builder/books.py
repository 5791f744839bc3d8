"""The state of the builder between batches, and its update by a batch. It is pure: equal inputs give equal books."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.models.events.event_record import part_key
from saffron.engine.models.transitions.model import LATENCY, TRANSITIONS
from saffron.engine.models.transitions.trainer import TransitionCounts
from saffron.model_builder.cell_sums import MESSAGE, PROCESSING, REFUSED, SHEDDING, Row
from saffron.model_builder.feature_book import FeatureBook, FeatureBooks
from saffron.model_builder.feature_rows import MESSAGE as FEATURE_MESSAGE
from saffron.model_builder.feature_rows import FeatureRow
from saffron.model_builder.latency_book import LatencyBook
from saffron.model_builder.query_book import QueryBook

MOST_OBSERVATIONS = 1 << 32
"""Most observations of a query; above it counts are halved, so that sums never overflow."""
MOST_QUERIES = 1000
"""Most queries, and most streams, with a book; beyond it those not observed for longest are dropped."""
MOST_FEATURES = 64
"""Most queries with a book of features."""


@dataclass
class Books:
    """The state behind batch `batch`. `offsets`: topic -> partition -> next offset. `refused`: invalid cells so far."""

    batch: int = -1
    offsets: dict[str, dict[str, int]] = field(default_factory=dict)
    queries: dict[str, QueryBook] = field(default_factory=dict)
    streams: dict[str, LatencyBook] = field(default_factory=dict)
    refused: int = 0
    features: FeatureBooks = field(default_factory=FeatureBooks)

    def add(self, batch: int, rows: Iterable[Row], features: Sequence[FeatureRow] = ()) -> None:
        """Apply the rows of batch `batch`."""
        self.batch = batch
        for one in features:
            if one.kind == FEATURE_MESSAGE:
                self._reached(one.topic, one.partition, one.next_offset)
        self.refused += self.features.add(batch, features, MOST_FEATURES)
        for row in rows:
            if row.kind == MESSAGE:
                self._reached(row.topic, row.partition, row.next_offset)
            if not self._add(row):
                self.refused += row.messages
        for book in self.queries.values():
            book.close()
            while book.counts.observations > MOST_OBSERVATIONS:
                book.halve()
        self._forget()

    def remove(self, names: Collection[str]) -> None:
        """Drop the books of these queries; a later query of the same name starts anew."""
        for name in names:
            self.queries.pop(name, None)
            self.features.held.pop(name, None)

    def keep_published(self, keys: Collection[bytes]) -> None:
        """Take for published only the models of these keys; those of the other books are due again."""
        for query, book in self.queries.items():
            if f"{query}/{TRANSITIONS}".encode() not in keys:
                book.in_force = None
        for query, features in self.features.held.items():
            if part_key(query, 0) not in keys:
                features.in_force = None
        for stream, latency in self.streams.items():
            if f"@{stream}/{LATENCY}".encode() not in keys:
                latency.published = []

    def _reached(self, topic: str, partition: int, next_offset: int) -> None:
        """Note that a partition has been read up to `next_offset`."""
        parts = self.offsets.setdefault(topic, {})
        parts[str(partition)] = max(parts.get(str(partition), 0), next_offset)

    def _add(self, row: Row) -> bool:
        """Apply one row; False if it is invalid, which changes nothing."""
        if row.kind in (PROCESSING, SHEDDING):
            return self._add_latency(row)
        if row.kind == REFUSED:
            return False
        if row.query is None:
            return row.kind == MESSAGE and row.stream is not None  # a latency message has no query
        book = self._query(row)
        if book is None:
            return False
        if not book.add(row):
            return False
        book.touched = self.batch
        return True

    def _query(self, row: Row) -> QueryBook | None:
        """The book of the row's query; None for an invalid row or an older version.

        A later version, or another automaton, starts a new book.
        """
        if row.query is None or row.query_version is None or row.states is None or row.size is None:
            return None
        fresh = TransitionCounts(row.query, row.query_version, row.states, row.size, bool(row.in_events))
        if row.in_events is None or not fresh.is_sane:
            return None
        known = self.queries.get(row.query)
        if known is not None and known.counts.query_version > fresh.query_version:
            return None
        if known is None or known.counts.shape != fresh.shape:
            known = self.queries[row.query] = QueryBook(fresh, self.batch)
        return known

    def _add_latency(self, row: Row) -> bool:
        """Apply a row of processing or shedding times; False if it is invalid."""
        if row.stream is None or row.a is None or row.count is None or row.load is None or row.time is None:
            return False
        book = self.streams.setdefault(row.stream, LatencyBook())
        book.add(row.kind, row.a, (row.count, row.load, row.time))
        book.touched = self.batch
        return True

    def _forget(self) -> None:
        """Drop the books beyond MOST_QUERIES that were updated longest ago."""
        for names in (self.queries, self.streams):
            extra = len(names) - MOST_QUERIES
            for name in sorted(names, key=lambda name: (names[name].touched, name))[: max(0, extra)]:
                del names[name]

    # ------------------------------------------------------------ as JSON

    def body(self) -> dict[str, Any]:
        """The books as JSON values."""
        return {
            "batch": self.batch,
            "offsets": self.offsets,
            "refused": self.refused,
            "queries": [book.body() for _, book in sorted(self.queries.items())],
            "streams": {name: book.body() for name, book in self.streams.items()},
            "features": [book.body() for _, book in sorted(self.features.held.items())],
        }

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Books:
        """The books of a `body`."""
        queries = [QueryBook.of(one) for one in body["queries"]]
        streams = {name: LatencyBook.of(one) for name, one in body["streams"].items()}
        named = {book.counts.query: book for book in queries}
        features = FeatureBooks({book.counts.query: book for book in map(FeatureBook.of, body["features"])})
        return cls(body["batch"], body["offsets"], named, streams, body["refused"], features)
