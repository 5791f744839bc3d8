"""Changes of streams, checked before they are written: add, set, remove. Command and API both use them.

A change names only what is to differ. A change that running services could not follow is refused, with an alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from saffron.control.checks import Partitions, Refused
from saffron.engine.events.decoding.growth import given_anew
from saffron.engine.events.json_schema import from_json_schema
from saffron.errors import SchemaError
from saffron.records.stream import FORMATS, JSON, WITH_REGISTRY, StreamRecord, is_name
from saffron.runtime.log import TopicSpec
from saffron.runtime.log.topics import DEFAULT_STREAM, Topics, stream_topics, topic_files
from saffron.schema.schema import Schema
from saffron.schema.widening import narrowed


@dataclass(frozen=True)
class StreamChange:
    """The wanted properties of a stream; None: unchanged. Times are in ms; `idle` 0: never."""

    name: str
    topic: str | None = None
    key: str | None = None
    source: str | None = None
    schema: Mapping[str, Any] | None = None
    format: str | None = None
    registry: str | None = None
    disorder: int | None = None
    idle: int | None = None
    partitions: int | None = None


@dataclass(frozen=True)
class StreamContext:
    """The state of the system that a change is checked against.

    `streams`: by name. `partitions`: number of a topic. `used`: whether a topic was ever written to. `disorder`,
    `idle`: settings of the default stream where its record has none. `unreadable`: names whose newest record cannot be
    read. `schema`: a stream's schema in force.
    """

    prefix: str
    streams: Mapping[str, StreamRecord]
    partitions: Partitions
    used: Callable[[str], bool]
    disorder: int = 0
    idle: int | None = None
    unreadable: frozenset[str] = frozenset()
    schema: Callable[[StreamRecord], Schema | None] = field(default=lambda record: None)


@dataclass(frozen=True)
class StreamPlan:
    """A change that can be made.

    `before`: the present record, None for a new stream. `topics`: to be created before the record is written.
    `partitions`: of the stream's topic. `unreadable`: the present record cannot be read.
    """

    before: StreamRecord | None
    record: StreamRecord
    topics: list[TopicSpec]
    partitions: int
    unreadable: bool = False

    @property
    def is_change(self) -> bool:
        """Whether the record differs from the present one."""
        return self.unreadable or self.record != self.before


def plan_change(change: StreamChange, now: StreamContext) -> StreamPlan:
    """The stream after the change, a new one where the name is new. Refused: impossible, with an alternative."""
    _check(change)
    before = now.streams.get(change.name)
    if before is not None:
        return _changed(before, change, now)
    record = _new(change, now) if change.source is None else _rekeyed(change, change.source, now)
    return _with_topics(None, record, change, now)


def plan_update(change: StreamChange, now: StreamContext) -> StreamPlan:
    """The stream after the change. Refused: also where the stream does not exist."""
    _existing(change.name, now)
    return plan_change(change, now)


def check_removal(name: str, now: StreamContext) -> StreamRecord:
    """The stream, if it can be removed. Refused: it does not exist, is the default one, or another is made from it."""
    if name in now.unreadable and name not in now.streams:
        return StreamRecord(name, now.prefix + name)  # nothing else is known
    record = _existing(name, now)
    if name == DEFAULT_STREAM:
        raise Refused(
            409, "default", f"stream {name!r} is there from the start and stays; `saffron stream set` changes it"
        )
    made = sorted(one.name for one in now.streams.values() if one.source == name)
    if made:
        first = f"`saffron stream remove {made[0]}`"
        raise Refused(409, "source", f"{', '.join(made)} is made from stream {name!r}: remove that first ({first})")
    return record


# ---------------------------------------------------------------- new streams


def _new(change: StreamChange, now: StreamContext) -> StreamRecord:
    """The record of a new stream on a topic of its own."""
    topic = change.topic or now.prefix + change.name
    _require_free(change.name, topic, now)
    record = StreamRecord(
        name=change.name,
        topic=topic,
        key=change.key,
        schema=change.schema,
        disorder=change.disorder or 0,
        idle=change.idle or None,
        format=change.format or JSON,
        registry=change.registry,
    )
    while _inner_topics_used(record, now):
        record = record.of_next_generation()
    return record


def _rekeyed(change: StreamChange, source: str, now: StreamContext) -> StreamRecord:
    """The record of a stream made from another one, under another key. `windowing` writes its topic."""
    name, origin = change.name, now.streams.get(source)
    if origin is None:
        raise Refused(
            404, "source", f"there is no stream {source!r} to make {name!r} from; `saffron stream list` lists them"
        )
    if origin.source is not None:
        raise Refused(
            409, "source", f"stream {source!r} is made from {origin.source} itself: give --from {origin.source}"
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
        source=source,
        format=origin.format,
        registry=origin.registry,
    )
    while now.used(record.topic) or _inner_topics_used(record, now):
        record = record.of_next_generation()
        record = replace(record, topic=now.prefix + record.stem)
    _require_free(name, record.topic, now)
    return record


def _inner_topics_used(record: StreamRecord, now: StreamContext) -> bool:
    """Whether an internal topic of this generation was written to: one of them may have been created again."""
    topics = Topics(now.prefix)
    return any(now.used(topic) for topic in (topics.windows_of(record.stem), topics.admitted_of(record.stem)))


def _require_free(name: str, topic: str, now: StreamContext) -> None:
    """Refused: the topic is another stream's, or one of Saffron's own."""
    for other in now.streams.values():
        if other.topic == topic and other.name != name:
            raise Refused(
                409,
                "topic",
                f"topic {topic!r} is stream {other.name!r}'s: ask FROM {other.name}, or make {name!r} from it "
                f"(`saffron stream add {name} --from {other.name} --key ATTR`)",
            )
    if (inner := Topics(now.prefix).stream_of(topic)) is not None:
        raise Refused(
            409, "topic", f"topic {topic!r} is an inner one of stream {inner!r}: name the topic of your events"
        )
    if topic.removeprefix(now.prefix) in topic_files() and topic.startswith(now.prefix):
        raise Refused(
            409,
            "topic",
            f"topic {topic!r} is Saffron's own: name the topic of your events. INTO makes events of results, which "
            "other queries read",
        )


# ---------------------------------------------------------------- streams that are there


def _changed(before: StreamRecord, change: StreamChange, now: StreamContext) -> StreamPlan:
    """The plan of a change to an existing stream."""
    for refuse in (_refuse_topic, _refuse_key, _refuse_schema):
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
    )
    return _with_topics(before, record, change, now)


def _refuse_topic(before: StreamRecord, change: StreamChange, now: StreamContext) -> None:
    """Refused: another topic, source or format. Positions are offsets of this topic, in this format."""
    name, alternative = before.name, _alternative(before)
    if change.topic is not None and change.topic != before.topic:
        _require_free(name, change.topic, now)
        raise Refused(
            409,
            "topic",
            f"stream {name!r} reads topic {before.topic}, and its positions are offsets there: that cannot change. "
            + alternative.format(f"--topic {change.topic}"),
        )
    if change.source is not None and change.source != before.source:
        of = f"is made from {before.source}" if before.source else "has a topic of its own"
        raise Refused(409, "source", f"stream {name!r} {of}. " + alternative.format(f"--from {change.source}"))
    if change.format is not None and change.format != before.format and now.used(before.topic):
        raise Refused(
            409,
            "format",
            f"stream {name!r} has messages of format {before.format}, and some have been read. "
            + alternative.format(f"--format {change.format}"),
        )
    have = now.partitions(before.topic)
    if change.partitions is not None and have is not None and change.partitions != have:
        if before.source is None:
            fix = f"`kafka-topics --alter --topic {before.topic} --partitions N` adds some"
        else:
            fix = alternative.format(f"--from {before.source} --partitions {change.partitions}")
        raise Refused(409, "partitions", f"topic {before.topic} has {have} partitions, not {change.partitions}. {fix}")


def _refuse_key(before: StreamRecord, change: StreamChange, now: StreamContext) -> None:
    """Refused: another key. A key may be set where there was none, if producers use it already."""
    del now
    if change.key in (None, before.key) or (before.key is None and before.source is None):
        return
    source = before.source or before.name
    key = "has no key" if before.key is None else f"is keyed by {before.key}"
    raise Refused(
        409,
        "key",
        f"stream {before.name!r} {key}, by which its events lie in partitions: its key cannot change. `saffron stream "
        f"add {source}_by_{change.key} --from {source} --key {change.key}` makes another one of the same events",
    )


def _refuse_schema(before: StreamRecord, change: StreamChange, now: StreamContext) -> None:
    """Refused: a narrower schema. Events must stay events, with the same attributes."""
    if change.schema is None:
        return
    if before.schema is None:
        _refuse_unlike(before, from_json_schema(change.schema), now)
        return
    lost = narrowed(from_json_schema(before.schema), from_json_schema(change.schema))
    if lost:
        raise Refused(
            409,
            "schema",
            f"the new schema of stream {before.name!r} is narrower: {lost}. A running stream's schema may only grow. "
            + _alternative(before).format("--schema FILE"),
        )


def _refuse_unlike(before: StreamRecord, given: Schema, now: StreamContext) -> None:
    """Refused: a given schema that contradicts the inferred one."""
    inferred = now.schema(before)
    if inferred is None:
        return
    try:
        given_anew(inferred, given)
    except SchemaError as error:
        raise Refused(
            409, "schema", f"stream {before.name!r}: {error}. " + _alternative(before).format("--schema FILE")
        ) from error


def _alternative(before: StreamRecord) -> str:
    """A text with an alternative to a refused change, with a placeholder for the option."""
    other = f"`saffron stream add {before.name}_2 {{0}}` makes another stream"
    if before.name == DEFAULT_STREAM:
        return other
    return (
        f"{other}; or `saffron stream remove {before.name}` and `saffron stream add {before.name} {{0}}` begin it "
        "anew: what its queries have under way is dropped"
    )


# ---------------------------------------------------------------- shared


def _with_topics(
    before: StreamRecord | None, record: StreamRecord, change: StreamChange, now: StreamContext
) -> StreamPlan:
    """The plan with missing topics.

    Refused: the stream's own topic is missing, and no number of partitions is given.
    """
    current = now.partitions(record.topic)
    count = change.partitions if current is None else current
    if count is None and record.source is not None:
        count = now.partitions(now.streams[record.source].topic)
    if count is None:
        raise Refused(
            409,
            "topic",
            f"topic {record.topic!r} does not exist: name another with --topic, or create it with --partitions N",
        )
    if before is None and change.partitions not in (None, count):
        raise Refused(
            409, "partitions", f"topic {record.topic!r} has {count} partitions, not {change.partitions}: leave that out"
        )
    topics = [topic_files()["events"].spec(record.topic, count), *stream_topics(now.prefix, record.stem, count)]
    missing = [one for one in topics if now.partitions(one.name) is None]
    return StreamPlan(before, record, missing, count, record.name in now.unreadable)


def _existing(name: str, now: StreamContext) -> StreamRecord:
    if name not in now.streams:
        known = ", ".join(now.streams)
        raise Refused(404, "unknown", f"there is no stream {name!r}; streams: {known}")
    return now.streams[name]


def _check(change: StreamChange) -> None:
    """Refused: a part of the change is invalid in itself."""
    if not is_name(change.name):
        raise Refused(400, "name", f"{change.name!r} is no name of a stream: letters, digits, _ and -")
    if change.schema is not None:
        try:
            from_json_schema(change.schema)
        except SchemaError as error:
            raise Refused(400, "schema", f"the schema cannot be used: {error}") from error
    if change.format is not None:
        _check_format(change.format, change.registry)
    if change.registry is not None:
        _check_registry(change.registry)


def _check_format(form: str, registry: str | None) -> None:
    if form not in FORMATS:
        raise Refused(400, "format", f"{form!r} is no format of messages; there are {', '.join(FORMATS)}")
    if form in WITH_REGISTRY and registry is None:
        raise Refused(400, "format", f"--format {form} needs --registry URL, which knows the messages' schemas")
    if form not in WITH_REGISTRY and registry is not None:
        raise Refused(400, "format", f"--registry is for avro and protobuf; messages of --format {form} need none")


def _check_registry(registry: str) -> None:
    parts = urlsplit(registry)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused(400, "registry", f"--registry: {registry!r} is not http://HOST:PORT or https://HOST:PORT")
    if parts.username is not None:
        raise Refused(
            400,
            "registry",
            "--registry: the stream's record is for all to read: give name and password to windowing, as the setting "
            "registry_auth (SAFFRON_REGISTRY_AUTH=USER:PASSWORD)",
        )
