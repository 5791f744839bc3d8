"""`saffron query`: the standing queries of the running system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from saffron.cli import console, options
from saffron.cli.client import Client, connection
from saffron.cli.parsed import number_option
from saffron.cli.queries.query_changes import (
    QueryChanges,
    QueryRefused,
    existing,
    finish,
    tell_readers,
    wait_until,
)
from saffron.cli.queries.query_views import Name, list_queries, show, why
from saffron.cli.queries.standing import read_standing, removed, wait_for
from saffron.cli.queries.texts import QueryText, bind_text, read_texts
from saffron.errors import UnavailableError
from saffron.language.cost.shedders import AUTO, SHEDDERS, refusal
from saffron.mapping.schema_file import schema_at
from saffron.records.query import ADD, QueryRecord
from saffron.runtime.process.config import Settings

if TYPE_CHECKING:  # the language, which only the commands that take a text wait for
    from saffron.control.checks import Checked
    from saffron.language import Bound

app = typer.Typer(add_completion=False, rich_markup_mode="markdown", no_args_is_help=True)

Files = Annotated[list[Path] | None, typer.Argument(metavar="FILE...", help="Files with one query each.")]
Text = Annotated[list[str] | None, typer.Option("-e", "--text", help="The query itself.")]
Start = Annotated[
    Literal["now", "earliest"], typer.Option("--from", help="Begin now, or with the earliest events still there.")
]
Shed = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"What may be shed under load, by which shedder: {', '.join(SHEDDERS)}. "
        f"New queries: {AUTO}; replaced ones: what they had.",
    ),
]
Timeout = Annotated[float, number_option("Seconds to wait until every partition has taken it up.")]


@app.callback()
def query() -> None:
    """Standing queries: check, add, list, show, why, pause, resume, replace, remove."""


@app.command()
@options.of_system
def add(
    files: Files = None,
    text: Text = None,
    start: Start = "now",
    shed: Shed = None,
    *,
    system: options.System,
    timeout: Timeout = 60.0,
    json: options.AsJson = False,
) -> None:
    """Add queries; returns when every partition has taken them up.

    All are checked before the first is added. A query's name is what it says itself (`QUERY name`), else its file's.

    Examples:

        saffron query add rally.saf downtrends.saf

        saffron query add -e 'QUERY rises PATTERN SEQ(Stock a, Stock b) WHERE b.price > a.price WITHIN 1 minute'

        saffron query add rally.saf --from earliest

        saffron query add alarms.saf --shed none
    """
    from saffron.cli.queries.addable import in_makers_order, require_addable

    texts, shedder = read_texts(files or [], text or []), _shedder(shed) or AUTO
    with connection(system.connected()) as client:
        standing = read_standing(client)
        texts = in_makers_order(texts)
        beside = {name: one.record.text for name, one in standing.items()}
        checked = require_addable(client, texts, shedder, beside)
        names = [one.name for one in checked]
        for name in names:
            if name in standing or names.count(name) > 1:
                raise QueryRefused(f"there is a query {name!r} already: `saffron query replace {name} FILE` changes it")
        _warn(checked, json)
        records = [QueryRecord(n, 1, ADD, one.text, start, shedder) for n, one in zip(names, texts, strict=True)]
        changes = QueryChanges(client)
        added = [changes.put(record, None) for record in records]
        wait_until(client, added, "active", timeout, json)
        if start == "now" and not json:
            _tell_of_unseen_events(client, checked)


def _tell_of_unseen_events(client: Client, added: Sequence[Checked]) -> None:
    """Says of merged streams, whose topics were read from their beginning, that their past events are not seen."""
    known = client.known_streams()
    for stream in sorted({one.plan.stream for one in added}):
        record = known.get(stream)
        if record is not None and record.definition is not None and known.schema(record) is not None:
            console.say(f"{stream} had events before, which are not seen: --from earliest begins with them")


@app.command()
@options.of_system
def check(
    files: Files = None,
    text: Text = None,
    schema: Annotated[Path | None, typer.Option(help="JSON Schema of the stream; no system is looked at.")] = None,
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Check queries without adding them: as `query add` would, by the streams of the running system.

    With --schema by that file instead, and where nothing runs by the grammar alone. Status 2 for a wrong query, with
    the place and the fix.

    Examples:

        saffron query check rally.saf

        saffron query check rally.saf --schema stock.schema.json
    """
    from saffron.engine.operators.composition import bind_together

    texts = read_texts(files or [], text or [])
    by = None if schema else _running(system)
    found: list[Bound] | list[Checked]
    if by is None:
        known = schema_at(schema) if schema else None
        found = bind_together([(one.name, one.text) for one in texts], known, bind_text)
    else:
        found = _addable(by, texts)
    for one in () if json else found:
        for warning in one.warnings:
            console.say(warning)
        console.say(f"{one.plan.name}: right")
    if by is None and schema is None:
        console.say(
            "nothing runs here, so streams, attributes and kinds were not checked; --schema FILE checks the latter two"
        )
    if json:
        rows = [(one.plan.name, one.plan.stream, one.plan.text, list(one.warnings)) for one in found]
        console.print_json([dict(zip(("name", "stream", "text", "warnings"), row, strict=True)) for row in rows])


app.command("list")(list_queries)
app.command()(show)
app.command()(why)


@app.command()
@options.of_system
def pause(name: Name, *, system: options.System, timeout: Timeout = 60.0, json: options.AsJson = False) -> None:
    """Pause a query: events that come meanwhile are not matched.

    Examples:

        saffron query pause rally
    """
    _change(system.connected(), name, "pause", "paused", timeout, json)


@app.command()
@options.of_system
def resume(name: Name, *, system: options.System, timeout: Timeout = 60.0, json: options.AsJson = False) -> None:
    """Resume a paused query.

    Examples:

        saffron query resume rally
    """
    _change(system.connected(), name, "resume", "active", timeout, json)


@app.command()
@options.of_system
def replace(
    name: Name,
    file: Annotated[Path | None, typer.Argument(help="File with the new text.")] = None,
    text: Text = None,
    start: Start = "now",
    shed: Shed = None,
    *,
    system: options.System,
    timeout: Timeout = 60.0,
    json: options.AsJson = False,
) -> None:
    """Replace a query's text: the old one ends and the new one begins at the same position of the stream.

    Examples:

        saffron query replace rally rally-v2.saf
    """
    from saffron.cli.queries.addable import require_addable

    texts, shedder = read_texts([file] if file else [], text or []), _shedder(shed)
    if len(texts) != 1:
        raise typer.BadParameter("give one new text: a FILE or one -e")
    with connection(system.connected()) as client:
        standing = read_standing(client)
        before = existing(standing, name)
        beside = {other: one.record.text for other, one in standing.items()}
        shedder = shedder or before.record.shed
        (found,) = require_addable(client, [QueryText(name, texts[0].text)], shedder, beside)
        if found.name != name:
            raise QueryRefused(f"the new text names itself {found.name!r}, but {name!r} is to be replaced")
        _warn([found], json)
        record = QueryChanges(client).put(QueryRecord(name, 1, ADD, texts[0].text, start, shedder), before.record)
        _tell_of_topic(before.record.text, texts[0].text)
        wait_until(client, [record], "active", timeout, json)


@app.command()
@options.of_system
def remove(name: Name, *, system: options.System, timeout: Timeout = 60.0, json: options.AsJson = False) -> None:
    """Remove a query; its results stay where they are.

    Examples:

        saffron query remove rally
    """
    with connection(system.connected()) as client:
        standing = read_standing(client)
        record = existing(standing, name).record
        client.put(client.topics.queries, name, None)
        _tell_of_topic(record.text, None)
        if not json:
            tell_readers(name, standing)
        console.step(f"waiting until every partition has dropped {name}")
        found = wait_for(client, [record], removed, timeout)
        finish(found, "removed", [one for one in found if not removed(one)], timeout, json)


# ---------------------------------------------------------------- shared


def _running(system: options.System) -> Settings | None:
    """The settings of the running system; None if none is named and none runs here."""
    try:
        return system.connected()
    except UnavailableError:
        if system != options.System():
            raise
    return None


def _warn(found: Sequence[Checked], json: bool) -> None:
    """Report the warnings of `query check`; for names that no event has had yet, the query's status has them."""
    for warning in () if json else [warning for one in found for warning in one.lasting]:
        console.say(warning)


def _tell_of_topic(before: str, after: str | None) -> None:
    """Says of a topic of PUBLISH that the query no longer writes to that it stays."""
    from saffron.language.syntax.delivery import topic_of

    topic = topic_of(before)
    if topic is not None and topic != (None if after is None else topic_of(after)):
        console.say(f"topic {topic} stays, with the results in it: remove it with Kafka's tools when nobody reads it")


def _addable(settings: Settings, texts: Sequence[QueryText]) -> list[Checked]:
    """The queries as `add` would add them, or as `replace` would put them in place of others."""
    from saffron.cli.queries.addable import in_makers_order, require_addable

    with connection(settings) as client:
        ordered = in_makers_order(texts)
        beside = {name: one.record.text for name, one in read_standing(client).items()}
        return require_addable(client, ordered, AUTO, beside)


def _change(settings: Settings, name: str, op: str, wanted: str, timeout: float, json: bool) -> None:
    """Writes a query's record with another `op`, and waits until all partitions are in the state `wanted`."""
    with connection(settings) as client:
        one = existing(read_standing(client), name)
        record = QueryChanges(client).put(replace_fields(one.record, op=op), one.record)
        wait_until(client, [record], wanted, timeout, json)


def _shedder(given: str | None) -> str | None:
    """The given name of a shedder. BadParameter: there is none of this name."""
    if given is not None and (why := refusal(given)):
        raise typer.BadParameter(why, param_hint="--shed")
    return given
