"""The snapshot of a running system that all checks judge, gathered once and never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import orjson

from saffron.cli.client import Client
from saffron.cli.queries.standing import ListedQuery, read_standing
from saffron.cli.system.routes import Routes, routes_of
from saffron.cli.system.scrape import scrape
from saffron.control.streams.bodies import table_topics_of, topics_of
from saffron.records.stream import StreamRecord
from saffron.records.table import Unreadable
from saffron.runtime.dead_letters.letters import Letter
from saffron.runtime.dead_letters.reading import DeadLetters, Found, LetterFilter
from saffron.runtime.local.state import SystemState
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.log.ends import read_to_end
from saffron.runtime.log.inspect import TopicFacts
from saffron.runtime.log.topics import TopicFile, stream_topics, topic_files, topic_specs
from saffron.runtime.process.config import Settings
from saffron.runtime.telemetry.digest_fields import require_digest
from saffron.schema.schema import Schema

_EVENTS, _DIGESTS, _LETTERS = 500, 6000, 500
"""The number of newest messages read of each partition: of events, digests and dead letters."""
_BATCH, _POLLS = 2000, 60
READ_ALWAYS = ("queries", "query-status", "streams", "health", "models", "dead-letters")
"""Topics that the commands read."""


class Cluster(Protocol):
    """The facts of Kafka besides messages (`runtime.log.inspect.Inspector`)."""

    @property
    def brokers(self) -> int: ...

    @property
    def names(self) -> frozenset[str]: ...

    def denied(self, topics: Iterable[str]) -> frozenset[str]: ...

    def topics(self, names: Iterable[str]) -> dict[str, TopicFacts]: ...

    def unstable(self, topics: Mapping[str, int]) -> dict[TopicPartition, int]: ...


@dataclass(frozen=True)
class Digest:
    """A message of `health`. `stamped`: when the broker had it (ms). `watermark`: None before the first one."""

    service: str
    stream: str | None
    partition: int | None
    at: int
    interval_ms: int
    events: int
    lag: int | None
    stamped: int
    shed: Mapping[str, Any] | None = None
    mistyped: Mapping[str, int] = field(default_factory=dict)
    left_out: int = 0
    late_by_silence: int = 0
    in_seconds: int = 0
    watermark: int | None = None


@dataclass(frozen=True)
class InputWord:
    """A report of a service on the topics that it reads. `stamped`: when the broker had it (ms)."""

    service: str
    stamped: int
    inputs: tuple[Mapping[str, Any], ...]
    troubles: tuple[str, ...]


@dataclass(frozen=True)
class Look:
    """A snapshot of a running system.

    - `now`: our clock (ms). `state`: of the system, if it runs on this machine.
    - `names`: all topics of the broker. `topics`: facts of ours. `wanted`: full name -> the topic as it should be.
    - `events`: newest messages of each stream's topic. `open`: open transactions, and since when (ms).
    - `sources_filled`: topic of a merged stream -> its number of messages; those that exist.
    - `foreign`: facts of the topics that merged streams and their tables are read from; those that exist.
    - `digests_since`, `letters_since`: times (ms) from which on all digests and dead letters are known, since only the
      newest of them are read; 0: all that there are.
    - `routes`: of this machine's windowing. `models`: when each was published.
    - `unreadable`: control records that cannot be read. `of_events`: the schemas that events of streams have had.
    """

    settings: Settings
    now: int
    brokers: int
    names: frozenset[str]
    topics: Mapping[str, TopicFacts]
    wanted: Mapping[str, TopicFile]
    denied: frozenset[str] = frozenset()
    streams: Mapping[str, StreamRecord] = field(default_factory=dict)
    queries: Mapping[str, ListedQuery] = field(default_factory=dict)
    events: Mapping[str, tuple[Record, ...]] = field(default_factory=dict)
    digests: tuple[Digest, ...] = ()
    inputs: tuple[InputWord, ...] = ()
    letters: tuple[Letter, ...] = ()
    digests_since: int = 0
    letters_since: int = 0
    sources_filled: Mapping[str, int] = field(default_factory=dict)
    foreign: Mapping[str, TopicFacts] = field(default_factory=dict)
    routes: Routes = field(default_factory=Routes)
    models: Mapping[str, int] = field(default_factory=dict)
    open: Mapping[TopicPartition, int] = field(default_factory=dict)
    state: SystemState | None = None
    unreadable: tuple[Unreadable, ...] = ()
    of_events: Mapping[str, Schema] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        """Topics that must be there and are not."""
        return [name for name in self.wanted if name not in self.topics and name not in self.denied]

    @property
    def unread(self) -> Mapping[str, str]:
        """The streams that get no events, since their topics are other streams' too; each with that stream."""
        readers: dict[str, str] = {}
        found = {name: readers.setdefault(record.topic, name) for name, record in self.streams.items()}
        return {name: reader for name, reader in found.items() if reader != name}

    def sources(self) -> dict[tuple[str, str | None, int | None], list[Digest]]:
        """Digests of each partition of each service, the oldest first.

        The broker's time says which is the oldest: two processes that have had a partition may have different clocks.
        """
        found: dict[tuple[str, str | None, int | None], list[Digest]] = {}
        for one in sorted(self.digests, key=lambda one: one.stamped):
            found.setdefault((one.service, one.stream, one.partition), []).append(one)
        return found


def look_at_topics(cluster: Cluster, settings: Settings, now: int) -> Look:
    """The snapshot without messages: topics, settings, permissions."""
    files = topic_files()
    wanted = {spec.name: files[spec.name.removeprefix(settings.prefix)] for spec in topic_specs(settings.prefix, 1)}
    denied = cluster.denied(name for name in wanted if name not in cluster.names)
    return Look(settings, now, cluster.brokers, cluster.names, cluster.topics(wanted), wanted, denied)


def look_further(
    first: Look, cluster: Cluster, client: Client, state: SystemState | None, clock: Callable[[], int]
) -> Look:
    """The snapshot with the content of topics.

    The clock is read after all messages, so that no message lies in the future.
    """
    known = client.known_streams()
    streams = known.all()
    wanted = dict(first.wanted)
    for record in streams.values():
        wanted |= {record.topic: topic_files()["events"]}
        for spec in stream_topics(client.settings.prefix, record.stem, 1):
            wanted[spec.name] = topic_files()["windows" if spec.name.endswith("windows") else "admitted"]
    topics = cluster.topics(wanted)
    counts = {name: len(one.partitions) for name, one in topics.items()}
    desk = DeadLetters(client.log, client.topics, client.settings.group("doctor"))
    letters = desk.newest(LetterFilter(), _LETTERS, _LETTERS)
    health = newest(client, client.topics.health, _DIGESTS)
    sources = {topic for one in streams.values() if one.definition is not None for topic in topics_of(one)}
    foreign = sources.union(*map(table_topics_of, streams.values()))
    return replace(
        first,
        topics=topics,
        wanted=wanted,
        denied=first.denied | cluster.denied(foreign - cluster.names),
        streams=streams,
        queries=read_standing(client),
        models=_models(client),
        open={
            where: since
            for where, at in cluster.unstable(counts).items()
            if (since := _since(client, where, at)) is not None
        },
        events={name: tuple(newest(client, record.topic, _EVENTS)) for name, record in streams.items()},
        sources_filled=_filled(client, sources & cluster.names),
        foreign=cluster.topics(foreign),
        routes=routes_of(scrape(state, "windowing")),
        letters=tuple(reversed(letters.letters)),
        letters_since=_letters_since(letters),
        digests_since=0 if len(health) < _DIGESTS else health[0].timestamp,
        digests=_digests(health, _removed(client)),
        inputs=_inputs(health),
        state=state,
        unreadable=tuple(client.unreadable()),
        of_events=known.of_events(),
        now=clock(),
    )


def _letters_since(found: Found) -> int:
    """The time from which on all dead letters were found (ms); 0: all that there are."""
    return 0 if not found.letters or (found.whole and found.looked_at <= _LETTERS) else found.letters[-1].at


def _filled(client: Client, topics: Iterable[str]) -> dict[str, int]:
    """The numbers of messages of topics, of those that exist."""
    consumer = client.log.consumer(client.settings.group("doctor"), committed_only=True, client_id="doctor")
    try:
        found = {}
        for topic in topics:
            if client.log.partitions(topic) is not None:
                ends = map(consumer.watermarks, _readable(client, topic))
                found[topic] = sum(high - low for low, high in ends)
        return found
    finally:
        consumer.close()


def newest(client: Client, topic: str, count: int) -> list[Record]:
    """The newest messages of each partition; none if the topic does not exist."""
    places = _readable(client, topic)
    consumer = client.log.consumer(client.settings.group("doctor"), committed_only=True, client_id="doctor")
    try:
        ends = {place: consumer.watermarks(place) for place in places}
        starts = {place: max(low, high - count) for place, (low, high) in ends.items() if high > low}
        return read_to_end(consumer, starts, batch=_BATCH, polls=_POLLS) if starts else []
    finally:
        consumer.close()


def _readable(client: Client, topic: str) -> list[TopicPartition]:
    """The partitions of a topic that have a leader: a client waits for the others. None if it does not exist."""
    state = client.log.describe([topic]).get(topic)
    numbers = [] if state is None else [one for one in range(state.partitions) if one not in state.leaderless]
    return [TopicPartition(topic, one) for one in numbers]


def _since(client: Client, where: TopicPartition, offset: int) -> int | None:
    """The time of the first message of an open transaction (ms); None: it has none that can be read."""
    consumer = client.log.consumer(client.settings.group("doctor"), committed_only=False, client_id="doctor")
    try:
        records = read_to_end(consumer, {where: offset}, batch=_BATCH, polls=_POLLS)
        return records[0].timestamp if records else None
    finally:
        consumer.close()


def _removed(client: Client) -> dict[str, int]:
    """When streams were removed (ms), those that were added again too."""
    records = client.records(client.topics.streams)
    return {(record.key or b"").decode("utf-8", "replace"): record.timestamp for record in records if not record.value}


def _digests(records: Iterable[Record], removed: Mapping[str, int]) -> tuple[Digest, ...]:
    """The digests in messages of `health`, but for those of removed streams, whose names others may have by now."""
    parts = ("service", "stream", "partition", "at", "interval_ms", "events", "lag")
    found = []
    for record in records:
        with suppress(ValueError, KeyError, TypeError):  # a stranger's message
            body = orjson.loads(record.value or b"")
            require_digest(body)
            fields = {part: body[part] for part in parts}
            lost: dict[str, Any] = {"mistyped": body.get("mistyped") or {}}
            lost |= {part: body.get(part, 0) for part in ("left_out", "in_seconds", "late_by_silence")}
            rest = {"shed": body.get("shed"), "watermark": body.get("watermark")}
            if record.timestamp > removed.get(fields["stream"], -1):
                found.append(Digest(stamped=record.timestamp, **rest, **lost, **fields))
    return tuple(found)


def _inputs(records: Iterable[Record]) -> tuple[InputWord, ...]:
    found = []
    for record in records:
        with suppress(ValueError, KeyError, TypeError):  # a digest without, or a stranger's message
            body = orjson.loads(record.value or b"")
            require_digest(body)
            rows, troubles = tuple(body["inputs"]), tuple(map(str, body["troubles"]))
            found.append(InputWord(str(body["service"]), record.timestamp, rows, troubles))
    return tuple(found)


def _models(client: Client) -> dict[str, int]:
    found: dict[str, int] = {}
    for record in client.records(client.topics.models):
        key = (record.key or b"").decode("utf-8", "replace")
        if record.value is None:
            found.pop(key, None)
        else:
            found[key] = record.timestamp
    return found
