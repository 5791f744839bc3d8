"""Plans of changes of streams, checked before they are written: add, set, remove. Command and API both use them.

A change names only the properties that are to differ. A change that running services could not follow is refused, with
an alternative.
"""

from __future__ import annotations

from dataclasses import replace

from saffron.control.checks import Refused
from saffron.control.streams.change import (
    StreamChange,
    StreamContext,
    StreamPlan,
    check_values,
    require_free,
    require_new_name,
)
from saffron.control.streams.definitions import plan_bounds
from saffron.control.streams.refusals import refuse_key, refuse_schema, refuse_topic
from saffron.control.streams.stream_topics import inner_topics_used, with_topics
from saffron.records.stream import JSON, WITH_REGISTRY, StreamRecord
from saffron.runtime.log.topics import DEFAULT_STREAM, Topics
from saffron.runtime.streams.unknown_names import no_stream


def plan_change(change: StreamChange, now: StreamContext) -> StreamPlan:
    """The stream after the change, a new one where the name is new. Refused: impossible, with an alternative."""
    check_values(change)
    before = now.streams.get(change.name)
    if before is not None and before.definition is not None:
        return plan_bounds(change, before, now)
    if before is not None:
        return _changed(before, change, now)
    require_new_name(change.name)
    record = _new(change, now) if change.source is None else _rekeyed(change, change.source, now)
    return with_topics(None, record, change, now)


def plan_update(change: StreamChange, now: StreamContext) -> StreamPlan:
    """The stream after the change. Refused: also where the stream does not exist."""
    _existing(change.name, now)
    return plan_change(change, now)


def check_removal(name: str, now: StreamContext) -> StreamRecord:
    """The stream, if it can be removed. Refused: it does not exist, or another is made from it.

    The default one, which always exists, begins anew instead (`plan_anew`). Its topic stays, and so do those made from
    it.
    """
    if name in now.unreadable and name not in now.streams:
        return StreamRecord(name, now.prefix + name)  # nothing else is known
    record = _existing(name, now)
    if begins_anew(name):
        return record
    made = sorted(one.name for one in now.streams.values() if one.source == name)
    if made:
        first = ", ".join(f"`saffron stream remove {one}`" for one in made)
        verb, those = ("is", "that") if len(made) == 1 else ("are", "those")
        raise Refused(
            409, "source", f"{', '.join(made)} {verb} made from stream {name!r}: remove {those} first ({first})"
        )
    return record


def begins_anew(name: str) -> bool:
    """True of the default stream, which a removal begins anew. Of others nothing is left."""
    return name == DEFAULT_STREAM


def plan_anew(name: str, now: StreamContext) -> StreamPlan:
    """The default stream as it is after its removal: its next generation, with the same settings."""
    record = check_removal(name, now)
    following = record.of_next_generation()
    while inner_topics_used(following, now):
        following = following.of_next_generation()
    return with_topics(record, following, StreamChange(record.name), now)


def left_topics(record: StreamRecord, topics: Topics) -> list[str]:
    """The topics that a removed stream leaves: Saffron wrote them, and no stream reads them.

    Those that `saffron up` creates are left out.
    """
    if record.name == DEFAULT_STREAM and record.generation == 1:
        return []
    inner = [topics.windows_of(record.stem), topics.admitted_of(record.stem)]
    return [*inner, record.topic] if record.is_routed else inner


# ---------------------------------------------------------------- new streams


def _new(change: StreamChange, now: StreamContext) -> StreamRecord:
    """The record of a new stream on a topic of its own."""
    topic = change.topic or now.prefix + change.name
    require_free(change.name, topic, now)
    record = StreamRecord(
        name=change.name,
        topic=topic,
        key=change.key,
        schema=change.schema,
        disorder=change.disorder or 0,
        idle=change.idle or None,
        silence=change.silence or None,
        format=change.format or JSON,
        registry=change.registry,
    )
    while inner_topics_used(record, now):
        record = record.of_next_generation()
    return record


def _rekeyed(change: StreamChange, source: str, now: StreamContext) -> StreamRecord:
    """The record of a new stream with the events of `source` under another key. `windowing` writes its topic.

    Settings that the change leaves out are those of the source. A source that does not exist is refused, and so is one
    that is made from another stream, or merged. A change that gives a topic, a format or a registry is refused. One
    without a key is refused where there is more than one partition.
    """
    name, origin = change.name, now.streams.get(source)
    if origin is None:
        raise Refused(404, "source", no_stream(source, now.streams, f"{name!r} cannot be made from it"))
    if origin.source is not None:
        raise Refused(
            409, "source", f"stream {source!r} is made from {origin.source} itself: give --from {origin.source}"
        )
    if origin.definition is not None:
        raise Refused(
            409, "source", f"stream {source!r} is a merged stream: apply its definition under another name and key"
        )
    if change.topic is not None or change.format is not None or change.registry is not None:
        raise Refused(400, "source", "a topic and a format are of a stream of its own; with --from leave them out")
    count = change.partitions or now.partitions(origin.topic)
    if change.key is None and count != 1:
        raise Refused(400, "key", "--from needs --key ATTR, or --partitions 1: all events in one partition")
    default = origin.name == DEFAULT_STREAM
    disorder = (now.disorder if default else 0) if origin.disorder is None else origin.disorder
    idle = now.idle if origin.idle is None and default else origin.idle
    record = StreamRecord(
        name=name,
        topic=now.prefix + name,
        key=change.key,
        schema=origin.schema if change.schema is None else change.schema,
        disorder=disorder if change.disorder is None else change.disorder,
        idle=idle if change.idle is None else change.idle or None,
        silence=origin.silence if change.silence is None else change.silence or None,
        source=source,
        format=origin.format,
        registry=origin.registry,
    )
    while now.used(record.topic) or inner_topics_used(record, now):
        record = record.of_next_generation()
        record = replace(record, topic=now.prefix + record.stem)
    require_free(name, record.topic, now)
    return record


# ---------------------------------------------------------------- existing streams


def _changed(before: StreamRecord, change: StreamChange, now: StreamContext) -> StreamPlan:
    """The plan of a change to an existing stream."""
    for refuse in (refuse_topic, refuse_key, refuse_schema):
        refuse(before, change, now)
    if change.registry is not None and (change.format or before.format) not in WITH_REGISTRY:
        raise Refused(400, "registry", f"stream {before.name!r} has messages of format {before.format}: no registry")
    record = replace(
        before,
        key=before.key if change.key is None else change.key,
        schema=before.schema if change.schema is None else change.schema,
        format=before.format if change.format is None else change.format,
        registry=before.registry if change.registry is None else change.registry,
        disorder=before.disorder if change.disorder is None else change.disorder,
        idle=before.idle if change.idle is None else change.idle or None,
        silence=before.silence if change.silence is None else change.silence or None,
    )
    return with_topics(before, record, change, now)


# ---------------------------------------------------------------- shared


def _existing(name: str, now: StreamContext) -> StreamRecord:
    """The record of a stream; Refused if it does not exist."""
    if name not in now.streams:
        raise Refused(404, "unknown", no_stream(name, now.streams))
    return now.streams[name]
