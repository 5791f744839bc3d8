"""`saffron stream`: the sources of events."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import orjson
import typer

from saffron.cli import console, options
from saffron.cli.client import connection
from saffron.cli.durations import milliseconds
from saffron.cli.queries import read_schema
from saffron.cli.standing import stream_row
from saffron.cli.stream_changes import Given, check_format, check_name, put_rekeyed, put_stream
from saffron.runtime.topics import DEFAULT_STREAM

Format = Literal["json", "json-schema", "avro", "protobuf"]

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def stream() -> None:
    """Sources: the topic of a stream, its key, its schema, and how late an event may be."""


@app.command()
@options.of_system
def add(
    name: Annotated[str, typer.Argument(help="The stream's name, as FROM in a query says it.")],
    topic: Annotated[str | None, typer.Option(help="Its topic's full name [default: prefix + NAME].")] = None,
    key: Annotated[str | None, typer.Option(help="The attribute that its messages are keyed by.")] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="STREAM", help="Make it from this stream: its events, under the key given here."
        ),
    ] = None,
    schema: Annotated[Path | None, typer.Option(help="JSON Schema of an event; without one it is inferred.")] = None,
    form: Annotated[Format, typer.Option("--format", help="What its messages are.")] = "json",
    registry: Annotated[
        str | None, typer.Option(metavar="URL", help="The schema registry of avro and protobuf messages.")
    ] = None,
    disorder: Annotated[
        str | None, typer.Option(help="How late an event may be: 500ms, 5s, 2m, 1h [default: 0; --from: as there].")
    ] = None,
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

        saffron stream add bids --topic bids --format avro --registry http://registry:8081

        saffron stream add events_by_sector --from events --key sector --idle 5s
    """
    if schema is not None:
        read_schema(schema)  # a schema that no service could read is refused here
    check_name(name)
    check_format(form, registry)
    given = Given(
        name=name,
        topic=topic,
        key=key,
        schema=None if schema is None else orjson.loads(schema.read_bytes()),
        form=form,
        registry=registry,
        disorder=None if disorder is None else milliseconds(disorder, "--disorder"),
        idle=None if idle is None else milliseconds(idle, "--idle") or None,
        partitions=partitions,
    )
    with connection(system.connected()) as client:
        row, count = put_stream(client, given) if source is None else put_rekeyed(client, given, source)
    if json:
        console.print_json({**row, "partitions": count})
        return
    console.say(f"stream {name}: topic {row['topic']}, {count} partition{'s' if count > 1 else ''}")
    if source is not None and row["idle"] is None:
        console.say(
            f"a partition of {source} that is silent holds {name} back, since an earlier event may come of it: with "
            "--idle 5s the others go on without it"
        )


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
    columns = ("name", "topic", "partitions", "key", "from", "format", "schema", "disorder", "idle")
    shown = [[_cell(name, row.get(name)) for name in columns] for row in rows]
    console.print_table(columns, shown)


def _cell(name: str, value: object) -> object:
    if name == "schema":
        return "inferred" if value is None else "given"
    if name == "format":
        return value or "json"
    if name in ("disorder", "idle"):
        return "-" if value is None else f"{value} ms"
    return "-" if value is None else value
