"""`saffron stream apply` and `stream show`: the definition in force."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from saffron.cli import console, options
from saffron.cli.client import connection
from saffron.cli.streams.files import text_of
from saffron.cli.streams.present import checked, present
from saffron.cli.streams.rows import cell, shown_row
from saffron.control.stream_change import StreamContext, StreamPlan
from saffron.control.stream_definitions import plan_definition, sentences_of
from saffron.errors import InputError
from saffron.mapping.definition_reader import read_definition


@options.of_system
def apply(
    definition: Annotated[Path, typer.Argument(metavar="FILE", help="The definition.")],
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Add the stream that a definition describes, or change it: says what changes and what that means.

    The same file twice changes nothing. Keep definitions in git; applying an older one rolls the stream back.

    Examples:

        saffron stream apply shop.yaml
    """
    text = text_of(definition)
    read_definition(text)
    with connection(system.connected()) as client:
        found = checked(lambda: plan_definition(text, present(client)))
        client.log.create_topics(found.topics)
        if found.is_change:
            client.put(client.topics.streams, found.record.name, found.record.encode())
    if json:
        console.print_json({**found.record.body(), "partitions": found.partitions, "changed": found.is_change})
        return
    for line in _told(found):
        console.say(line)


@options.of_system
def show(
    name: Annotated[str, typer.Argument(help="The stream's name.")],
    definition: Annotated[
        bool, typer.Option("--definition", help="Print the definition alone, as it was applied.")
    ] = False,
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Show a stream: its topics, bounds, schema, and its definition where it has one.

    Examples:

        saffron stream show shop

        saffron stream show shop --definition > shop.yaml
    """
    with connection(system.connected()) as client:
        now = present(client)
    record = now.streams.get(name)
    if record is None:
        raise InputError(f"there is no stream {name!r}; streams: {', '.join(now.streams)}")
    if definition:
        if record.definition is None:
            raise InputError(f"stream {name!r} has no definition: it reads topic {record.topic} as it is")
        print(record.definition.text, end="")
        return
    row = {**shown_row(record, now), "partitions": now.partitions(record.topic), "attributes": _attributes(record, now)}
    if json:
        console.print_json(row)
        return
    _show(row)


# ------------------------------------------------------------ inside


def _told(found: StreamPlan) -> list[str]:
    """What was done, in sentences."""
    record, definition = found.record, found.record.definition
    assert definition is not None
    if found.before is not None:
        if not found.is_change:
            return [f"stream {record.name} is so already: nothing is changed"]
        changes = sentences_of(found) or ["only its words changed: events are read as before"]
        return [
            f"stream {record.name}: version {definition.version} of its definition is in force",
            *_indented(changes),
        ]
    topics = ", ".join(definition.numbers)
    plural = "s" if found.partitions > 1 else ""
    made = f"stream {record.name} merges {topics} into topic {record.topic}, {found.partitions} partition{plural}"
    lines = [f"{made}; `saffron query add FILE --from earliest` asks it, from its first event on: FROM {record.name}"]
    if record.idle is None:
        lines.append(
            "a source partition that is silent holds the stream back, since an earlier event may come of it: with "
            "`idle: 10s` in the definition the others go on without it"
        )
    return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _attributes(record: Any, now: StreamContext) -> dict[str, str]:
    """The attributes that events have had so far, and the kind of each."""
    schema = now.schema(record)
    return {} if schema is None else {name: kind.value for name, kind in schema.kinds.items()}


def _show(row: dict[str, Any]) -> None:
    definition, attributes = row.pop("definition", None), row.pop("attributes")
    row.pop("schema", None)
    console.print_table(("field", "value"), [[name, cell(name, value)] for name, value in row.items()])
    if attributes:
        console.print_table(("attribute", "kind"), [[name, kind] for name, kind in attributes.items()])
    if definition is not None:
        console.print_table(("source", "number"), [[topic, number] for topic, number in definition["numbers"].items()])
        print(f"definition, version {definition['version']}:\n")
        print(definition["text"], end="")
