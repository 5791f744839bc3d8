"""`saffron stream`: the sources of events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
import typer

from saffron.cli import console, options
from saffron.cli.client import Client, connection
from saffron.cli.parsed import duration_option, number_option, registry_url, stream_name, topic_name
from saffron.cli.queries.standing import read_standing
from saffron.cli.queries.texts import bind_text
from saffron.cli.streams import applied, definition
from saffron.cli.streams.present import checked, present, written
from saffron.cli.streams.rows import cell, differences, shown_row
from saffron.control.streams.add_command import add_command
from saffron.control.streams.bodies import topics_of
from saffron.control.streams.change import StreamChange, StreamContext, StreamPlan
from saffron.control.streams.stream_changes import (
    begins_anew,
    check_removal,
    left_topics,
    plan_anew,
    plan_change,
    plan_update,
)
from saffron.counted import counted
from saffron.durations import as_option
from saffron.errors import InputError, QueryError
from saffron.mapping.schema_file import schema_at
from saffron.records.status import ENDED, QueryStatus
from saffron.records.stream import StreamRecord
from saffron.records.version import version_key

Format = Literal["json", "json-schema", "avro", "protobuf"]
Name = Annotated[str, typer.Argument(help="The stream's name, as FROM in a query says it.")]
Key = Annotated[str | None, typer.Option(help="The attribute that its messages are keyed by.")]
SchemaFile = Annotated[Path | None, typer.Option(help="JSON Schema of an event; without one it is inferred.")]
RegistryUrl = Annotated[
    str | None,
    typer.Option(parser=registry_url, metavar="URL", help="The schema registry of avro and protobuf messages."),
]
Disorder = Annotated[
    int | None, duration_option("How late an event may be: 500ms, 5s, 2m, 1h [default: 0; --from: as there].")
]
Idle = Annotated[
    int | None, duration_option("A partition read to its end for this long follows the others' watermark; 0: never.")
]
Silence = Annotated[
    int | None,
    duration_option("When nothing came for this long to any partition, event time goes on with the clock; 0: never."),
]

app = typer.Typer(add_completion=False, rich_markup_mode="markdown", no_args_is_help=True)
app.command()(definition.infer)
app.command()(definition.check)
app.command()(applied.apply)
app.command()(applied.show)


@app.callback()
def stream() -> None:
    """Sources: the topic of a stream, its key, its schema, and how late an event may be."""


@app.command()
@options.of_system
def add(
    name: Annotated[
        str, typer.Argument(parser=stream_name, metavar="NAME", help="The stream's name, as FROM says it.")
    ],
    topic: Annotated[
        str | None,
        typer.Option(parser=topic_name, metavar="TOPIC", help="Its topic's full name [default: prefix + NAME]."),
    ] = None,
    key: Key = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="STREAM", help="Make it from this stream: its events, under the key given here."
        ),
    ] = None,
    schema: SchemaFile = None,
    form: Annotated[
        Format | None, typer.Option("--format", help="What its messages are [default: json; --from: as there].")
    ] = None,
    registry: RegistryUrl = None,
    disorder: Disorder = None,
    idle: Idle = None,
    silence: Silence = None,
    partitions: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Create the topic with so many partitions.")
    ] = None,
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Add a stream. Of one that is there change what is said here, and nothing else (as `stream set` does).

    The default stream, `events`, exists from the start.

    Examples:

        saffron stream add trades --topic trades --key symbol --schema trade.schema.json --disorder 2s

        saffron stream add bids --topic bids --format avro --registry http://registry:8081

        saffron stream add events_by_sector --from events --key sector --idle 5s
    """
    change = StreamChange(
        name, topic, key, source, _schema(schema), form, registry, disorder, idle, partitions, silence
    )
    with connection(system.connected()) as client:
        _put(client, plan_change, change, json)


@app.command("set")
@options.of_system
def set_stream(
    name: Name,
    key: Key = None,
    schema: SchemaFile = None,
    registry: RegistryUrl = None,
    disorder: Disorder = None,
    idle: Idle = None,
    silence: Silence = None,
    topic: Annotated[str | None, typer.Option(parser=topic_name, hidden=True)] = None,
    source: Annotated[str | None, typer.Option("--from", hidden=True)] = None,
    form: Annotated[Format | None, typer.Option("--format", hidden=True)] = None,
    partitions: Annotated[int | None, typer.Option(min=1, max=10_000, hidden=True)] = None,
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Change the given settings of a stream, and nothing else.

    A key can be given where none was, by which producers key the messages; a schema can grow. Topic, format and the
    number of partitions stay: add another stream for those.

    Examples:

        saffron stream set events --idle 5s

        saffron stream set heartbeats --silence 30s

        saffron stream set trades --disorder 2s --schema trade-v2.schema.json
    """
    change = StreamChange(  # what stays is refused with the way out, where it differs
        name, topic, key, source, _schema(schema), form, registry, disorder, idle, partitions, silence
    )
    with connection(system.connected()) as client:
        _put(client, plan_update, change, json)


@app.command()
@options.of_system
def remove(
    name: Name,
    *,
    system: options.System,
    timeout: Annotated[float, number_option("Seconds to wait until its queries have ended.")] = 60.0,
    json: options.AsJson = False,
) -> None:
    """Remove a stream. Its queries end, and begin anew if a stream of the name is added; results stay where they are.

    The default stream, `events`, always exists: it begins anew at once, with its settings.

    Examples:

        saffron stream remove trades
    """
    with connection(system.connected()) as client:
        now = present(client)
        record = checked(lambda: check_removal(name, now))
        queries = [] if begins_anew(name) else _over(client, name)
        if begins_anew(name):
            written(client, lambda now: plan_anew(name, now))
        else:
            client.put(client.topics.streams, name, None)
        console.step(f"waiting until its queries have ended: {', '.join(queries)}" if queries else "removed")
        waiting = _wait_until_ended(client, name, queries, timeout)
        client.put(client.topics.streams, version_key(record.stem), None)
        topics = [one for one in left_topics(record, client.topics) if client.log.partitions(one) is not None]
        again = "" if name in now.unreadable else _adds_again(record, client)
    console.done()
    if json:
        console.print_json({"name": name, "removed": not begins_anew(name), "ended": queries, "topics": topics})
    elif begins_anew(name):
        console.say(
            f"stream {name} always exists, and begins anew: its topic is read from the first message that is there, "
            "and its queries begin anew; its settings are as before"
        )
    else:
        console.say(
            f"stream {name} is removed" + (f"; its queries have ended: {', '.join(queries)}" if queries else "")
        )
        if again:
            console.say(f"with its settings it is added again by `{again}`")
    if topics and not json:
        console.say(
            f"what it left stays until somebody deletes it (kafka-topics --delete --topic): {', '.join(topics)}. If a "
            f"stream {name} is to be added again, keep it: without it, ids of results come again"
        )
    if waiting:
        raise InputError(
            f"after {timeout:g} s {', '.join(waiting)} have not ended: does windowing run? (`saffron status`)"
        )


@app.command("list")
@options.of_system
def list_streams(*, system: options.System, json: options.AsJson = False) -> None:
    """List the streams.

    Examples:

        saffron stream list --json
    """
    with connection(system.connected()) as client:
        now = present(client)
        rows = [{**shown_row(one, now), "partitions": now.partitions(one.topic)} for one in now.streams.values()]
    if json:
        console.print_json(rows)
        return
    columns = ("name", "topic", "partitions", "key", "from", "format", "schema", "disorder", "idle", "silence")
    for row, record in zip(rows, now.streams.values(), strict=True):
        if record.definition is not None:
            row |= {"from": ", ".join(topics_of(record)), "format": f"definition {record.definition.version}"}
    shown = [[cell(name, row.get(name)) for name in columns] for row in rows]
    console.print_table(columns, shown)


# ---------------------------------------------------------------- inside


def _adds_again(record: StreamRecord, client: Client) -> str:
    """The command that adds a removed stream again, with the settings that it had."""
    if record.definition is not None:
        return "saffron stream apply FILE"
    if record.source is None:
        return add_command(record, client.topics.prefix, record.name)
    bounds = {one: as_option(getattr(record, one) or 0) for one in ("disorder", "idle", "silence")}  # else its source's
    count = client.log.partitions(record.topic)
    return add_command(record, client.topics.prefix, record.name, **bounds, partitions=count)


def _put(
    client: Client, plan: Callable[[StreamChange, StreamContext], StreamPlan], change: StreamChange, json: bool
) -> None:
    """Writes the record of a stream, and prints the change."""
    found, now = written(client, lambda now: plan(change, now))
    record, count = found.record, found.partitions
    if json:
        console.print_json({**record.body(), "partitions": count})
        return
    if found.before is not None and not found.is_change and not found.made_again:
        console.say(f"stream {record.name} is so already: nothing is changed")
        return
    console.say(f"stream {record.name}: topic {record.topic}, {counted(count, 'partition')}")
    for line in (*differences(found), *found.made_again):
        console.say(f"  {line}")
    if record.source is not None and record.idle is None and now.partitions(now.streams[record.source].topic) != 1:
        console.say(
            f"a partition of {record.source} that is silent holds {record.name} back, since an earlier event may come "
            "of it: with --idle 5s the others go on without it"
        )


def _over(client: Client, stream: str) -> list[str]:
    """The names of the queries over a stream."""
    names = []
    for name, one in read_standing(client).items():
        try:
            plan = bind_text(one.record.text, None, name).plan
        except QueryError:
            continue
        names += [name] if plan.stream == stream else []
    return sorted(names)


def _wait_until_ended(client: Client, stream: str, queries: list[str], timeout: float) -> list[str]:
    """The queries that have not ended when the time is up."""
    waiting = list(queries)

    def until(statuses: list[QueryStatus]) -> bool:
        ended = {one.name for one in statuses if (one.state, one.stream) == (ENDED, stream)}
        waiting[:] = [name for name in queries if name not in ended]
        return not waiting

    client.wait_for_statuses(until, timeout)
    return waiting


def _schema(path: Path | None) -> Any:
    """The JSON Schema in a file, read once as services will read it. SchemaError: they could not."""
    if path is None:
        return None
    schema_at(path)  # a schema that no service could read is refused here, with the file's name
    return orjson.loads(path.read_bytes())
