"""`saffron stream infer` and `stream check`: a definition proposed from messages, and tried on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from saffron.cli import console, options
from saffron.cli.client import Client, connection
from saffron.cli.streams import samples
from saffron.cli.streams.files import text_of
from saffron.control.streams.readings import read_source, reading_body
from saffron.errors import InputError
from saffron.mapping.definition import SourceDefinition, StreamDefinition
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.dry_run import Reading, read_all, sentences
from saffron.mapping.proposals.definition_writer import write_definition
from saffron.mapping.proposals.fields import Topic
from saffron.mapping.proposals.infer import infer as propose

Sample = Annotated[int, typer.Option(min=1, help="The newest so many messages of each topic are looked at.")]
_SHOWN = 12
"""Attributes that the table names."""


@options.of_system
def infer(
    sources: Annotated[
        list[str], typer.Argument(metavar="TOPIC|FILE...", help="Topics by their full names, or files.")
    ],
    name: Annotated[str, typer.Option(help="The stream's name.")],
    out: Annotated[
        Path | None, typer.Option(help="Write the definition to this file [default: to the screen].")
    ] = None,
    sample: Sample = 1000,
    *,
    system: options.System,
) -> None:
    """Look at the newest messages of topics, and propose a definition of a stream that is made of them.

    Each proposal has its reason beside it. A file has a message on each line: its value, or
    {"key": ..., "time": ..., "value": ...}. Then `stream check` tries it, and `stream apply` makes the stream.

    Examples:

        saffron stream infer orders payments shipments --name shop --out shop.yaml

        saffron stream infer orders.ndjson payments.ndjson --name shop
    """
    files = {one: Path(one) for one in sources if Path(one).is_file()}
    with _client(system, [one for one in sources if one not in files]) as client:
        topics = [
            Topic(files[one].stem, samples.of_file(files[one], files[one].stem, sample)) if one in files
            else Topic(one, samples.of_topic(_known(client), one, sample))
            for one in sources
        ]  # fmt: skip
    text = write_definition(name, propose(topics))
    read_definition(text)
    if out is None:
        print(text, end="")
        return
    out.write_text(text, "utf-8")
    console.say(f"written to {out}: read it, change what you know better, then saffron stream check {out}")


@options.of_system
def check(
    definition: Annotated[Path, typer.Argument(metavar="FILE", help="The definition.")],
    inputs: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC=FILE...", help="Files in place of topics.")
    ] = None,
    sample: Sample = 1000,
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Try a definition on the newest messages of its topics: how each would be read, what is refused and why.

    Nothing is changed. The command fails where a message is refused, or a topic has none.

    Examples:

        saffron stream check shop.yaml

        saffron stream check shop.yaml orders=orders.ndjson payments=payments.ndjson shipments=shipments.ndjson
    """
    found = read_definition(text_of(definition)).beside(definition.parent)
    files = _files(inputs or [], found.sources)
    with _client(system, [one.topic for one in found.sources if one.topic not in files]) as client:
        readings = [
            read_all(found, one, samples.of_file(files[one.topic], one.topic, sample))
            if one.topic in files
            else read_newest(_known(client), found, one, sample)
            for one in found.sources
        ]
    if json:
        console.print_json([reading_body(one) for one in readings])
    else:
        _show(readings)
        for line in (*_keyless(readings, found.key), *lookup_lines(readings, found)):
            console.say(line)
    if any(one.refused or not one.messages for one in readings):
        raise typer.Exit(1)


@contextmanager
def _client(system: options.System, topics: Sequence[str]) -> Iterator[Client | None]:
    """A connection; None where there are no topics, since no system is needed then."""
    if not topics:
        yield None
        return
    with connection(system.connected()) as client:
        yield client


def _known(client: Client | None) -> Client:
    assert client is not None
    return client


def read_newest(client: Client, stream: StreamDefinition, source: SourceDefinition, sample: int) -> Reading:
    """How a source reads its topic's newest messages."""
    messages = samples.of_source(client, source, sample)
    return read_source(stream, source, messages, client.settings.max_future_ms)


def _files(inputs: Sequence[str], sources: Sequence[SourceDefinition]) -> dict[str, Path]:
    """The files that stand for topics. InputError: one is no TOPIC=FILE of this definition."""
    files = {}
    topics = [one.topic for one in sources]
    for one in inputs:
        topic, _, path = one.partition("=")
        if topic not in topics or not path:
            raise InputError(f"{one!r} is no TOPIC=FILE: the definition's topics are {', '.join(topics)}")
        files[topic] = Path(path)
    return files


# ------------------------------------------------------------ what is shown


def _show(readings: Sequence[Reading]) -> None:
    columns = ("source", "messages", "events", "refused", "types", "attributes")
    console.print_table(columns, [_cells(one) for one in readings])
    for one in readings:
        for line in sentences(one):
            console.say(line)


def _keyless(readings: Sequence[Reading], key: str | None) -> Iterator[str]:
    """Warnings on sources without the stream's key."""
    for one in readings:
        if key is not None and one.events and key not in one.attributes:
            name = f"`{key}: PATH` under `attributes`"
            yield f"{one.source.topic}: no event has the stream's key {key!r}; {name} says where it is"


def lookup_lines(readings: Sequence[Reading], definition: StreamDefinition) -> Iterator[str]:
    """Lines on attributes that are looked up in tables. Rows of topics are not read here."""
    for name, rule in definition.add.items():
        for one in readings:
            if one.events and rule.key not in one.attributes:
                yield f"{one.source.topic}: no event has {rule.key!r}, by which {name} is looked up: it is null"
            if count := one.attributes.get(name, 0):
                what = "dead letters" if definition.dead_letters else f"without it, since table {rule.table} gives it"
                yield f"{one.source.topic}: {count:,} events bring their own {name!r}, and are {what}"


def _cells(one: Reading) -> tuple[object, ...]:
    refused = sum(each.count for each in one.refused.values())
    types = ", ".join(f"{name} {count:,}" for name, count in sorted(one.types.items()))
    names = list(one.attributes)
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return one.source.topic, f"{one.messages:,}", f"{one.events:,}", f"{refused:,}", types or "-", shown or "-"
