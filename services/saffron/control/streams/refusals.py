"""Refusals of changes that the running services of a stream could not follow, each with an alternative."""

from __future__ import annotations

from dataclasses import replace

from saffron.control.checks import Refused, compiled
from saffron.control.streams.add_command import add_command
from saffron.control.streams.change import StreamChange, StreamContext, require_free
from saffron.counted import counted
from saffron.engine.events.decoding.growth import given_anew
from saffron.engine.events.json_schema import from_json_schema
from saffron.engine.operators.composition import bound, makers_first, require_timestamps, standing_plans
from saffron.errors import QueryError, SaffronError, SchemaError
from saffron.language.plan.plan import Plan
from saffron.language.syntax.delivery import made
from saffron.records.same_events import keyed_name, same_events
from saffron.records.stream import StreamRecord
from saffron.runtime.log.topics import DEFAULT_STREAM
from saffron.schema.schema import Schema
from saffron.schema.widening import narrowed

_Options = dict[str, str | int | None]
"""Options of `saffron stream add`; see `add_command`."""


def refuse_topic(before: StreamRecord, change: StreamChange, now: StreamContext) -> None:
    """Refused: another topic, source or format. Positions are offsets of this topic, in this format."""
    name = before.name
    if change.topic is not None and change.topic != before.topic:
        require_free(name, change.topic, now)
        raise Refused(
            409,
            "topic",
            f"stream {name!r} reads topic {before.topic}, and its positions are offsets there: that cannot change. "
            + _alternative(before, now, {"from": None, "topic": change.topic, "partitions": _missing(change, now)}),
        )
    if change.source is not None and change.source != before.source:
        of = f"is made from {before.source}" if before.source else "has a topic of its own"
        option: _Options = {"from": change.source, "topic": None, "format": None, "registry": None}
        option["key"] = change.key or before.key or "ATTR"
        raise Refused(409, "source", f"stream {name!r} {of}. " + _alternative(before, now, option))
    if change.format is not None and change.format != before.format and now.used(before.topic):
        raise Refused(
            409,
            "format",
            f"stream {name!r} has messages of format {before.format}, and some have been read. "
            + _alternative(
                before,
                now,
                {"format": change.format, "registry": change.registry},
                {"topic": "TOPIC", "format": change.format, "registry": change.registry},
            ),
        )
    have = now.partitions(before.topic)
    if change.partitions is not None and have is not None and change.partitions != have:
        if before.source is None:
            fix = f"`kafka-topics --alter --topic {before.topic} --partitions N` adds some"
        else:
            fix = _alternative(before, now, {"partitions": change.partitions})
        raise Refused(
            409, "partitions", f"topic {before.topic} has {counted(have, 'partition')}, not {change.partitions}. {fix}"
        )


def _missing(change: StreamChange, now: StreamContext) -> int | str | None:
    """The number of partitions with which a stream's new topic must be created first; None: it is there."""
    return None if now.partitions(change.topic or "") is not None else change.partitions or "N"


def refuse_key(before: StreamRecord, change: StreamChange, now: StreamContext) -> None:
    """Refused: another key. A key may be set where there was none, if producers use it already.

    An empty key, which earlier versions took, is none.
    """
    del now
    if change.key in (None, before.key) or (not before.key and before.source is None):
        return
    key = "has no key" if before.key is None else f"is keyed by {before.key}"
    another = same_events(before, keyed_name(before, change.key), change.key)
    raise Refused(
        409,
        "key",
        f"stream {before.name!r} {key}, by which its events lie in partitions: its key cannot change. "
        f"`{another}` makes another one of the same events",
    )


def refuse_schema(before: StreamRecord, change: StreamChange, now: StreamContext) -> None:
    """Refused: a narrower schema, or one without what a query waits for. Events must keep their attributes."""
    if change.schema is None:
        return
    given = from_json_schema(change.schema)
    _refuse_made(before, given, now)
    of_events = now.schema(replace(before, schema=None))
    if (contradiction := _contradiction(of_events, given)) is not None:
        raise Refused(409, "schema", f"stream {before.name!r}: {contradiction}. " + _other_schema(before, now))
    last = None if before.schema is None else from_json_schema(before.schema)
    if last is not None and _contradiction(of_events, last) is None and (lost := narrowed(last, given)):
        raise Refused(
            409,
            "schema",
            f"the new schema of stream {before.name!r} is narrower: {lost}. A running stream's schema may only grow. "
            + _other_schema(before, now),
        )
    _refuse_left_behind(before, given, now)


def _refuse_made(before: StreamRecord, given: Schema, now: StreamContext) -> None:
    """Refused: a new event type that a standing query makes (INTO). None can come from elsewhere."""
    known = now.schema(before) if before.schema is None else from_json_schema(before.schema)
    new = given.types.keys() - (known.types.keys() if known is not None else ())
    for name, text in now.queries.items():
        stream, made_type = made(text) or (None, None)
        if made_type in new and (stream or DEFAULT_STREAM) == before.name:
            raise Refused(
                409,
                "schema",
                f"query {name!r} makes the events of type {made_type!r} of stream {before.name!r} (INTO): leave the "
                f"type out of the schema, or remove the query first (`saffron query remove {name}`)",
            )


def _refuse_left_behind(before: StreamRecord, given: Schema, now: StreamContext) -> None:
    """Refused: a standing query waits for names that no event has had yet, and that the new schema does not have."""
    known = now.schema(before)
    if known is None:
        return
    standing = standing_plans(compiled, now.queries, known, before.name)
    later, plans = given_anew(known, given), dict[str, Plan]()
    for name in makers_first(compiled, {name: now.queries[name] for name in standing}):
        try:
            plans[name] = bound(compiled, now.queries[name], later, name, plans)
            require_timestamps(standing[name].timestamps, plans[name])
        except SaffronError as error:
            why = error.message if isinstance(error, QueryError) else str(error)
            raise Refused(
                409,
                "schema",
                f"query {name!r} of stream {before.name!r} does not fit the new schema: {why}. Name what it "
                f"reads in the schema, or remove the query first (`saffron query remove {name}`)",
            ) from error


def _contradiction(of_events: Schema | None, given: Schema) -> SchemaError | None:
    """The reason why a given schema cannot be in force beside that of the events; None if it can."""
    try:
        if of_events is not None:
            given_anew(of_events, given)
    except SchemaError as error:
        return error
    return None


def _other_schema(before: StreamRecord, now: StreamContext) -> str:
    """The alternative to a refused schema: another stream is made of the same events."""
    other: _Options = {"from": before.source or before.name, "topic": None, "format": None, "registry": None}
    other["key"] = before.key or (None if before.is_routed else "ATTR")
    return _alternative(before, now, {"schema": "FILE"}, {**other, "schema": "FILE"})


def _alternative(before: StreamRecord, now: StreamContext, changed: _Options, other: _Options | None = None) -> str:
    """The commands instead of a refused change: of another stream, or of this one begun anew.

    `changed`: the options that differ. `other`: those of another stream, where it needs others.
    """
    another = add_command(before, now.prefix, f"{before.name}_2", **(changed if other is None else other))
    if before.name == DEFAULT_STREAM:
        return f"`{another}` makes another stream"
    return (
        f"`{another}` makes another stream; or `saffron stream remove {before.name}` and "
        f"`{add_command(before, now.prefix, before.name, **changed)}` begin it anew: what its queries have under way "
        "is dropped"
    )
