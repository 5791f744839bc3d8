"""`saffron tail`: the messages of a topic as JSON lines, present and coming ones."""

from __future__ import annotations

import base64
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

import orjson
import typer

from saffron.cli import console, options
from saffron.cli.client import Client, connection
from saffron.cli.parsed import number_option
from saffron.errors import LogError
from saffron.runtime.log import Consumer, Record, TopicPartition
from saffron.runtime.log.topics import topic_files
from saffron.runtime.process.clock_watch import wall_ms

_BATCH = 1000
_WAIT = 0.2
_LOOK = 5.0
"""Seconds between looks for new partitions and topics."""

Topics = Callable[[], Sequence[str]]
"""Full names of topics, as they are when it is called."""


@options.of_system
def tail(
    topics: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPIC]...",
            help="complex-events, trends, dead-letters, a topic of PUBLISH, ... [default: all results]",
        ),
    ] = None,
    start: Annotated[
        Literal["now", "earliest"], typer.Option("--from", help="What comes from now on, or all that is still there.")
    ] = "now",
    count: Annotated[int | None, typer.Option(min=1, help="Stop after so many.")] = None,
    timeout: Annotated[float | None, number_option("Stop when nothing came for so many seconds.")] = None,
    end: Annotated[bool, typer.Option("--end", help="Stop at the end of what is there.")] = False,
    *,
    system: options.System,
) -> None:
    """Print the messages of topics as JSON lines: committed ones only, each topic's partitions in their order.

    With `--count`, the status is 1 if fewer came before the timeout.

    Examples:

        saffron tail

        saffron tail complex-events --from earliest --count 10

        saffron tail dead-letters --from earliest --end
    """
    with connection(system.connected()) as client:
        shown = 0
        for record in follow(client, _named(client, topics or []), start == "earliest", timeout, end):
            sys.stdout.buffer.write(line(record) + b"\n")
            shown += 1
            if shown == count:
                break
            if shown % _BATCH == 0:
                sys.stdout.buffer.flush()
        sys.stdout.buffer.flush()
    if count is not None and shown < count:
        console.say(f"{shown} of {count} came")
        raise typer.Exit(1)


def follow(client: Client, topics: Topics, earliest: bool, timeout: float | None, end: bool) -> Iterator[Record]:
    """The committed records of topics, from the earliest or from now on, until the end, a silence, or for ever.

    `topics`: their names, asked for again from time to time.
    """
    consumer = client.log.consumer(client.settings.group("tail"), committed_only=True, client_id="tail")
    try:
        places = _Places(client, consumer, topics, earliest=earliest)
        last = looked = time.monotonic()
        while True:
            records = consumer.poll(_BATCH, _WAIT)
            yield from records
            places.read(records)
            now = time.monotonic()
            if not end and now - looked >= _LOOK:
                looked = now
                places.look()
            if records:
                last = now
                continue
            sys.stdout.flush()
            if end and all(consumer.at_end(one) for one in places.next):
                return
            if timeout is not None and now - last > timeout:
                return
    finally:
        consumer.close()


class _Places:
    """The partitions that are followed. `next`: the offset to be read next in each."""

    def __init__(self, client: Client, consumer: Consumer, topics: Topics, *, earliest: bool) -> None:
        self._client = client
        self._consumer = consumer
        self._topics = topics
        self._earliest = earliest
        self._looked = wall_ms()
        where = [TopicPartition(name, one) for name in topics() for one in range(client.partitions(name))]
        self.next = {one: consumer.watermarks(one)[0 if earliest else 1] for one in where}
        consumer.assign(self.next)

    def read(self, records: Sequence[Record]) -> None:
        """Notes what has been read."""
        for record in records:
            self.next[record.where] = record.offset + 1

    def look(self) -> None:
        """Takes up partitions and topics that are new. Where the log does not answer, the next look finds them."""
        now, followed = wall_ms(), {one.topic for one in self.next}
        with suppress(LogError):
            where = [
                TopicPartition(name, one)
                for name in self._topics()
                for one in range(self._client.log.partitions(name) or 0)
            ]
            new = {one: self._begin(one, followed) for one in where if one not in self.next}
            if new:
                self.next |= new
                self._consumer.assign(self.next)
            self._looked = now

    def _begin(self, where: TopicPartition, followed: Collection[str]) -> int:
        """Where a new partition is read from: in a topic that is followed all of it, else what came since the last
        look.
        """
        if self._earliest or where.topic in followed:
            return self._consumer.watermarks(where)[0]
        return self._consumer.offset_at(where, self._looked)


def line(record: Record) -> bytes:
    """A message as one JSON line: a JSON object as it is, any other value wrapped with its place."""
    from saffron.runtime.result_formats.reading import result_json  # here, for it brings NumPy along

    value = result_json(record)
    if value is not None and b"\n" not in value:
        return value
    value = record.value
    body: dict[str, Any] = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
    body["key"] = None if record.key is None else record.key.decode("utf-8", "replace")
    try:
        body["value"] = None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        body["value"] = {"base64": base64.b64encode(value or b"").decode()}
    return orjson.dumps(body)


def _named(client: Client, topics: Sequence[str]) -> Topics:
    """The full names of topics; without any those of all results that there are, which change with the queries."""
    names = [full_name(client, name) for name in topics]

    def results() -> list[str]:
        found = [client.topics.named(name) if name in topic_files() else name for name in _result_topics(client)]
        return [name for name in found if client.log.partitions(name) is not None]

    return (lambda: names) if topics else results


def _result_topics(client: Client) -> list[str]:
    """The topics in which the results of the standing queries stand."""
    from saffron.language.syntax.delivery import topics_of  # here, for only this needs the language

    published = topics_of(one.text for one in client.queries().values())
    return ["complex-events", "trends", *sorted(published)]


def full_name(client: Client, name: str) -> str:
    """The full name of a topic, from its short or full name."""
    if name in topic_files():
        return client.topics.named(name)
    if client.log.partitions(name) is None:
        from saffron.runtime.streams.unknown_names import no_topic  # here, for only this needs the language

        known = [*topic_files(), *_result_topics(client), *client.log.topics()]
        raise LogError(no_topic(name, known, at=client.settings.bootstrap))
    return name
