"""One batch: update the books, halve old counts, train models that are due, save the books, publish the models.

The books are saved before models are published. If the job is killed in between, Spark repeats the batch from the same
books with the same records. That publishes the same bytes under the same version.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from saffron.engine.models.events.event_trainer import train_events
from saffron.engine.models.features.event_model import EVENTS, EventModel
from saffron.engine.models.reader import AnyModel
from saffron.engine.models.transitions.model import LatencyModel, TransitionModel
from saffron.engine.models.transitions.trainer import train_latency, train_transitions
from saffron.model_builder.books import Books
from saffron.model_builder.cell_sums import Row
from saffron.model_builder.decay import decay
from saffron.model_builder.due import have_moved, is_event_due, is_partial_due
from saffron.model_builder.feature_book import FeatureBook
from saffron.model_builder.feature_rows import FeatureRow
from saffron.model_builder.latency_book import Bins, LatencyBook
from saffron.model_builder.policy import Policy
from saffron.model_builder.query_book import QueryBook
from saffron.model_builder.store import Store
from saffron.records.envelope import Version

_LOG = logging.getLogger(__name__)

Publish = Callable[[Sequence[AnyModel]], None]
"""A writer of models, which returns when the log has them."""
Removed = Callable[[], frozenset[str]]
"""A source of the names of removed queries."""
InTopic = Callable[[int], Collection[bytes] | None]
"""A source of the keys of the models in the topic, before a batch; None: those that the books say."""


@dataclass(frozen=True)
class BatchResult:
    """The result of a batch: its published models, numbers of rows and of refused cells."""

    batch: int
    models: tuple[AnyModel, ...]
    rows: int
    refused: int


class Batches:
    """The processor of one checkpoint's batches. `epoch`: of the checkpoint, the first part of models' versions."""

    def __init__(
        self,
        store: Store,
        epoch: int,
        publish: Publish,
        policy: Policy,
        removed: Removed = frozenset,
        in_topic: InTopic = lambda batch: None,
    ) -> None:
        self._store = store
        self._in_topic = in_topic
        self._removed = removed
        self._epoch = epoch
        self._publish = publish
        self._policy = policy

    def run(self, batch: int, rows: Iterable[Row], features: Sequence[FeatureRow] = ()) -> BatchResult:
        """Process batch `batch` of Spark's numbering; it is idempotent. Raises StoreError, LogError."""
        books = self._store.before(batch)
        refused = books.refused
        given = list(rows)
        books.add(batch, given, features)
        books.remove(self._removed())
        if (keys := self._in_topic(batch)) is not None:
            books.keep_published(keys)
        decay(books, self._policy)
        models = train(books, (self._epoch, batch), self._policy)
        self._store.keep(books)
        self._publish(models)
        return BatchResult(batch, tuple(models), len(given) + len(features), books.refused - refused)


def train(books: Books, version: Version, policy: Policy) -> list[AnyModel]:
    """The models that are due, of those that the books' batch has updated; the books note them as published.

    What cannot be learned from is logged, and tried again with the next counts: the other models do not wait for it.
    """
    models: list[AnyModel] = []
    for name, made in _due(books, version, policy):
        try:
            model = made()
        except Exception:
            _LOG.exception("model of %s: left out, for its observations cannot be learned from", name)
            continue
        models += [] if model is None else [model]
    return models


def _due(books: Books, version: Version, policy: Policy) -> Iterator[tuple[str, Callable[[], AnyModel | None]]]:
    """The name of each book that the batch has updated, and the maker of its model; it returns None if none is due."""
    for query, counts in sorted(books.queries.items()):
        if counts.touched == books.batch:
            yield query, partial(_transitions, books, counts, version, policy)
    for stream, latency in sorted(books.streams.items()):
        if latency.touched == books.batch:
            yield f"@{stream}", partial(_latency, books, stream, latency, version, policy)
    for query, features in sorted(books.features.held.items()):
        if features.touched == books.batch:
            yield f"{query}/{EVENTS}", partial(_events, books, features, version, policy)


def _transitions(books: Books, book: QueryBook, version: Version, policy: Policy) -> TransitionModel | None:
    times = book.counts.times()
    if not is_partial_due(book, times, policy):
        return None
    model = train_transitions(book.counts, version, books.offsets)
    book.publish(times)
    return model


def _latency(books: Books, stream: str, book: LatencyBook, version: Version, policy: Policy) -> LatencyModel | None:
    functions = train_latency(stream, _sums(book.processing), _sums(book.shedding), version, books.offsets)
    values = _values(functions, book)
    if book.since_halved and not have_moved(values, book.published, policy.moved):
        return None
    book.published = values
    return functions


def _events(books: Books, book: FeatureBook, version: Version, policy: Policy) -> EventModel | None:
    if not is_event_due(book, policy):
        return None
    model = train_events(book.counts, book.spec, version, books.offsets)
    book.in_force = book.basis()
    return model


def _sums(bins: Bins) -> list[list[int]]:
    """The sums of all bins, in the order of the bins."""
    return [sums for _, sums in sorted(bins.items())]


def _values(model: LatencyModel, book: LatencyBook) -> list[float]:
    """Samples of f and g, without partial matches and at the highest load seen, to compare with published ones."""
    values = []
    for function, bins in ((model.processing, book.processing), (model.shedding, book.shedding)):
        most = max((load / events for events, load, _ in bins.values()), default=0.0)
        values += [-1.0, -1.0] if function is None else [function(0.0), function(most)]
    return values
