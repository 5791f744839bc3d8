"""The log interface of the services. Implementations: `kafka` (confluent-kafka), and the tests' in memory.

Nothing outside `runtime` depends on the implementation. One set of contract tests runs on both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from saffron.counted import counted
from saffron.errors import StreamError

if TYPE_CHECKING:  # it brings NumPy along, which commands do without
    from saffron.engine.events.raw import RawBatch


class TopicPartition(NamedTuple):
    """One partition of one topic (full topic name, prefix included)."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Record:
    """A message read from a partition. `timestamp`: ms since 1970, by the topic's message.timestamp.type."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()

    @property
    def where(self) -> TopicPartition:
        """Its partition."""
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        """Bytes of its key and value."""
        return len(self.key or b"") + len(self.value or b"")


@dataclass(frozen=True, slots=True)
class Committed:
    """A committed position of a group: the next offset to read, and the metadata stored with it."""

    offset: int
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class TopicState:
    """The present state of a topic. `id`: changes when the topic is deleted and created again; "" if unknown.

    `leaderless`: partitions that can neither be read nor written to, since the brokers that have them are away.
    """

    id: str
    partitions: int
    leaderless: frozenset[int] = frozenset()

    def require(self, partition: TopicPartition) -> None:
        """StreamError: the topic was made again without this partition, or the partition has no leader.

        To be asked before anything else about the partition: a client waits for one that is not there.
        """
        if partition.partition >= self.partitions:
            name, now = f"{partition.topic}/{partition.partition}", counted(self.partitions, "partition")
            raise StreamError(f"{name} is gone, as its topic was made anew with {now}: nothing, the others are read")
        if partition.partition in self.leaderless:
            raise StreamError(no_leader(partition.topic, partition.partition))


def no_leader(topic: str, partition: int) -> str:
    """The obstacle of a partition without a leader, and how to end it."""
    return (
        f"{topic}/{partition} has no leader: start the brokers that have it "
        f"(kafka-topics --describe --topic {topic} names them); it waits meanwhile"
    )


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """A position without a record: the consumer should read at `wanted`, and reads from `first` instead.

    `wanted` < `first`: retention removed the records between. `wanted` > `first`: the topic is a new one, or lost its
    end.
    """

    wanted: int
    first: int


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """The settings to create a topic with; they come from schemas/ only."""

    name: str
    partitions: int
    config: Mapping[str, str]


class Consumer(Protocol):
    """A reader of records. Not thread-safe."""

    def subscribe(
        self,
        topics: Sequence[str],
        on_assign: Callable[[list[TopicPartition]], None],
        on_revoke: Callable[[list[TopicPartition]], None],
        on_lost: Callable[[list[TopicPartition]], None],
    ) -> None:
        """Joins the group. Callbacks run inside `poll`. A partition is read once it was sought since it was assigned.

        Partitions added to a topic are assigned, too.
        """

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Reads exactly these partitions from these offsets, without a group. Replaces any earlier assignment."""

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """Up to `max_records` records, in order by partition. Waits up to `timeout` seconds for the first one."""

    def poll_raw(
        self, max_records: int, timeout: float, *, fill: bool = False
    ) -> list[tuple[TopicPartition, RawBatch]]:
        """The records of `poll` as values, offsets and times by partition, without a `Record` for each message.

        `fill`: wait the whole `timeout` for more, unless some hundred have come.
        """

    def at_end(self, partition: TopicPartition) -> bool:
        """True if all records (with `committed_only`: all stable ones) have been returned."""

    def has_read(self, partition: TopicPartition, end: int) -> bool:
        """True if all records were returned, by the broker's last answer, and those before the offset `end` for sure.

        With `Log.ends` this says how it was when those were asked for, whatever the last answer's age.
        """

    def lag(self, partition: TopicPartition) -> int | None:
        """Offsets between the next record and the end of an assigned partition, transaction markers included.

        From the broker's last answer, without a request; paused partitions get no answers. None: unknown.
        """

    def seek(self, partition: TopicPartition, offset: int) -> None: ...

    def out_of_range(self) -> Mapping[TopicPartition, OutOfRange]:
        """Positions without a record since the last call. No record of these partitions was returned yet."""

    def denied(self) -> Collection[str]:
        """Topics of the subscription that the user may not read. Others are read meanwhile.

        A topic is named until it is read again. (A partition that is assigned by hand and may not be read raises
        DeniedError.)
        """

    def pause(self, partitions: Sequence[TopicPartition]) -> None: ...

    def resume(self, partitions: Sequence[TopicPartition]) -> None: ...

    def committed(self, partition: TopicPartition) -> Committed | None:
        """The group's committed position, or None. Only stable offsets count."""

    def watermarks(self, partition: TopicPartition) -> tuple[int, int]:
        """The first offset, and the end offset; with `committed_only` the end of the stable records."""

    def offset_at(self, partition: TopicPartition, time: int) -> int:
        """The offset of the first record from `time` (ms) on; the end of `watermarks` if there is none."""

    def commit(self, positions: Mapping[TopicPartition, Committed]) -> None:
        """Commits positions outside a transaction, and waits for the answer."""

    def membership(self) -> Any:
        """The present member and generation of the group, for `send_offsets`. LogError: the consumer is no member."""

    def close(self) -> None: ...


class Producer(Protocol):
    """A writer of records: idempotent, and transactional with a transactional id. For one thread at a time.

    `waited_ms`: total time that calls have waited for room in the queue.
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
        """Queues one record; waits while the queue is full. A later call raises a delivery failure."""

    def send_many(self, topic: str, messages: list[dict[str, Any]], partition: int | None = None) -> None:
        """Queues many records in one call: dicts with "value" and optionally "key", stamped with the present time.

        `partition` None: by the key's hash (murmur2), else any. The list may be changed.
        """

    def check(self, doing: str) -> None:
        """Raises LogError if a sent record is lost, or none can be sent. Never waits. `doing`: for the message."""

    def flush(self, timeout: float) -> None:
        """Waits until all records are acknowledged. LogError: some cannot be."""

    def begin(self) -> None: ...

    def send_offsets(self, positions: Mapping[TopicPartition, Committed], membership: Any) -> None:
        """Commits the group's positions in the open transaction. LogError: the member has left the group."""

    def commit(self) -> None:
        """Commits the open transaction.

        FencedError, AbortableError, or LogError (outcome unknown: create a new producer).
        """

    def abort(self) -> None: ...

    def close(self) -> None:
        """Releases the producer without waiting. An open transaction times out, or ends when the successor starts."""


class Log(Protocol):
    """A connection to one cluster, which creates clients and topics."""

    def consumer(
        self, group: str, *, committed_only: bool, client_id: str = "", patient: bool = False, lazy: bool = False
    ) -> Consumer:
        """A new consumer of a group, which must have a name (ValueError): librdkafka ends the process without one.

        `committed_only`: read_committed, so records of open and aborted transactions are not returned.

        `patient`: never seeks or pauses, so fetches may wait long at the broker when idle. `lazy`: the broker may
        gather records for a second before it answers.
        """

    def producer(self, transactional_id: str | None = None, *, client_id: str = "", bulk: bool = False) -> Producer:
        """A new producer. With an id it is initialised at once, which ends and fences the predecessor's transaction.

        `bulk`: for very many small messages, throughput before latency.
        """

    def create_topics(self, specs: Sequence[TopicSpec]) -> list[str]:
        """Creates missing topics; returns their names. LogError: a topic has fewer partitions than specified."""

    def topics(self) -> list[str]:
        """The full names of all topics that the user may see."""

    def partitions(self, topic: str) -> int | None:
        """The topic's number of partitions, or None if it does not exist. DeniedError: no right to see it."""

    def describe(self, topics: Sequence[str]) -> Mapping[str, TopicState]:
        """The states of those topics that exist and are visible."""

    def writable(self, topic: str) -> bool:
        """True if the user has the right to write to an existing topic, as far as the broker says so."""

    def ends(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The ends of the stable records now, of those partitions that have an answer. For any thread."""

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Raises the topic's number of partitions to `partitions`, if it is lower.

        DeniedError: no right to change it.
        """

    def close(self) -> None:
        """Closes the connection and all its clients. They leave their groups without callbacks."""


def require_group(group: str) -> None:
    """ValueError where a consumer's group has no name."""
    if not group:
        raise ValueError("a consumer needs a group with a name")
