"""`saffron stream`: the sources of events."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from saffron.cli import console, options
from saffron.cli.client import Client, connection
from saffron.cli.durations import milliseconds
from saffron.cli.queries import read_schema
from saffron.cli.standing import stream_row
from saffron.errors import InputError
from saffron.runtime.topics import DEFAULT_STREAM, stream_topics, topic_files

app = typer.Typer(no_args_is_help=True)


@app.callback()
def stream() -> None:
    """Sources: the topic of a stream, its key, its schema, and how late an event may be."""


@app.command()
@options.of_system
def add(
    name: Annotated[str, typer.Argument(help="The stream's name, as FROM in a query says it.")],
    topic: Annotated[str | None, typer.Option(help="Its topic's full name [default: prefix + NAME].")] = None,
    key: Annotated[str | None, typer.Option(help="The attribute that its messages are keyed by.")] = None,
    schema: Annotated[Path | None, typer.Option(help="JSON Schema of an event; without one it is inferred.")] = None,
    disorder: Annotated[str, typer.Option(help="How late an event may be: 500ms, 5s, 2m, 1h.")] = "0",
    idle: Annotated[
        str | None, typer.Option(help="A partition read to its end for this long follows the others' watermark.")
    ] = None,
    partitions: Annotated[int | None, typer.Option(min=1, help="Create the topic with so many partitions.")] = None,
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Add a stream, or change its key, schema and bounds. The default stream, `events`, exists from the start.

    Examples:

        saffron stream add trades --topic trades --key symbol --schema trade.schema.json --disorder 2s

        saffron stream add events --key symbol --idle 5s
    """
    if schema is not None:
        read_schema(schema)  # a schema that no service could read is refused here
    late = milliseconds(disorder, "--disorder")
    silent = None if idle is None else milliseconds(idle, "--idle") or None
    with connection(system.connected()) as client:
        source = topic or (stream_row(client, name) or {}).get("topic") or client.settings.prefix + name
        count = _source(client, source, partitions)
        client.log.create_topics([] if name == DEFAULT_STREAM else stream_topics(client.settings.prefix, name, count))
        row: dict[str, Any] = {
            "name": name,
            "topic": source,
            "key": key,
            "schema": None if schema is None else orjson.loads(schema.read_bytes()),
            "disorder": late,
            "idle": silent,
        }
        client.put(client.topics.streams, name, row)
    if json:
        console.print_json({**row, "partitions": count})
    else:
        console.say(f"stream {name}: topic {source}, {count} partition{'s' if count > 1 else ''}")


@app.command("list")
@options.of_system
def list_streams(*, system: options.System, json: options.AsJson = False) -> None:
    """List the streams.

    Examples:

        saffron stream list --json
    """
    with connection(system.connected()) as client:
        names = sorted({DEFAULT_STREAM, *client.table(client.topics.streams)})
        rows = [dict(stream_row(client, name) or {}) for name in names]
        for row in rows:
            row["partitions"] = client.log.partitions(row["topic"])
    if json:
        console.print_json(rows)
        return
    columns = ("name", "topic", "partitions", "key", "schema", "disorder", "idle")
    shown = [[_cell(name, row[name]) for name in columns] for row in rows]
    console.print_table(columns, shown)


def _source(client: Client, topic: str, partitions: int | None) -> int:
    """Number of partitions of the source topic, which is created if `partitions` says how."""
    there = client.log.partitions(topic)
    if there is None and partitions is None:
        raise InputError(f"topic {topic!r} does not exist: name another with --topic, or create it with --partitions N")
    if there is None and partitions is not None:
        client.log.create_topics([topic_files()["events"].spec(topic, partitions)])
        return partitions
    return int(there or 0)


def _cell(name: str, value: object) -> object:
    if name == "schema":
        return "inferred" if value is None else "given"
    if name in ("disorder", "idle"):
        return "-" if value is None else f"{value} ms"
    return "-" if value is None else value
