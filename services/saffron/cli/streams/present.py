"""The streams of a system, as commands see and change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from saffron.cli.client import Client
from saffron.cli.record_changes import RecordChanges
from saffron.control.checks import Refused
from saffron.control.streams.change import StreamContext, StreamPlan
from saffron.control.streams.used_topics import UsedTopics
from saffron.control.tables import Tables
from saffron.errors import InputError
from saffron.runtime.streams.known_streams import KnownStreams

T = TypeVar("T")


def present(client: Client) -> StreamContext:
    """The facts by which a change of a stream is judged."""
    texts = {name: record.text for name, record in client.queries().items()}
    return _context(client, client.known_streams(), texts)


def written(client: Client, plan: Callable[[StreamContext], StreamPlan]) -> tuple[StreamPlan, StreamContext]:
    """A change of a stream, made and written, with the facts by which it was judged. InputError: it is refused."""
    tables = Tables(client.topics, client.settings.latency_bound_ms)

    def make() -> tuple[StreamPlan, StreamContext]:
        now = _context(client, tables.streams, tables.queries.texts())
        found = checked(lambda: plan(now))
        client.log.create_topics(found.topics)
        return found, now

    changes = RecordChanges(client, tables)
    return changes.change(client.topics.streams, make, lambda made: made[0].record if made[0].is_change else None)


def _context(client: Client, known: KnownStreams, texts: Mapping[str, str]) -> StreamContext:
    """The facts by which a change is judged. `texts`: of the queries by name."""
    settings = client.settings
    return StreamContext(
        prefix=settings.prefix,
        streams=known.all(),
        partitions=client.log.partitions,
        used=UsedTopics(client.log, settings.group("streams")),
        disorder=settings.disorder_ms,
        idle=settings.idle_ms or None,
        unreadable=frozenset(known.records.unreadable),
        schema=known.schema,
        queries=texts,
        topics=client.log.topics,
        next_offset=known.next_offset,
    )


def checked(act: Callable[[], T]) -> T:
    """The result of `act`. InputError: the change is refused."""
    try:
        return act()
    except Refused as refused:
        raise InputError(str(refused)) from refused
