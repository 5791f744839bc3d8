"""One batch: update the books, halve old counts, train models that are due, save the books, publish the models.

The books are saved before models are published. If the job is killed in between, Spark repeats the batch from the same
books with the same records. That publishes the same bytes under the same version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from saffron.engine.models.events.event_trainer import train_events
from saffron.engine.models.reader import AnyModel
from saffron.engine.models.transitions.model import LatencyModel
from saffron.engine.models.transitions.trainer import train_latency, train_transitions
from saffron.model_builder.books import Books
from saffron.model_builder.cell_sums import Row
from saffron.model_builder.decay import decay
from saffron.model_builder.due import have_moved, is_event_due, is_partial_due
from saffron.model_builder.feature_rows import FeatureRow
from saffron.model_builder.latency_book import Bins, LatencyBook
from saffron.model_builder.policy import Policy
from saffron.model_builder.store import Store
from saffron.records.envelope import Version

Publish = Callable[[Sequence[AnyModel]], None]
"""A writer of models, which returns when the log has them."""
Removed = Callable[[], frozenset[str]]
"""A source of the names of removed queries."""


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
        self, store: Store, epoch: int, publish: Publish, policy: Policy, removed: Removed = frozenset
    ) -> None:
        self._store = store
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
        decay(books, self._policy)
        models = train(books, (self._epoch, batch), self._policy)
        self._store.keep(books)
        self._publish(models)
        return BatchResult(batch, tuple(models), len(given) + len(features), books.refused - refused)


def train(books: Books, version: Version, policy: Policy) -> list[AnyModel]:
    """The models that are due, of those that the books' batch has updated; the books note them as published."""
    models: list[AnyModel] = []
    for _, query in sorted(books.queries.items()):
        if query.touched != books.batch:
            continue
        times = query.counts.times()
        if is_partial_due(query, times, policy):
            models.append(train_transitions(query.counts, version, books.offsets))
            query.publish(times)
    for stream, latency in sorted(books.streams.items()):
        if latency.touched == books.batch:
            functions = train_latency(
                stream, _sums(latency.processing), _sums(latency.shedding), version, books.offsets
            )
            values = _values(functions, latency)
            if latency.since_halved == 0 or have_moved(values, latency.published, policy.moved):
                latency.published = values
                models.append(functions)
    for _, book in sorted(books.features.held.items()):
        if book.touched == books.batch and is_event_due(book, policy):
            models.append(train_events(book.counts, book.spec, version, books.offsets))
            book.in_force = book.basis()
    return models


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
