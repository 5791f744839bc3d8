"""One batch: books forward, models trained where they have moved, published, and the books kept.

The books are kept before the models are published: whatever kills the job in between, the batch is done again from the
same books with the same records, and publishes the same bytes under the same version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from saffron.engine.models.envelope import Version
from saffron.engine.models.event_trainer import train_events
from saffron.engine.models.feature_counts import WEIGHT
from saffron.engine.models.model import LatencyModel
from saffron.engine.models.reader import AnyModel
from saffron.engine.models.trainer import distribution_drift, drift, train_latency, train_transitions
from saffron.model_builder.books import Bins, Books, LatencyBook
from saffron.model_builder.feature_book import FeatureBook
from saffron.model_builder.feature_rows import FeatureRow
from saffron.model_builder.query_book import QueryBook
from saffron.model_builder.rows import Row
from saffron.model_builder.store import Store

Publish = Callable[[Sequence[AnyModel]], None]
"""Writes models and returns when the log has them."""


@dataclass(frozen=True)
class Policy:
    """When a model is trained and published.

    `observations`: eta, events that partial matches of a query must have met before its first model. `drift`: mean
    squared error of the transition matrix against the one in use from which on a new model is published (P6).
    `moved`: relative change of a window's expected events, or of a latency function, that is worth a new model;
    `slower`: of what an event takes in one state against others.
    `events`, `matches`: events of a query, and matches, from which on a model says what they are worth; then a new
    one when the distribution of their features has moved by `shifted` (total variation), or they are `more` times as
    many.
    """

    observations: int = 1000
    drift: float = 1e-5
    moved: float = 0.05
    slower: float = 0.5
    events: int = 2000
    matches: int = 20
    shifted: float = 0.1
    more: float = 2.0


@dataclass(frozen=True)
class Done:
    """What a batch did."""

    batch: int
    models: tuple[AnyModel, ...]
    rows: int
    refused: int


class Batches:
    """Carries out batches of one checkpoint."""

    def __init__(self, store: Store, epoch: int, publish: Publish, policy: Policy) -> None:
        self._store = store
        self._epoch = epoch
        self._publish = publish
        self._policy = policy

    def run(self, batch: int, rows: Iterable[Row], features: Sequence[FeatureRow] = ()) -> Done:
        """Batch `batch` of Spark's numbering; may be called again for the same one. StoreError, LogError."""
        books = self._store.before(batch)
        refused = books.refused
        given = list(rows)
        books.add(batch, given, features)
        models = train(books, (self._epoch, batch), self._policy)
        self._store.keep(books)
        self._publish(models)
        return Done(batch, tuple(models), len(given) + len(features), books.refused - refused)


def train(books: Books, version: Version, policy: Policy) -> list[AnyModel]:
    """Models of what the books' batch has touched and moved; the books note them as published."""
    models: list[AnyModel] = []
    for _, query in sorted(books.queries.items()):
        if query.touched != books.batch:
            continue
        times = query.counts.times()
        if _is_due(query, times, policy):
            model = train_transitions(query.counts, version, books.offsets)
            query.published, query.published_window = model.matrix, model.expected_events
            query.published_times = times
            models.append(model)
    for stream, latency in sorted(books.streams.items()):
        if latency.touched == books.batch:
            functions = train_latency(
                stream, _sums(latency.processing), _sums(latency.shedding), version, books.offsets
            )
            values = _values(functions, latency)
            if _have_moved(values, latency.published, policy.moved):
                latency.published = values
                models.append(functions)
    for _, book in sorted(books.features.held.items()):
        if book.touched == books.batch and _has_shifted(book, policy):
            models.append(train_events(book.counts, book.spec, version, books.offsets))
            book.published, book.observed = book.occurrences(), book.counts.observations
    return models


def _has_shifted(book: FeatureBook, policy: Policy) -> bool:
    counts = book.counts
    matches = sum(sum(half.matches.lists().values()) for half in counts.halves)
    if counts.observations < policy.events or matches < policy.matches * WEIGHT:
        return False
    if book.published is None or counts.observations >= policy.more * book.observed:
        return True
    return distribution_drift(book.occurrences(), book.published) >= policy.shifted


def _is_due(query: QueryBook, times: Sequence[float], policy: Policy) -> bool:
    counts = query.counts
    if not counts.is_trainable or counts.met < policy.observations:
        return False
    if _have_moved([counts.expected_events()], [query.published_window], policy.moved):
        return True
    if _have_moved(_shares(times), _shares(query.published_times), policy.slower):
        return True
    return drift(counts.matrix(), query.published) >= policy.drift


def _shares(times: Sequence[float]) -> list[float]:
    """Times by their mean, those that hardly count left out: what tells whether utilities have moved."""
    mean = sum(times) / max(1, len(times))
    return [max(time, mean / 10) / mean for time in times] if mean > 0 else []


def _sums(bins: Bins) -> list[list[int]]:
    return [sums for _, sums in sorted(bins.items())]


def _values(model: LatencyModel, book: LatencyBook) -> list[float]:
    """f and g at no partial matches and at the most that were seen: what tells whether the functions have moved."""
    values = []
    for function, bins in ((model.processing, book.processing), (model.shedding, book.shedding)):
        most = max((load / events for events, load, _ in bins.values()), default=0.0)
        values += [-1.0, -1.0] if function is None else [function(0.0), function(most)]
    return values


def _have_moved(values: Sequence[float], before: Sequence[float], share: float) -> bool:
    if len(values) != len(before):
        return True
    return any(abs(new - old) > share * max(abs(old), 1e-9) for new, old in zip(values, before, strict=True))
