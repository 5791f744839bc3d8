"""The first events of a replay: a schema is inferred from them, and they say why a query does not bind to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from saffron.counted import counted
from saffron.engine.events.decoding.decode import Decoder
from saffron.engine.events.decoding.infer import INFER_EVENTS
from saffron.engine.events.raw import RawBatch
from saffron.errors import InputError, QueryError, SaffronError
from saffron.runtime.replay.merged_stream import InnerFiles, MergedMessages
from saffron.runtime.streams.whole_tables import table_notices
from saffron.schema.schema import Schema

_INFERRED = (
    "These are the names in the first {}. --lenient (lenient=True) lets others through;"
    " --schema FILE (schema=...) says which there are."
)
_EMPTY = (
    "The input is empty: it has no events that names could be learned from."
    " --lenient (lenient=True) lets any through; --schema FILE (schema=...) says which there are."
)
_NO_EVENTS = (
    "Messages of another form need a definition: `saffron stream infer FILE --name NAME` proposes one, for --stream."
)
_OVER_LINES = "Each line is one event. {} writes them so."
_SHOWN = 200
"""Bytes of a bad record shown in an error."""


def first_events(source: Iterator[RawBatch]) -> list[RawBatch]:
    """Batches until there are enough events to infer a schema."""
    head: list[RawBatch] = []
    while sum(map(len, head)) < INFER_EVENTS and (batch := next(source, None)) is not None:
        head.append(batch)
    return head


def explained(
    error: QueryError, schema: Schema, head: Sequence[RawBatch], merged: MergedMessages | InnerFiles | None = None
) -> SaffronError:
    """The error with a hint about the inferred schema, or about an input without events.

    `head`: the batches from which the schema was inferred, unless it was given. `merged`: of a definition, which says
    the names of attributes; a hint at a schema would mislead.
    """
    if error.stage != "schema" or schema.given:
        return error
    if merged is not None:
        if not schema.types:
            return _without_events(error, merged)
        left_out = list(table_notices(merged.tables, {})) if error.unknown else []
        return _hinted(error, "\n".join(filter(None, [error.hint, *left_out]))) if left_out else error
    records = min(sum(map(len, head)), INFER_EVENTS)
    if bad := _no_event(head, schema):
        return InputError(f"none of the first {counted(records, 'record')} is an event. The first: {bad}")
    if not error.unknown:
        return error
    hint = f"{error.hint}\n{_INFERRED.format(counted(records, 'record'))}".lstrip() if records else _EMPTY
    return _hinted(error, hint)


def _without_events(error: QueryError, merged: MergedMessages | InnerFiles) -> SaffronError:
    """The error of a query where the messages of a definition have given no event, with the reason."""
    why = list(merged.counts.notices())
    if bad := merged.dead_letters():
        why.append(f"No message was an event. The first: {bad[0].place}: {bad[0].reason}: {bad[0].detail}")
    return _hinted(error, "\n".join(filter(None, [error.hint, *(why or ["The input is empty."])])))


def _hinted(error: QueryError, hint: str) -> QueryError:
    return QueryError(error.message, stage=error.stage, text=error.text, start=error.start, end=error.end, hint=hint)


def _no_event(head: Sequence[RawBatch], schema: Schema) -> str:
    """The error of the first record, the record, and what to do, if none is an event; else ""."""
    decoder = Decoder(schema)
    decoded = [(batch, decoder.decode(batch)) for batch in head]
    if any(len(found.rows) for _, found in decoded):
        return ""
    for batch, found in decoded:
        for bad in found.bad:
            record = batch.value(bad.row)
            shown = record[:_SHOWN].decode("utf-8", "replace")
            hint = _not_json(record) if bad.reason == "not-json" else _NO_EVENTS
            return f"{bad.reason}: {bad.detail}\n{shown}\n{hint}".rstrip("\n")
    return ""


def _not_json(record: bytes) -> str:
    """The hint for a record that is no JSON: it may be a part of a JSON text that has several lines."""
    first = record.strip()
    if first.startswith(b"["):
        return _OVER_LINES.format("`jq -c '.[]' FILE`")
    return _OVER_LINES.format("`jq -c . FILE`") if first.startswith(b"{") and not first.endswith(b"}") else ""
