"""`saffron tail`: the messages of a topic as JSON lines, present and coming ones."""

from __future__ import annotations

import base64
import sys
import time
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import orjson
import typer

from saffron.cli import console, options
from saffron.cli.client import Client, connection
from saffron.cli.parsed import number_option
from saffron.cli.queries.standing import read_standing
from saffron.errors import LogError
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.log.topics import topic_files

_BATCH = 1000
_WAIT = 0.2


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
        names = [full_name(client, name) for name in topics or _result_topics(client)]
        shown = 0
        for record in follow(client, names, start == "earliest", timeout, end):
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


def follow(client: Client, topics: list[str], earliest: bool, timeout: float | None, end: bool) -> Iterator[Record]:
    """The committed records of topics, from the earliest or from now on, until the end, a silence, or for ever."""
    consumer = client.log.consumer(client.settings.group("tail"), committed_only=True, client_id="tail")
    try:
        where = [TopicPartition(name, one) for name in topics for one in range(client.partitions(name))]
        consumer.assign({one: consumer.watermarks(one)[0 if earliest else 1] for one in where})
        last = time.monotonic()
        while True:
            records = consumer.poll(_BATCH, _WAIT)
            yield from records
            if records:
                last = time.monotonic()
                continue
            sys.stdout.flush()
            if end and all(consumer.at_end(one) for one in where):
                return
            if timeout is not None and time.monotonic() - last > timeout:
                return
    finally:
        consumer.close()


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


def _result_topics(client: Client) -> list[str]:
    """The topics in which the results of the standing queries stand."""
    from saffron.language.syntax.delivery import topics_of  # here, for only this needs the language

    published = topics_of(one.record.text for one in read_standing(client).values())
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
