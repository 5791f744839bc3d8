"""The state of a system's streams, as commands read it before they change one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from saffron.cli.client import Client
from saffron.control.checks import Refused
from saffron.control.streams.change import StreamContext
from saffron.control.streams.used_topics import UsedTopics
from saffron.errors import InputError

T = TypeVar("T")


def present(client: Client) -> StreamContext:
    """The facts by which a change of a stream is judged."""
    settings, known = client.settings, client.known_streams()
    return StreamContext(
        prefix=settings.prefix,
        streams=known.all(),
        partitions=client.log.partitions,
        used=UsedTopics(client.log, settings.group("streams")),
        disorder=settings.disorder_ms,
        idle=settings.idle_ms or None,
        unreadable=frozenset(known.records.unreadable),
        schema=known.schema,
        queries={name: record.text for name, record in client.queries().items()},
        topics=client.log.topics,
    )


def checked(act: Callable[[], T]) -> T:
    """The result of `act`. InputError: the change is refused."""
    try:
        return act()
    except Refused as refused:
        raise InputError(str(refused)) from refused
