"""`saffron stream apply` and `stream show`: the definition in force."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from saffron.cli import console, options
from saffron.cli.client import Client, connection
from saffron.cli.streams.definition import keyless, read_newest
from saffron.cli.streams.present import present, written
from saffron.cli.streams.rows import cell, shown_row
from saffron.control.streams.bodies import applied_body, stream_body
from saffron.control.streams.definitions import plan_definition, summary_of
from saffron.errors import InputError, SaffronError
from saffron.given_files import text_of
from saffron.language.plan.formulas import attribute_shown
from saffron.mapping.definition import StreamDefinition
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.dry_run import sentences
from saffron.runtime.streams.unknown_names import no_stream

_NEWEST = 200
"""Messages of each topic that a definition is tried on when it is applied."""


@options.of_system
def apply(
    definition: Annotated[Path, typer.Argument(metavar="FILE", help="The definition.")],
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Add the stream that a definition describes, or change it: says what changes and what that means.

    The same file twice changes nothing. Keep definitions in git; applying an older one rolls the stream back. What
    `saffron stream check` would say of the newest messages is said, too.

    Examples:

        saffron stream apply shop.yaml
    """
    text = text_of(definition)
    wanted = read_definition(text)
    with connection(system.connected()) as client:
        found, _ = written(client, lambda now: plan_definition(text, now))
        warnings = list(_warnings(client, wanted)) if found.is_change else []
    if json:
        console.print_json(applied_body(found))
        return
    head, *rest = summary_of(found)
    console.say(head)
    for line in rest:
        console.say(line if found.before is None else f"  {line}")
    for line in warnings:
        console.say(f"warning: {line}")


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
            raise InputError(no_stream(name, now.streams))
        body = stream_body(record, now)
    if definition:
        if record.definition is None:
            raise InputError(f"stream {name!r} has no definition: it reads topic {record.topic} as it is")
        print(record.definition.text, end="")
        return
    row = {**body, **shown_row(record, now)}
    if json:
        console.print_json(row)
        return
    _show(row)


# ------------------------------------------------------------ inside


def _warnings(client: Client, wanted: StreamDefinition) -> Iterator[str]:
    """Warnings on how the newest messages are read. Nothing is raised, since the stream is applied."""
    readings = []
    for source in wanted.sources:
        try:
            readings.append(read_newest(client, wanted, source, _NEWEST))
            yield from sentences(readings[-1])
        except SaffronError as error:
            yield f"{source.topic}: its messages could not be tried: {error}"
    yield from keyless(readings, wanted)
    for table in wanted.beside(client.settings.tables).tables:
        if table.file is not None and not Path(table.file).is_file():
            yield f"table {table.name}: {table.file} is not on this machine; each machine of windowing needs it"


def _show(row: dict[str, Any]) -> None:
    """Prints a stream: its fields, the attributes of its events, its sources, and its definition if it has one.

    `row`: the stream's fields; those printed apart are removed from it.
    """
    definition, attributes, sources = row.pop("definition", None), row.pop("attributes"), row.pop("sources")
    row.pop("schema", None)
    console.print_table(("field", "value"), [[name, cell(name, value)] for name, value in row.items()])
    if attributes:
        console.print_table(("attribute", "kind"), [[attribute_shown(name), kind] for name, kind in attributes.items()])
    if definition is not None:
        columns = ("topic", "number", "partitions", "read")
        console.print_table(
            ("source", *columns[1:]), [[_source_cell(one[name]) for name in columns] for one in sources]
        )
        print(f"definition, version {definition['version']}:\n")
        print(definition["text"], end="")


def _source_cell(value: object) -> object:
    """A property of a source as a cell; a topic without partitions is not there."""
    return (
        "missing" if value is None else {True: "yes", False: "no longer"}[value] if isinstance(value, bool) else value
    )
