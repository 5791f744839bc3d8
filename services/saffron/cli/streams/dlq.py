"""`saffron dlq`: dead letters, listed, shown, corrected and sent again."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from saffron.cli import console, options
from saffron.cli.client import Client, connection
from saffron.cli.parsed import letter_id
from saffron.cli.streams.editor import edit as edited
from saffron.counted import counted
from saffron.errors import InputError
from saffron.given_files import bytes_of
from saffron.records.stream import StreamRecord
from saffron.runtime.dead_letters.correction import Correction
from saffron.runtime.dead_letters.letters import Letter
from saffron.runtime.dead_letters.reading import LOOKED_AT, DeadLetters, Found, LetterFilter
from saffron.runtime.dead_letters.sending import ResendRefusedError, Sender, Sources, described, require_message
from saffron.runtime.dead_letters.showing import encoded, row_of, whole
from saffron.runtime.process.clock_watch import wall_ms
from saffron.runtime.streams.unknown_names import no_stream

app = typer.Typer(add_completion=False, rich_markup_mode="markdown", no_args_is_help=True)

Reason = Annotated[str | None, typer.Option(help="Only those of this reason: late, not-json, schema, ...")]
Stream = Annotated[str | None, typer.Option(help="Only those of this stream.")]


@app.callback()
def dlq() -> None:
    """Dead letters: what was no event of its stream, came too late, or too large a result. List, show, send again."""


@app.command("list")
@options.of_system
def list_letters(
    reason: Reason = None,
    stream: Stream = None,
    count: Annotated[int, typer.Option(min=1, help="The newest so many.")] = 20,
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """List dead letters, the newest first, with their reasons; and how many there are of each reason.

    Examples:

        saffron dlq list

        saffron dlq list --reason schema --count 100 --json
    """
    with connection(system.connected()) as client:
        desk = _desk(client)
        found = desk.newest(desk.of_stream(_record(client, stream), reason), count, max(LOOKED_AT, count))
        names = _names(client)
    rows = [row_of(one, desk.stream_of(one, names)) for one in found.letters]
    if json:
        console.print_json(
            {"letters": rows, "reasons": found.reasons, "looked_at": found.looked_at, "whole": found.whole}
        )
        return
    columns = ("id", "time (UTC)", "stream", "reason", "sent again", "detail")
    cells = [
        (one["id"], console.moment(one["at"]), one["stream"] or "-", one["reason"], _sent(one), one["detail"])
        for one in rows
    ]
    console.print_table(columns, cells)
    console.say(summary(found))


@app.command()
@options.of_system
def show(
    letter: Annotated[
        str,
        typer.Argument(parser=letter_id, metavar="ID", help="TOPIC/PARTITION/OFFSET, as `list` prints it."),
    ],
    hex: Annotated[bool, typer.Option("--hex", help="The bytes as hex beside their characters.")] = False,
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Show one dead letter: what is wrong, with the place in its bytes; its key and headers; whether it was sent again.

    Examples:

        saffron dlq show events/0/17

        saffron dlq show events/0/17 --hex
    """
    with connection(system.connected()) as client:
        desk = _desk(client)
        one = desk.find(letter)
        view = whole(one, desk.stream_of(one, _names(client)), desk.original(one))
    if json:
        console.print_json(view)
        return
    at = console.moment(view["at"])
    print(f"{view['id']}, stream {view['stream'] or '-'}, {counted(view['bytes'], 'byte')}, put aside at {at}")
    gone = "the message is no longer in its topic" if view["result"] is None else "a result: its bytes are not kept"
    print(f"key {view['key']!r}, headers {view['headers']}" if view["original"] else gone)
    print(f"sent again: {_sent(view)}\n\n{view['hex'] if hex else view['shown']}")


@app.command("send-again")
@options.of_system
def send_again(
    letters: Annotated[
        list[str] | None,
        typer.Argument(parser=letter_id, metavar="ID...", help="TOPIC/PARTITION/OFFSET, as `list` prints them."),
    ] = None,
    reason: Annotated[str | None, typer.Option(help="All of this reason that were not sent again yet.")] = None,
    stream: Stream = None,
    put: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="ATTR=VALUE", help="Give an attribute this value: price=12.5, Records[1].at=..."),
    ] = None,
    unset: Annotated[list[str] | None, typer.Option(metavar="ATTR", help="Leave an attribute out.")] = None,
    file: Annotated[Path | None, typer.Option(help="Send this file's bytes instead; - is standard input.")] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Open the message in $EDITOR first.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Also what was sent again before.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be sent, and send nothing.")] = False,
    *,
    system: options.System,
    json: options.AsJson = False,
) -> None:
    """Send messages to their streams again: the original bytes under the original key, or corrected.

    Each is checked first: what would be late, or a dead letter again, is not sent, nor is what was sent already.
    A message that is sent has a header `dead-letter` with the ID. Nothing is deleted. Status 1 if any was not sent.

    Examples:

        saffron dlq send-again events/0/17 --set price=12.5 --unset pirce

        saffron dlq send-again events/0/17 --edit

        saffron dlq send-again --reason schema --dry-run
    """
    _require_sensible(letters or [], reason, file, edit)
    if letters and stream is not None:
        raise typer.BadParameter("--stream says which of a --reason: leave it out beside IDs")
    given = dict(map(_assignment, put or []))
    with connection(system.connected()) as client:
        desk, sources = _desk(client), Sources(client.streams().values())
        chosen = [desk.find(one) for one in letters or []]
        if reason is not None:
            chosen += _not_sent(desk, desk.of_stream(_record(client, stream), reason), again)
        value = _by_hand(chosen[0]) if edit else _read(file) if file else None
        correction = Correction(value, given, tuple(unset or ()))
        settings = client.settings
        sender = Sender(desk, settings.group("cli-dlq"), settings.max_future_ms, settings.registry_auth)
        outcomes: list[dict[str, Any]] = []
        try:
            for one in chosen:
                outcomes += [_try(sender, one, sources, correction, again, dry_run)]
        finally:
            _tell(outcomes, json)  # also of what was sent before an error
    if not outcomes:
        console.say("there is nothing to send")
    if any(one["refused"] for one in outcomes):
        raise typer.Exit(1)


# ---------------------------------------------------------------- shared


def _desk(client: Client) -> DeadLetters:
    return DeadLetters(client.log, client.topics, client.settings.group("cli-dlq"))


def _names(client: Client) -> dict[str, str]:
    """The streams' names by their topics."""
    return {stream.topic: stream.name for stream in client.streams().values()}


def _record(client: Client, stream: str | None) -> StreamRecord | None:
    """The stream of that name, or None for all streams. InputError: there is no such stream."""
    if stream is None:
        return None
    streams = client.streams()
    record = streams.get(stream)
    if record is None:
        raise InputError(no_stream(stream, streams))
    return record


def _not_sent(desk: DeadLetters, wanted: LetterFilter, again: bool) -> list[Letter]:
    chosen = [one for one in desk.all_of(wanted) if again or not one.attempts]
    return list({one.id: one for one in chosen}.values())  # several streams may have refused a message


def _try(
    sender: Sender,
    letter: Letter,
    known: Sources,
    correction: Correction,
    again: bool,
    dry_run: bool,
) -> dict[str, Any]:
    """Send one dead letter, and return the outcome. Messages of one call go out in the order of their dead letters.

    A letter that the correction does not fit is refused, and keeps no other from being sent.
    """
    outcome = {"id": letter.id, "sent": False, "refused": None, "topic": letter.topic, "partition": None, "key": None}
    try:
        sending = sender.prepare(letter, known, correction, wall_ms(), again=again)
    except ResendRefusedError as error:
        return {**outcome, "refused": str(error)}
    except InputError as error:
        return {**outcome, "refused": f"{letter.id}: {error}"}
    if not dry_run:
        sender.send(sending)
    return {**outcome, **described(sending), "sent": not dry_run}


def _tell(outcomes: Sequence[Mapping[str, Any]], json: bool) -> None:
    """Print the outcomes: as one document, or a line each."""
    if json:
        console.print_json(outcomes)
    for one in () if json else outcomes:
        _say(one)


def _say(outcome: Mapping[str, Any]) -> None:
    """Print the outcome of one dead letter."""
    if outcome["refused"]:
        console.say(f"not sent: {outcome['refused']}")
        return
    place = f"{outcome['topic']}/{outcome['partition']}, key {outcome['key']!r}"
    console.say(f"{'sent' if outcome['sent'] else 'would be sent'}: {outcome['id']} to {place}: {outcome['value']}")
    for note in outcome["notes"]:
        console.say(f"  note: {note}")


def _require_sensible(letters: Sequence[str], reason: str | None, file: Path | None, edit: bool) -> None:
    if bool(letters) == (reason is not None):
        raise typer.BadParameter("name dead letters by their IDs, or all of a --reason")
    if file is not None and edit:
        raise typer.BadParameter("--file and --edit exclude each other")
    if (file is not None or edit) and len(letters) != 1:
        raise typer.BadParameter("--file and --edit are for one ID")


def _by_hand(letter: Letter) -> bytes:
    """The message as corrected in the user's editor. InputError: it is no text."""
    require_message(letter)
    text, encoding = encoded(letter.value)
    if encoding != "utf-8":
        raise InputError(f"{letter.id} is no text: give its bytes with --file")
    return edited(text or "", ".json").removesuffix("\n").encode()


def _read(path: Path) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read().removesuffix(b"\n")
    return bytes_of(path).removesuffix(b"\n")


def _assignment(text: str) -> tuple[str, Any]:
    """The attribute and value of price=12.5: a JSON value (12.5, true, null, "12"), else text."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise typer.BadParameter(f"{text!r} is no ATTR=VALUE, such as price=12.5", param_hint="--set")
    try:
        return name, orjson.loads(value)
    except orjson.JSONDecodeError:
        return name, value


def _sent(row: Mapping[str, Any]) -> str:
    if not row["sent"]:
        return "-"
    last = row["sent"][-1]
    return console.moment(last["at"]) if last["done"] else f"perhaps, {console.moment(last['at'])}"


def summary(found: Found) -> str:
    """How many letters there are of each reason, whichever was asked for."""
    asked = "none of this reason; " if found.reasons and not found.letters else ""
    counts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(found.reasons.items())) or "none"
    return f"{asked}{counts}{'' if found.whole else f' (among the newest {found.looked_at:,})'}"
