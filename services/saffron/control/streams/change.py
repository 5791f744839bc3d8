"""A wanted change of a stream, the state that it is checked against, and the checks of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.control.checks import Partitions, Refused
from saffron.durations import MOST
from saffron.engine.events.json_schema import from_json_schema
from saffron.errors import SchemaError
from saffron.mapping.definition_reader import MAX_PARTITIONS, is_registry
from saffron.records.same_events import same_events
from saffron.records.stream import FORMATS, NEW_NAMES, WITH_REGISTRY, StreamRecord, is_new_name
from saffron.runtime.log import TopicSpec
from saffron.runtime.log.topics import Topics, topic_files
from saffron.schema.schema import Schema


@dataclass(frozen=True)
class StreamChange:
    """The wanted properties of a stream; None: unchanged. Times are in ms; `idle`, `silence` 0: never."""

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
    silence: int | None = None


@dataclass(frozen=True)
class StreamContext:
    """The state of the system that a change is checked against.

    `streams`: by name. `partitions`: number of a topic. `used`: whether a topic was ever written to. `disorder`,
    `idle`: settings of the default stream where its record has none. `unreadable`: names whose newest record cannot be
    read. `schema`: a stream's schema in force. `queries`: the texts of standing queries by name. `topics`: all names of
    topics that there are. `next_offset`: after the last message of `streams`; no version of a record exceeds it.
    """

    prefix: str
    streams: Mapping[str, StreamRecord]
    partitions: Partitions
    used: Callable[[str], bool]
    disorder: int = 0
    idle: int | None = None
    unreadable: frozenset[str] = frozenset()
    schema: Callable[[StreamRecord], Schema | None] = field(default=lambda record: None)
    queries: Mapping[str, str] = field(default_factory=dict)
    topics: Callable[[], Iterable[str]] = tuple
    next_offset: int = 0


@dataclass(frozen=True)
class StreamPlan:
    """A change that can be made.

    `before`: the present record, None for a new stream. `topics`: to be created before the record is written.
    `partitions`: of the stream's topic. `unreadable`: the present record cannot be read. `alone`: the source of a
    merged stream is one partition, which holds no other one back.
    """

    before: StreamRecord | None
    record: StreamRecord
    topics: list[TopicSpec]
    partitions: int
    unreadable: bool = False
    alone: bool = False

    @property
    def is_change(self) -> bool:
        """True if the record differs from the present one."""
        return self.unreadable or self.record != self.before

    @property
    def made_again(self) -> list[str]:
        """Sentences on the topics of a stream that existed, but for these."""
        return (
            [] if self.before is None else [f"topic {one.name} was missing, and is made again" for one in self.topics]
        )


def check_values(change: StreamChange) -> None:
    """Refused: a part of the change is invalid in itself."""
    if change.key is not None and not change.key.strip():
        raise Refused(400, "key", "the key is empty: name the attribute that messages are keyed by, or leave it out")
    if change.schema is not None:
        try:
            from_json_schema(change.schema)
        except SchemaError as error:
            raise Refused(400, "schema", f"the schema cannot be used: {error}") from error
    for bound in ("disorder", "idle", "silence"):
        if (getattr(change, bound) or 0) > MOST:
            raise Refused(400, bound, f'"{bound}" is at most 2^53 ms, and is {getattr(change, bound)}')
    if change.partitions is not None and not 1 <= change.partitions <= MAX_PARTITIONS:
        raise Refused(400, "partitions", f'"partitions" is from 1 to {MAX_PARTITIONS:,}, and is {change.partitions}')
    if change.format is not None:
        _check_format(change.format, change.registry)
    if change.registry is not None:
        _check_registry(change.registry)


def require_new_name(name: str) -> None:
    """Refused: no query could say the name, so that no stream is made with it."""
    if not is_new_name(name):
        raise Refused(400, "name", f"{name!r} is no name of a stream: {NEW_NAMES}")


def _check_format(form: str, registry: str | None) -> None:
    """Raise Refused for an unknown format, or one that does not go with the registry."""
    if form not in FORMATS:
        raise Refused(400, "format", f"{form!r} is no format of messages; there are {', '.join(FORMATS)}")
    if form in WITH_REGISTRY and registry is None:
        raise Refused(400, "format", f"--format {form} needs --registry URL, which knows the messages' schemas")
    if form not in WITH_REGISTRY and registry is not None:
        raise Refused(400, "format", f"--registry is for avro and protobuf; messages of --format {form} need none")


def _check_registry(registry: str) -> None:
    """Raise Refused for a registry that is no HTTP address, or has a password."""
    if is_registry(registry):
        return
    if "@" in registry:
        raise Refused(
            400,
            "registry",
            "--registry: the stream's record is for all to read: give name and password to windowing, as the setting "
            "registry_auth (SAFFRON_REGISTRY_AUTH=USER:PASSWORD@URL)",
        )
    raise Refused(400, "registry", f"--registry: {registry!r} is not http://HOST:PORT or https://HOST:PORT")


def require_free(name: str, topic: str, now: StreamContext) -> None:
    """Refused: the topic is another stream's, or one of Saffron's own."""
    for other in now.streams.values():
        if other.topic == topic and other.name != name:
            raise Refused(
                409,
                "topic",
                f"topic {topic!r} is stream {other.name!r}'s: ask FROM {other.name}, or make {name!r} of its events "
                f"({same_events(other, name, 'ATTR')})",
            )
    require_foreign(topic, now)


def require_foreign(topic: str, now: StreamContext) -> None:
    """Refused: the topic is one of Saffron's own."""
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
