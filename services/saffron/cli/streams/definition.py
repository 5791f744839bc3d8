"""`saffron stream infer` and `stream check`: a definition proposed from messages, and tried on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from saffron.cli import console, options
from saffron.cli.client import Client, connection
from saffron.cli.parsed import registry_url, stream_name
from saffron.cli.streams import samples
from saffron.control.streams.readings import read_source, reading_body
from saffron.counted import counted
from saffron.engine.events.formats.files import bare_name
from saffron.errors import UnavailableError
from saffron.given_files import require_not_read, require_writable
from saffron.language.syntax.hints import known_names
from saffron.mapping.definition import SourceDefinition, StreamDefinition
from saffron.mapping.definition_file import definition_at
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.dry_run import LookUp, Reading, not_looked_up, read_all, sentences
from saffron.mapping.mapper import flat
from saffron.mapping.proposals.definition_writer import write_definition
from saffron.mapping.proposals.fields import Topic
from saffron.mapping.proposals.infer import infer as propose
from saffron.mapping.proposals.proposal import ProposedSource
from saffron.mapping.tables.table import Table
from saffron.runtime.streams.whole_tables import look_up_in, table_notices, whole_tables

Sample = Annotated[int, typer.Option(min=1, help="The newest so many messages of each topic are looked at.")]
_SHOWN = 12
"""The most attributes that the table names."""


@options.of_system
def infer(
    sources: Annotated[
        list[str], typer.Argument(metavar="TOPIC|FILE...", help="Topics by their full names, or files.")
    ],
    name: Annotated[str, typer.Option(parser=stream_name, metavar="NAME", help="The stream's name.")],
    out: Annotated[
        Path | None, typer.Option(help="Write the definition to this file [default: to the screen].")
    ] = None,
    sample: Sample = 1000,
    registry: Annotated[
        str | None,
        typer.Option(
            parser=registry_url, metavar="URL", help="The schema registry by which Avro and Protobuf are read."
        ),
    ] = None,
    *,
    system: options.System,
) -> None:
    """Look at the newest messages of topics, and propose a definition of a stream that is made of them.

    Each proposal has its reason beside it. Files are read as `saffron replay` reads them. A line has a message: its
    value, or {"key": ..., "time": ..., "value": ...}. Then `stream check` tries it, and `stream apply`
    makes the stream.

    Examples:

        saffron stream infer orders payments shipments --name shop --out shop.yaml

        saffron stream infer orders.ndjson payments.ndjson --name shop

        saffron stream infer bids --name auction --registry http://registry:8081
    """
    require_writable(out)
    require_not_read(out, map(Path, sources))
    proposed = propose(_sampled(system, sources, sample, registry))
    text = write_definition(name, proposed)
    read_definition(text)
    for line in _unread(proposed, registry):
        console.say(line)
    if out is None:
        print(text, end="")
        return
    out.write_text(text, "utf-8")
    console.say(f"written to {out}: read it, change what you know better, then saffron stream check {out}")


@options.of_system
def check(
    definition: Annotated[Path, typer.Argument(metavar="FILE", help="The definition.")],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPIC=FILE...", help="Files in place of topics; several of a topic are its partitions."
        ),
    ] = None,
    sample: Sample = 1000,
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Try a definition on the newest messages of its topics: how each would be read, what is refused and why.

    Tables are read whole, and events are looked up in them. Nothing is changed. The command fails where a message is
    refused, or a topic has none.

    Examples:

        saffron stream check shop.yaml

        saffron stream check shop.yaml orders=orders.ndjson payments=payments.ndjson shipments=shipments.ndjson
    """
    found = definition_at(definition)
    topics = [*(one.topic for one in found.sources), *(one.topic for one in found.tables if one.topic is not None)]
    files = _files(inputs or [], topics)
    with _client(system, [one for one in topics if one not in files]) as client:
        tables = whole_tables(
            found,
            lambda topic: (
                samples.records_of_files(files[topic], topic)
                if topic in files
                else samples.whole_topic(_known(client), topic)
            ),
        )
        look_up = look_up_in(found, tables)
        readings = [
            read_all(found, one, samples.of_files(files[one.topic], one.topic, sample), look_up=look_up)
            if one.topic in files
            else read_newest(_known(client), found, one, sample, look_up)
            for one in found.sources
        ]
    if json:
        console.print_json([reading_body(one) for one in readings])
    else:
        _show(readings)
        for line in (*keyless(readings, found), *_looked_up(readings, tables)):
            console.say(line)
    if any(one.refused or not one.messages for one in readings):
        raise typer.Exit(1)


def _sampled(system: options.System, sources: Sequence[str], sample: int, registry: str | None) -> list[Topic]:
    """The newest messages of topics and files, in the order given. UnavailableError: no system has the topics."""
    files = {one: Path(one) for one in sources if Path(one).is_file()}
    found = {one: Topic(bare_name(path), samples.of_file(path, bare_name(path), sample)) for one, path in files.items()}
    topics = [one for one in sources if one not in files]
    with ExitStack() as stack:
        try:
            client = stack.enter_context(_client(system, topics))
        except UnavailableError as error:
            raise UnavailableError(f"{', '.join(topics)}: no such file, so a topic is meant; {error}") from error
        if client is not None:
            found |= zip(topics, samples.of_topics(client, topics, sample, registry), strict=True)
    return [found[one] for one in sources]


def _unread(proposed: Sequence[ProposedSource], registry: str | None) -> Iterator[str]:
    """Sentences on messages that were not read, and on a registry that was not needed."""
    for one in proposed:
        yield from (f"{one.topic}: {line}" for line in one.told)
        if not one.messages:
            yield f"{one.topic}: no message of it could be read, so that what is proposed for it is a guess"
    if registry is not None and all(one.registry is None for one in proposed):
        yield "the registry was not asked: no topic has messages of Avro or Protobuf in its frame"


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


def read_newest(
    client: Client,
    stream: StreamDefinition,
    source: SourceDefinition,
    sample: int,
    look_up: LookUp = not_looked_up,
) -> Reading:
    """The newest messages of a source's topic, read by the definition."""
    messages = samples.of_source(client, source, sample)
    return read_source(stream, source, messages, client.settings.max_future_ms, look_up)


def _files(inputs: Sequence[str], topics: Sequence[str]) -> Mapping[str, Sequence[Path]]:
    """The files that stand for topics. BadParameter: one is no TOPIC=FILE of this definition."""
    files: defaultdict[str, list[Path]] = defaultdict(list)
    for one in inputs:
        topic, _, path = one.partition("=")
        if topic not in topics or not path:
            raise typer.BadParameter(f"{one!r} is no TOPIC=FILE. {known_names('Its topics are', topics, topic)}")
        files[topic].append(Path(path))
    return files


# ------------------------------------------------------------ what is shown


def _show(readings: Sequence[Reading]) -> None:
    columns = ("source", "messages", "events", "refused", "types", "attributes")
    console.print_table(columns, [_cells(one) for one in readings])
    for one in readings:
        for line in sentences(one):
            console.say(line)


def keyless(readings: Sequence[Reading], definition: StreamDefinition) -> Iterator[str]:
    """Warnings on sources without the stream's key, or without one that is looked up."""
    key = definition.key
    for one in readings:
        if key is not None and one.events and key not in one.attributes:
            name = f"`{key}: PATH` under `attributes`"
            yield f"{one.source.topic}: no event has the stream's key {key!r}; {name} says where it is"
    for name, rule in definition.add.items():
        for one in readings:
            if one.events and rule.key not in one.attributes:
                yield f"{one.source.topic}: no event has {rule.key!r}, by which {name} is looked up: it is null"


def _looked_up(readings: Sequence[Reading], tables: Mapping[str, Table]) -> Iterator[str]:
    """Lines on a stream's tables: their numbers of rows, their faults, and an event of each source."""
    for name, table in tables.items():
        yield f"table {name}: {counted(len(table), 'row')}"
    yield from table_notices(tables, {})
    for one in readings if tables else ():
        for event in one.examples[:1]:
            yield f"{one.source.topic}: for example {flat(event).decode()}"


def _cells(one: Reading) -> tuple[object, ...]:
    refused = sum(each.count for each in one.refused.values())
    types = ", ".join(f"{name} {count:,}" for name, count in sorted(one.types.items()))
    names = list(one.attributes)
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return one.source.topic, f"{one.messages:,}", f"{one.events:,}", f"{refused:,}", types or "-", shown or "-"
