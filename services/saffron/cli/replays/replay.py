"""`saffron replay`: the fused engine over files. It needs no broker."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import orjson
import typer

from saffron.cli import console, options
from saffron.cli.durations import duration_option
from saffron.cli.queries.texts import QueryText, read_schema, read_texts
from saffron.cli.replays.inputs import EventFiles, Events, MessageFiles
from saffron.cli.replays.output import Counts, DeadLetterFile, Lines, Sink, Table
from saffron.cli.replays.places import Places
from saffron.cli.replays.shed import PANE, POLICY, TRAIN, ShedOptions
from saffron.language.cost.shedders import AUTO
from saffron.runtime.process.allocator import keep_freed_memory
from saffron.runtime.process.config import MOST_PANE

if TYPE_CHECKING:
    from saffron.runtime.replay.replay import Replay
    from saffron.schema.schema import Schema


def replay(
    events: Annotated[list[str], typer.Argument(metavar="EVENTS...", help="Files, or - for standard input.")],
    query: options.QueryFiles = None,
    text: options.QueryTexts = None,
    count: Annotated[bool, typer.Option("--count", help="Print the number of results per query instead.")] = False,
    stats: Annotated[bool, typer.Option("--stats", help="Print figures as one JSON object to standard error.")] = False,
    schema: options.EventSchema = None,
    lenient: options.Lenient = False,
    disorder: Annotated[int | None, duration_option("How late an event may be [default: 0].")] = None,
    dead_letters: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write bad and late events here: reason, position, line.")
    ] = None,
    strict: Annotated[bool, typer.Option(help="Stop at the first bad line, with status 1.")] = False,
    partitions: Annotated[int, typer.Option(min=1, help="Split the stream as producers would (murmur2).")] = 1,
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
    why_events: Annotated[int, typer.Option(min=1, help="With --why KEY: of how many events, the last ones.")] = 40,
    json: Annotated[bool, typer.Option("--json", help="With --why: one JSON object a query.")] = False,
    latency_bound: Annotated[
        int | None, duration_option("Shed load to hold this, on a virtual clock (with --rate).")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="N|X", help="Events a second, or times the queries' own capacity (1.4x).")
    ] = None,
    shed: Annotated[str, typer.Option(metavar="NAME", help="Which shedder acts; none lets the bound break.")] = AUTO,
    models: Annotated[Path | None, typer.Option(metavar="FILE", help="Models to shed by; else trained here.")] = None,
    save_models: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the trained models here.")] = None,
    train: Annotated[float, typer.Option(metavar="SHARE", help="Of the events, the first, to train on.")] = TRAIN,
    truth: Annotated[bool, typer.Option("--truth", help="Add recall and precision to --stats.")] = False,
    pane: Annotated[
        int, typer.Option(min=1, max=MOST_PANE, metavar="N", help="Events before one that decide its utility.")
    ] = PANE,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of all that is drawn in shedding.")] = 0,
    policy: Annotated[Literal["shed", "catch-up"], typer.Option(help="What to do after an outage.")] = POLICY,
    cost: Annotated[
        list[str] | None, typer.Option(metavar="[QUERY=]NS", help="Of a check, instead of measured times.")
    ] = None,
    shed_aggregates: Annotated[bool, typer.Option(help="Aggregate queries may lose events too.")] = False,
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
    shedding = ShedOptions(
        latency_bound, rate, shed, models, save_models, train, truth, pane, seed, policy, cost or [], shed_aggregates
    )
    results = count or stats or strict or dead_letters
    _require_together(partitions > 1, why, json=json, results=results, sheds=shedding.given)
    queries = read_texts(query or [], text or [])
    known = read_schema(schema) if schema else None
    held = disorder or 0
    others = [*shedding.given, *(["--disorder"] if held else [])]
    texts = [one.text for one in queries]
    inputs = _inputs(stream, events, known, partitions, key, texts, others=others)
    if why is not None:
        _explain(inputs, queries, known, why, lenient=lenient, disorder=held, shown=why_events, json=json)
        return

    asked = shedding.asked
    from saffron.runtime.replay.fused import Query
    from saffron.runtime.replay.replay import Replay  # after the cheap checks: this loads Numba
    from saffron.runtime.streams.whole_tables import read_again

    named = [Query(one.name, one.text) for one in queries]
    settings: dict[str, Any] = {
        "schema": known,
        "lenient": lenient,
        "disorder": held,
        **inputs.settings(),
        "warn": lambda warning: console.say(f"warning: {warning}"),
    }
    keep_freed_memory()
    virtual = shedding.replay(named, **settings) if asked else None
    run = virtual or Replay(named, **settings)
    places = Places()
    with DeadLetterFile(dead_letters, strict, places) as letters:
        _print_results(run, inputs, _sink(count), letters, places)
    if virtual is not None:
        shedding.save(virtual.models())
    for sentence in (*run.reports(), *read_again({} if run.merged is None else run.merged.tables)):
        console.say(sentence)
    if stats:
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
    schema: Schema | None,
    asked: str,
    *,
    lenient: bool,
    disorder: int,
    shown: int,
    json: bool,
) -> None:
    """Prints the explanations of `--why`. The events are read more than once."""
    if isinstance(events, EventFiles) and "-" in events.names:
        raise typer.BadParameter("--why reads the events more than once: name files instead of -")
    from saffron.engine.why.as_dict import to_dict
    from saffron.engine.why.as_text import lines
    from saffron.runtime.replay.fused import Query
    from saffron.runtime.replay.why import Reader, why

    texts = [Query(one.name, one.text) for one in queries]
    for trace in why(Reader(texts, events.batches, schema, lenient, disorder, events.merged), asked, shown=shown):
        if json:
            console.print_json(to_dict(trace))
        else:
            print("\n".join(lines(trace)))


def _sink(count: bool) -> Sink:
    """The sink of the results: counts, a table on a terminal, or JSON lines."""
    if count:
        return Counts()
    return Table() if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" else Lines()
