"""The check of streams' schemas: they exist, and fit the queries and their shedders."""

from __future__ import annotations

import re
from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, error, ok, warning
from saffron.cli.queries.texts import bind_text
from saffron.counted import counted
from saffron.engine.events.decoding.growth import given_anew
from saffron.engine.events.decoding.losses import loss_notices
from saffron.engine.events.json_schema import from_json_schema
from saffron.errors import QueryError, SchemaError
from saffron.language.cost.shedding import cannot_act
from saffron.schema.likely_times import seconds_notice
from saffron.schema.schema import Schema

_INTO = re.compile(r"\bINTO\b", re.IGNORECASE)
_BROKEN = ("schema", "unknown-schema", "bad-payload")
_HOUR_MS = 3_600_000


def check_schemas(look: Look) -> Iterator[Finding]:
    """Findings on each schema that was given: it goes with what events had, and the queries over the stream fit it."""
    known: dict[str, Schema] = {}
    for name, record in look.streams.items():
        if record.schema is not None:
            given, of_events = from_json_schema(record.schema), look.of_events.get(name)
            try:
                known[name] = given if of_events is None else given_anew(of_events, given)
            except SchemaError as contradiction:
                fix = f"saffron stream set {name} --schema FILE, with one that goes with it"
                yield error("schemas", f"the given one is not in force: {contradiction}", f"stream {name}", fix)
    texts = {name: query.record.text for name, query in look.queries.items()}
    composed = any(_INTO.search(text) for text in texts.values())  # then more types than the schema's are known
    for name, text in texts.items():
        yield from _query(look, name, text, known, composed)
    if known:
        yield ok("schemas", f"{len(known)} of {counted(len(look.streams), 'stream')} have one")


def check_broken(look: Look) -> Iterator[Finding]:
    """Findings on events that break their stream's schema."""
    broken = [one for one in look.letters if one.reason in _BROKEN and look.now - one.at < _HOUR_MS]
    least = "at least " if look.letters_since > look.now - _HOUR_MS else ""
    for topic in sorted({one.topic for one in broken}):
        of = [one for one in broken if one.topic == topic]
        breaks = counted(len(of), "event of the last hour breaks", "events of the last hour break")
        what = f"{least}{breaks} the stream's schema; the last: {of[-1].detail}"
        yield warning(
            "schemas",
            what,
            topic,
            f"correct the producer, or give the stream the new schema; saffron dlq show {of[-1].id}",
        )


def check_losses(look: Look) -> Iterator[Finding]:
    """Findings on values that windowing has not kept.

    They are of another kind than their attribute, or of attributes beyond the schema. A given schema leaves none out,
    so those of its stream are of the time before.
    """
    for (service, stream, partition), digests in sorted(look.sources().items(), key=str):
        newest = digests[-1]
        record = look.streams.get(str(stream))
        left_out = newest.left_out if record is None or record.schema is None else 0
        if service == "windowing":
            for sentence in loss_notices(newest.mistyped, left_out):
                place = f"stream {stream}, partition {partition}"
                yield warning("schemas", sentence, place, _fix(look, str(stream)))


def check_times(look: Look) -> Iterator[Finding]:
    """Findings on streams whose event times seem to be in another unit."""
    for (service, stream, partition), digests in sorted(look.sources().items(), key=str):
        if service == "windowing" and (count := digests[-1].in_seconds):
            record = look.streams.get(str(stream))
            fix = "`ts` is in milliseconds since 1970: correct the producer, or read the topic by a definition"
            if record is not None and record.definition is not None:
                fix = "saffron stream check FILE names the source; correct its `format`, as epoch_s"
            yield warning("times", seconds_notice(count), f"stream {stream}, partition {partition}", fix)


def _fix(look: Look, stream: str) -> str:
    """The command that makes values of a stream's attributes fit their kinds."""
    record = look.streams.get(stream)
    if record is not None and record.definition is not None:
        return f"say in its definition what they are read as (`as: number`): saffron stream show {stream} --definition"
    return f"saffron stream set {stream} --schema FILE"


def _query(look: Look, name: str, text: str, known: dict[str, Schema], composed: bool) -> Iterator[Finding]:
    """Findings on one query: its text, its shedder, its stream, and whether the text fits the stream's schema.

    `known`: schemas by stream. `composed`: some query makes events (INTO), so a schema does not have all types and
    the fit is not checked.
    """
    try:
        plan = bind_text(text, None, name).plan
    except QueryError as wrong:
        yield error(
            "queries", f"cannot be read: {wrong.message}", f"query {name}", f"saffron query replace {name} FILE"
        )
        return
    stream = plan.stream
    imprecise = stream in known and bool(known[stream].times)
    if why := cannot_act(
        plan, look.queries[name].record.shed, imprecise=imprecise
    ):  # no command of today adds such a query
        fix = f"saffron query replace {name} FILE --shed auto"
        yield warning("queries", f"nothing is shed of it: {why}", f"query {name}", fix)
    if stream not in look.streams:
        fix = f"saffron stream add {stream}, saffron stream apply FILE, or saffron query remove {name}"
        yield error("schemas", f"query {name} is over stream {stream!r}, which is not there", f"query {name}", fix)
    elif stream in known and not composed:
        try:
            bind_text(text, known[stream], name)
        except QueryError as wrong:
            fix = f"saffron query replace {name} FILE, or saffron stream set {stream} --schema FILE"
            yield error("schemas", f"query {name} does not fit it: {wrong.message}", f"stream {stream}", fix)
