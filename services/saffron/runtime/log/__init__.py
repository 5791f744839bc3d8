"""The log as the services see it. Two implementations: `kafka_log` (confluent-kafka) and `memory_log` (its twin).

Nothing outside `runtime` knows which one it talks to; the contract tests run on both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from saffron.engine.events.raw import RawBatch


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """One partition of one topic (full topic name, prefix included)."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Record:
    """A message as read. `timestamp`: ms since 1970, as the topic's message.timestamp.type has it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Committed:
    """A committed position of a group: the next offset to read, and the metadata stored with it."""

    offset: int
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class TopicState:
    """A topic as the cluster has it now. `id`: another one when it was deleted and made anew; "" where none is told."""

    id: str
    partitions: int


@dataclass(frozen=True, slots=True)
class Displaced:
    """A consumer was to read from `wanted`, which is not there, and reads from `first` instead, the first record there.

    Below it: retention has taken what lies between. Above it: the topic is another one, or lost its end.
    """

    wanted: int
    first: int


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """What a topic is created with (from schemas/, and from nowhere else)."""

    name: str
    partitions: int
    config: Mapping[str, str]


class Consumer(Protocol):
    """Reads records. Not thread safe."""

    def subscribe(
        self,
        topics: Sequence[str],
        on_assign: Callable[[list[TopicPartition]], None],
        on_revoke: Callable[[list[TopicPartition]], None],
        on_lost: Callable[[list[TopicPartition]], None],
    ) -> None:
        """Join the group. Callbacks run inside `poll`. Reading starts at the earliest, unless `on_assign` seeks.

        Partitions that are added to a topic are dealt out, too.
        """

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read exactly these partitions from these offsets, without a group; replaces any earlier assignment."""

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """Up to `max_records` records, in order by partition; returns as soon as there is one."""

    def poll_raw(self, max_records: int, timeout: float) -> list[tuple[TopicPartition, RawBatch]]:
        """As `poll`, for the events themselves: values, offsets and times by partition, without a `Record` for each."""

    def at_end(self, partition: TopicPartition) -> bool:
        """Whether everything there is (with `committed_only`: everything stable) has been handed out."""

    def lag(self, partition: TopicPartition) -> int | None:
        """Records between the next one to be handed out and the end of an assigned partition, markers included.

        By what the broker has said last, without asking it (a paused partition hears nothing); None: not known yet.
        """

    def seek(self, partition: TopicPartition, offset: int) -> None: ...

    def displaced(self) -> Mapping[TopicPartition, Displaced]:
        """What could not be read where it was wanted, since the last call. Nothing from there was handed out yet."""

    def pause(self, partitions: Sequence[TopicPartition]) -> None: ...

    def resume(self, partitions: Sequence[TopicPartition]) -> None: ...

    def committed(self, partition: TopicPartition) -> Committed | None:
        """The group's committed position, stable offsets only; None if there is none."""

    def watermarks(self, partition: TopicPartition) -> tuple[int, int]:
        """(low, high): the first offset still there, and the one the next record will get; with `committed_only`
        the end of what is stable, where a transaction is open."""

    def commit(self, positions: Mapping[TopicPartition, Committed]) -> None:
        """Commit outside a transaction, synchronously."""

    def membership(self) -> Any:
        """Which member of which generation speaks now: for `send_offsets`. LogError: none does any longer."""

    def close(self) -> None: ...


class Producer(Protocol):
    """Writes records; idempotent, and transactional if made with a transactional id. For one thread at a time.

    `waited_ms`: how long calls have waited so far for room in a full queue.
    """

    waited_ms: float

    def send(
        self,
        topic: str,
        partition: int,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Sequence[tuple[str, bytes]] = (),
        timestamp: int | None = None,
    ) -> None:
        """Queue one record; waits while the queue is full. A delivery failure is raised by a later call."""

    def send_many(self, topic: str, messages: list[dict[str, Any]], partition: int | None = None) -> None:
        """Queue many records in one call: each a dict with "value" and, if it has one, "key"; their time is now.

        `partition` None: by the key's hash (murmur2), else anywhere. The list may be changed.
        """

    def check(self, doing: str) -> None:
        """LogError: something that was sent is known to be lost, or nothing can be any more. Never waits. `doing`: what
        it was sent for."""

    def flush(self, timeout: float) -> None:
        """Wait until everything sent is acknowledged; LogError when it cannot be."""

    def begin(self) -> None: ...

    def send_offsets(self, positions: Mapping[TopicPartition, Committed], membership: Any) -> None:
        """Commit positions of the group with the open transaction. LogError: the member is of the group no longer."""

    def commit(self) -> None:
        """Commit the open transaction. FencedError, AbortableError, or LogError (in doubt: make a new producer)."""

    def abort(self) -> None: ...

    def close(self) -> None:
        """Release without waiting; an open transaction is left to time out or to the successor's `init`."""


class Log(Protocol):
    """A connection to one cluster: makes clients and topics."""

    def consumer(
        self, group: str, *, committed_only: bool, client_id: str = "", patient: bool = False, lazy: bool = False
    ) -> Consumer:
        """`committed_only`: read_committed, so that records of open and aborted transactions are never seen.

        `patient`: it never seeks or pauses, so that it may wait long at the broker when idle (new data come as fast).
        `lazy`: what it reads is in no hurry; the broker gathers more before it answers, for a tenth of a second.
        """

    def producer(self, transactional_id: str | None = None, *, client_id: str = "", bulk: bool = False) -> Producer:
        """With an id: initialised at once, which ends the predecessor's open transaction and fences it.

        `bulk`: for very many small messages, throughput before latency.
        """

    def create_topics(self, specs: Sequence[TopicSpec]) -> list[str]:
        """Create what is missing; returns the names created. A topic with fewer partitions is a LogError."""

    def partitions(self, topic: str) -> int | None:
        """How many partitions the topic has; None if there is no such topic. DeniedError: it may not be seen."""

    def describe(self, topics: Sequence[str]) -> Mapping[str, TopicState]:
        """Those of the topics that are there and may be seen."""

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Let a topic have as many partitions, if it has fewer. DeniedError: it may not be changed."""

    def close(self) -> None:
        """Release it with all clients that it has made: they leave their groups, and nobody is called back."""
