"""`saffron replay`: the fused engine over files. It needs no broker."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from saffron.cli import console, options
from saffron.cli.parsed import duration_option
from saffron.cli.queries.texts import QueryText, read_texts
from saffron.cli.replays.inputs import EventFiles, Events, MessageFiles
from saffron.cli.replays.output import Counts, DeadLetterFile, Lines, Sink, TerminalLines
from saffron.cli.replays.places import Places
from saffron.cli.replays.shed import ShedOptions
from saffron.given_files import require_not_read
from saffron.mapping.schema_file import schema_at
from saffron.runtime.process.allocator import keep_freed_memory

if TYPE_CHECKING:
    from saffron.runtime.replay.replay import Replay
    from saffron.schema.schema import Schema

_SHOWN = 40
"""Events that `--why` shows unless --why-events says otherwise."""


@dataclass(frozen=True)
class ResultOptions:
    """The options of what a replay prints and writes."""

    count: Annotated[bool, typer.Option("--count", help="Print the number of results per query instead.")] = False
    stats: Annotated[bool, typer.Option("--stats", help="Print figures as one JSON object to standard error.")] = False
    dead_letters: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write bad and late events here: reason, position, line.")
    ] = None
    strict: Annotated[bool, typer.Option(help="Stop at the first bad line, with status 1.")] = False

    @property
    def given(self) -> bool:
        """True if any option is given."""
        return self != ResultOptions()

    @property
    def sink(self) -> Sink:
        """The sink of the results: counts, a table on a terminal, or JSON lines."""
        if self.count:
            return Counts()
        return TerminalLines() if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" else Lines()


@options.expanded(results=ResultOptions, shedding=ShedOptions)
def replay(
    events: Annotated[list[str], typer.Argument(metavar="EVENTS...", help="Files, or - for standard input.")],
    query: options.QueryFiles = None,
    text: options.QueryTexts = None,
    schema: options.EventSchema = None,
    lenient: options.Lenient = False,
    disorder: Annotated[int | None, duration_option("How late an event may be [default: 0].")] = None,
    partitions: Annotated[
        int, typer.Option(min=1, max=1_000, help="Split the stream as producers would (murmur2).")
    ] = 1,
    key: Annotated[str | None, typer.Option(metavar="ATTR", help="Attribute by which to split.")] = None,
    stream: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A stream's definition; events are then TOPIC=FILE...")
    ] = None,
    why: Annotated[
        str | None,
        typer.Option(
            metavar="KEY|ID", help="What became of each event of a key (symbol=IBM), or on the way to a match."
        ),
    ] = None,
    why_events: Annotated[
        int | None, typer.Option(min=1, help="With --why KEY: of how many events, the last ones [default: 40].")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="With --why: one JSON object a query.")] = False,
    *,
    results: ResultOptions,
    shedding: ShedOptions,
) -> None:
    """Run queries over files of events; results are JSON lines (a table on a terminal).

    Files: `.ndjson`, `.jsonl`, `.csv`, `.parquet`, each also `.zst` or `.gz`; several are one stream, one after
    another.

    Examples:

        saffron replay -q rally.saf stock_quotes.ndjson.zst

        saffron replay -e 'RETURN COUNT(*) PATTERN Quote+ WITHIN 1 hour' quotes.csv --stats

        saffron replay -q unpaid.saf --stream shop.yaml orders=orders.ndjson payments=payments.ndjson

        saffron replay -q rally.saf stock_quotes.ndjson.zst --why symbol=IBM

        saffron replay -q rally.saf stock_quotes.ndjson.zst --latency-bound 1s --rate 1.4x --shed pspice --stats --truth

        zcat events.gz | saffron replay -q fraud.saf - --disorder 5s --dead-letters bad.jsonl
    """
    _require_together(partitions > 1, why, json=json, results=results.given, sheds=shedding.given)
    if why is None and why_events is not None:
        raise typer.BadParameter("--why-events goes with --why KEY")
    files = [Path(one if stream is None else one.partition("=")[2]) for one in events]
    for written in (results.dead_letters, shedding.save_models):
        require_not_read(written, [*files, *(query or []), schema, stream])
    queries = read_texts(query or [], text or [], "name its file with -q")
    read = Read(schema_at(schema) if schema else None, lenient, disorder or 0)
    others = [*shedding.given, *([] if disorder is None else ["--disorder"])]
    texts = [one.text for one in queries]
    inputs = _inputs(stream, events, read.schema, partitions, key, texts, others=others)
    if why is None:
        _run(inputs, queries, read, results, shedding)
    else:
        _explain(inputs, queries, read, why, shown=why_events or _SHOWN, json=json)


@dataclass(frozen=True)
class Read:
    """Options of reading events. `lenient`: unknown names in queries are warnings. `disorder`: in ms."""

    schema: Schema | None
    lenient: bool
    disorder: int


def _run(
    inputs: Events, queries: Sequence[QueryText], read: Read, wanted: ResultOptions, shedding: ShedOptions
) -> None:
    """Run the queries, and print their results and messages."""
    asked = shedding.asked
    if shedding.truth and not wanted.stats:
        raise typer.BadParameter("--truth adds recall and precision to --stats: give both")
    from saffron.runtime.replay.fused import Query
    from saffron.runtime.replay.replay import Replay  # after the cheap checks: this loads Numba
    from saffron.runtime.streams.whole_tables import read_again

    named = [Query(one.name, one.text) for one in queries]
    settings: dict[str, Any] = {
        "schema": read.schema,
        "lenient": read.lenient,
        "disorder": read.disorder,
        **inputs.settings(),
        "warn": lambda warning: console.say(f"warning: {warning}"),
    }
    keep_freed_memory()
    virtual = shedding.replay(named, **settings) if asked else None
    run = virtual or Replay(named, **settings)
    places = Places()
    with DeadLetterFile(wanted.dead_letters, wanted.strict, places) as letters:
        _print_results(run, inputs, wanted.sink, letters, places)
    if virtual is not None:
        shedding.save(virtual.models())
    for sentence in (*run.reports(), *read_again({} if run.merged is None else run.merged.tables)):
        console.say(sentence)
    if wanted.stats:
        print(orjson.dumps(run.figures()).decode(), file=sys.stderr)
    elif report := letters.report():
        console.say(report)


def _inputs(
    stream: Path | None,
    events: list[str],
    schema: Schema | None,
    partitions: int,
    key: str | None,
    queries: Sequence[str],
    *,
    others: Sequence[str],
) -> Events:
    """The events to replay. BadParameter: options that do not go with a definition; `others`: those that are given."""
    if stream is None:
        return EventFiles(events, schema, partitions, key)
    if key is not None or schema is not None or others:
        first = "--key" if key is not None else "--schema" if schema is not None else others[0]
        raise typer.BadParameter(f"--stream has a definition, beside which {first} means nothing: leave it out")
    return MessageFiles(stream, events, partitions if partitions > 1 else None, queries)


def _require_together(split: bool, why: str | None, *, json: bool, results: object, sheds: Sequence[str]) -> None:
    """BadParameter: options that exclude each other.

    `split`: whether --partitions is given. `results`: any option of results. `sheds`: those of shedding.
    """
    if why is None:
        if json:
            raise typer.BadParameter("--json goes with --why: results are lines of JSON already")
    elif results:
        raise typer.BadParameter("--why prints a trace, not results: leave --count, --stats, --strict and so on out")
    elif sheds:
        raise typer.BadParameter(f"--why explains events of which nothing is shed: leave {', '.join(sheds)} out")
    elif split:
        raise typer.BadParameter("--why looks at one partition: leave --partitions out, and give its events")


def _print_results(run: Replay, events: Events, sink: Sink, letters: DeadLetterFile, places: Places) -> None:
    """Prints the results as the events produce them."""
    silent = sys.stdout.isatty() and not isinstance(sink, Counts)  # results stand on the same terminal
    batches = events.watched(places, silent=silent)
    for merged in run.results(batches):
        letters.write(run.dead_letters())
        sink.take(merged)
    letters.write(run.dead_letters())
    console.done()
    sink.close(run.names)
    sys.stdout.flush()


def _explain(
    events: Events,
    queries: Sequence[QueryText],
    read: Read,
    asked: str,
    *,
    shown: int,
    json: bool,
) -> None:
    """Prints the explanations of `--why`. The events are read more than once."""
    if isinstance(events, EventFiles) and "-" in events.names:
        raise typer.BadParameter("--why reads the events more than once: name files instead of -")
    if events.settings().get("partitions", 1) > 1:
        raise typer.BadParameter("--why looks at one partition, and this stream has several: give the events of one")
    from saffron.engine.why.as_dict import to_dict
    from saffron.engine.why.as_text import lines
    from saffron.runtime.replay.fused import Query
    from saffron.runtime.replay.why import Reader, why

    texts = [Query(one.name, one.text) for one in queries]
    for trace in why(
        Reader(texts, events.batches, read.schema, read.lenient, read.disorder, events.merged), asked, shown=shown
    ):
        if json:
            console.print_json(to_dict(trace))
        else:
            print("\n".join(lines(trace)))
