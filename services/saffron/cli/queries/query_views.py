"""The commands that look at standing queries: `saffron query list`, `show` and `why`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saffron.cli import console, options
from saffron.cli.client import connection
from saffron.cli.queries.query_changes import QueryRefused, existing
from saffron.cli.queries.standing import read_standing, read_versions
from saffron.cli.queries.texts import bind_text, know_aggregates
from saffron.counted import counted

if TYPE_CHECKING:
    from saffron.language.plan.plan import Plan
    from saffron.runtime.streams.known_streams import KnownStreams
    from saffron.schema.schema import Schema

Name = Annotated[str, typer.Argument(help="The query's name.")]
Versions = Annotated[
    bool, typer.Option("--versions", help="All versions, as far as the topic still has them; the newest first.")
]
_SERVICE_COLUMNS = ("service", "partition", "state", "position", "reason")


@options.of_system
def list_queries(versions: Versions = False, *, system: options.System, json: options.AsJson = False) -> None:
    """List the standing queries with their states.

    Examples:

        saffron query list --json

        saffron query list --versions
    """
    with connection(system.connected()) as client:
        if versions:
            known = read_versions(client)
            _print_versions([one for name in known.names() for one in known.versions(name)], json)
            return
        standing = read_standing(client)
    views = [standing[name].view() for name in sorted(standing)]
    if json:
        console.print_json(views)
        return
    rows = [(one["name"], one["version"], one["state"], one["from"], one["shed"], _reason(one)) for one in views]
    console.print_table(("name", "version", "state", "from", "shed", "reason"), rows)


@options.of_system
def show(name: Name, versions: Versions = False, *, system: options.System, json: options.AsJson = False) -> None:
    """Show one query: its text, its plan, the engine that runs it and why, and what each service says of it.

    Examples:

        saffron query show rally

        saffron query show rally --versions
    """
    from saffron.engine.explain.chosen import plan_json, plan_text

    know_aggregates()
    with connection(system.connected()) as client:
        if versions:
            existing(read_standing(client), name)
            _print_versions(read_versions(client).versions(name), json, texts=True)
            return
        standing = read_standing(client)
        one = existing(standing, name)
        plan, schema = _plan(client.known_streams(), name, {other: row.record.text for other, row in standing.items()})
    view, shed = one.view(), one.record.shed
    if json:
        console.print_json(view | {"engine": plan_json(plan, schema, shed)["engine"]})
        return
    print(f"{name} (version {view['version']}, shed: {shed}): {view['state']} {_reason(view)}\n")
    print(f"{view['text'].strip()}\n\n{plan_text(plan, schema, shed)}")
    rows = [[*(row[column] for column in _SERVICE_COLUMNS[:-1]), _reason(row)] for row in view["services"]]
    console.print_table(_SERVICE_COLUMNS, rows)


@options.of_system
def why(
    name: Name,
    asked: Annotated[
        str, typer.Argument(metavar="KEY|ID", help="A key as ATTR=VALUE (or '*'), or the beginning of a result's id.")
    ],
    events: Annotated[
        int | None, typer.Option(min=1, help="How many of the key's newest events to explain; 40 if not given.")
    ] = None,
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Explain why a match came, or why not: what became of each event, and which condition refused it.

    It looks at the newest events that the matcher was given; `saffron replay --why` looks at files.

    Examples:

        saffron query why rally symbol=IBM

        saffron query why rally 9f2c41d7
    """
    # Here, for they bring kernels along, which no other command of this file needs.
    from saffron.engine.why.as_dict import to_dict
    from saffron.engine.why.as_text import lines
    from saffron.engine.why.block_traces import NEWEST_EVENTS
    from saffron.runtime.replay.recent import Question, why_now

    know_aggregates()
    with connection(system.connected()) as client:
        standing = read_standing(client)
        text = existing(standing, name).record.text
        stream = bind_text(text, None, name).plan.stream
        beside = {other: one.record.text for other, one in standing.items()}
        record = client.streams().get(stream)
        if record is None:
            raise QueryRefused(f"there is no stream {stream!r} (any more), which query {name!r} is over")
        question = Question(name, text, record, asked, events or NEWEST_EVENTS, beside)
        answer = why_now(client.log, client.topics, client.settings.group("cli-why"), question)
    if json:
        console.print_json(to_dict(answer.trace))
        return
    print("\n".join(lines(answer.trace)))
    console.say(f"explained from the newest {counted(answer.events, 'event')} of partition {answer.partition}")


# ---------------------------------------------------------------- shared


def _plan(streams: KnownStreams, name: str, texts: Mapping[str, str]) -> tuple[Plan, Schema]:
    """A standing query's plan, and the schema by which its engine is chosen. `texts`: of all queries, by name.

    A query that fits its stream no longer is shown by its text alone.
    """
    from saffron.control.checks import as_it_stands

    found = as_it_stands(name, streams, texts)
    return found.plan, found.schema


def _print_versions(versions: Sequence[Mapping[str, Any]], json: bool, *, texts: bool = False) -> None:
    """Prints versions as a table. `texts`: with the text of each that was added."""
    if json:
        console.print_json(versions)
        return
    columns = ("name", "version", "change", "state", "at (UTC)", "in force from (partition: position)")
    rows = [
        (one["name"], one["version"], one["op"], one["state"], console.moment(one["changed_at"]), _places(one))
        for one in versions
    ]
    console.print_table(columns, rows)
    for one in versions if texts else ():
        if one["op"] == "add":
            print(f"\nversion {one['version']}:\n{one['text'].strip()}")


def _places(version: Mapping[str, Any]) -> str:
    """The positions of a version, by partition."""
    return ", ".join(f"{one['partition']}: {one['position']}" for one in version["positions"]) or "-"


def _reason(view: dict[str, Any]) -> str:
    return (view["reason"] or "").splitlines()[0] if view["reason"] else ""
