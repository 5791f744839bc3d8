"""The in-memory twin of Kafka: the same interface (`runtime.log`), in one process, on a clock that a test moves.

A `MemoryLog` is one process's connection to a `MemoryBroker`. `kill` ends it as kill -9 would: its clients do nothing
more, its sessions and transactions run out on the clock, its records still on the wire may land later. `inject` and
`kill_at` place faults at exact operations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.errors import AbortableError, DeniedError, LogError, UnavailableError
from saffron.runtime.log import Committed, OutOfRange, Record, TopicPartition, TopicSpec, TopicState, require_group
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.log.traces import traces_of
from tests.memory.memory_broker import MemoryBroker, Transaction, Wire

Callback = Callable[[list[TopicPartition]], None]
T = TypeVar("T")


class Killed(BaseException):
    """Raised inside a client whose process a test has killed; nothing may catch it but the test."""


@dataclass(slots=True)
class Fault:
    """A planned failure: the next `operation` raises `error`, after it is done (`after`) or instead of it.

    `topic`: of what is sent; "": whatever is done.
    """

    operation: str
    error: Exception
    after: bool
    topic: str


class MemoryLog:
    """One process's connection: a `Log`."""

    def __init__(self, broker: MemoryBroker) -> None:
        self.broker = broker
        self.dead = False
        self.faults: list[Fault] = []
        self.operations = 0
        self._kill_at: int | None = None
        self._consumers: list[MemoryConsumer] = []
        self.wires: list[Wire] = []

    def consumer(
        self, group: str, *, committed_only: bool, client_id: str = "", patient: bool = False, lazy: bool = False
    ) -> MemoryConsumer:
        del client_id, patient, lazy
        require_group(group)
        consumer = MemoryConsumer(self, group, committed_only)
        self._consumers.append(consumer)
        return consumer

    def producer(
        self, transactional_id: str | None = None, *, client_id: str = "", bulk: bool = False
    ) -> MemoryProducer:
        del client_id, bulk
        producer = self.run("init", lambda: MemoryProducer(self, transactional_id))
        self.wires.append(producer.wire)
        return producer

    def create_topics(self, specs: Sequence[TopicSpec]) -> list[str]:
        return self.run("create", lambda: [spec.name for spec in specs if self.broker.create(spec)])

    def topics(self) -> list[str]:
        return self.run("metadata", lambda: [topic for topic in self.broker.topics if topic not in self.broker.unseen])

    def partitions(self, topic: str) -> int | None:
        found = self.run("metadata", lambda: self.broker.topics.get(topic))
        if topic in self.broker.unseen:
            raise DeniedError(f"asking for topic {topic}: no right", topic)
        return None if found is None else len(found)

    def describe(self, topics: Sequence[str]) -> Mapping[str, TopicState]:
        broker = self.broker
        there = self.run("metadata", lambda: [topic for topic in topics if topic in broker.topics])
        away = {topic: frozenset(one.partition for one in broker.leaderless if one.topic == topic) for topic in there}
        return {topic: TopicState(broker.ids[topic], len(broker.topics[topic]), away[topic]) for topic in there}

    def writable(self, topic: str) -> bool:
        return self.run("metadata", lambda: topic not in self.broker.unwritable)

    def ends(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        broker = self.broker
        return self.run("ends", lambda: {one: broker.partition(one).stable for one in partitions if broker.has(one)})

    def add_partitions(self, topic: str, partitions: int) -> None:
        self.run("create", lambda: self.broker.add_partitions(topic, partitions))

    def close(self) -> None:
        if not self.dead:
            for consumer in self._consumers:
                consumer.close()
        self.dead = True

    # ------------------------------------------------------------ for tests

    def kill(self) -> None:
        """kill -9: no client of this process does anything more."""
        self.dead = True

    def kill_at(self, operation: int) -> None:
        """Kill the process inside its `operation`-th client call from now on (0: the next one), before it is done."""
        self._kill_at = self.operations + operation

    def inject(self, operation: str, error: Exception, *, after: bool, topic: str = "") -> None:
        """Make the next `operation` (send, flush, commit, init, poll, ...) fail with `error`.

        `topic`: the next one that sends to it.
        """
        self.faults.append(Fault(operation, error, after, topic))

    def run(self, operation: str, act: Callable[[], T], topic: str = "") -> T:
        """One client call, with the faults that are due. `topic`: to which it sends."""
        if self._kill_at is not None and self.operations >= self._kill_at:
            self.kill()
        self.operations += 1
        if self.dead:
            raise Killed(operation)
        self.broker.expire()
        if not self.faults:
            return act()
        fault = next((f for f in self.faults if f.operation == operation and f.topic in ("", topic)), None)
        if fault is None:
            return act()
        self.faults.remove(fault)
        if fault.after:
            act()
        raise fault.error


@dataclass(frozen=True)
class Membership:
    """What a consumer was of its group when it was asked. `member` None: it was assigned partitions, and joined not."""

    group: str
    member: int | None
    generation: int

    def check(self, broker: MemoryBroker, error: type[LogError]) -> None:
        """Refuse a position from a member that the group no longer counts on."""
        if self.member is None:
            return
        group = broker.group(self.group)
        if self.member not in group.members or group.generation != self.generation:
            raise error(f"group {self.group!r} has rebalanced: this member's partitions may be another's by now")


class MemoryConsumer:
    """A `Consumer` of the in-memory log. `_positions`: of assigned partitions that were sought."""

    def __init__(self, log: MemoryLog, group: str, committed_only: bool) -> None:
        self._log = log
        self._broker = log.broker
        self._group = group
        self._committed_only = committed_only
        self._topics: tuple[str, ...] = ()
        self._callbacks: tuple[Callback, Callback, Callback] | None = None
        self._member: int | None = None
        self._generation = -1
        self._assigned: set[TopicPartition] = set()
        self._positions: dict[TopicPartition, int] = {}
        self._paused: set[TopicPartition] = set()
        self._out_of_range: dict[TopicPartition, OutOfRange] = {}
        self._closed = False

    def subscribe(self, topics: Sequence[str], on_assign: Callback, on_revoke: Callback, on_lost: Callback) -> None:
        changed = tuple(topics) != self._topics
        self._topics = tuple(topics)
        self._callbacks = (on_assign, on_revoke, on_lost)
        if self._member is not None and changed and self._member in self._broker.group(self._group).members:
            self._broker.group(self._group).change(self._member)

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        self._assigned, self._positions = set(positions), dict(positions)
        self._paused &= self._assigned

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        del timeout  # time does not pass inside a poll
        return self._log.run("poll", lambda: self._poll(max_records))

    def poll_raw(
        self, max_records: int, timeout: float, *, fill: bool = False
    ) -> list[tuple[TopicPartition, RawBatch]]:
        found: dict[TopicPartition, list[Record]] = {}
        for record in self.poll(max_records, timeout):
            found.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        return [(where, raw_batch(records)) for where, records in found.items()]

    def at_end(self, partition: TopicPartition) -> bool:
        if not self._broker.has(partition):
            return False
        log = self._broker.partition(partition)
        return self._positions.get(partition, -1) >= (log.stable if self._committed_only else log.high)

    def has_read(self, partition: TopicPartition, end: int) -> bool:
        return self.at_end(partition) and self._positions[partition] >= end

    def lag(self, partition: TopicPartition) -> int | None:
        position = self._positions.get(partition)
        there = position is not None and self._broker.has(partition)
        return None if position is None or not there else max(0, self._broker.partition(partition).high - position)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        if partition not in self._assigned:
            raise LogError(f"cannot seek in {partition}: it is not assigned to this consumer")
        self._positions[partition] = offset

    def out_of_range(self) -> Mapping[TopicPartition, OutOfRange]:
        out_of_range, self._out_of_range = self._out_of_range, {}
        return out_of_range

    def denied(self) -> Collection[str]:
        return self._broker.unreadable & set(self._topics)

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self._paused.update(partitions)

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self._paused.difference_update(partitions)

    def membership(self) -> Membership:
        if self._closed:
            raise LogError(f"this consumer of group {self._group!r} is closed")
        return Membership(self._group, self._member, self._generation)

    def committed(self, partition: TopicPartition) -> Committed | None:
        return self._log.run("committed", lambda: self._committed(partition))

    def watermarks(self, partition: TopicPartition) -> tuple[int, int]:
        log = self._log.run("watermarks", lambda: self._broker.partition(partition))
        if partition in self._broker.leaderless:
            raise LogError(f"asking for the ends of {partition.topic}/{partition.partition}: it has no leader")
        return log.low, log.stable if self._committed_only else log.high

    def offset_at(self, partition: TopicPartition, time: int) -> int:
        low, end = self.watermarks(partition)
        records, _ = self._broker.partition(partition).read(low, end - low, self._committed_only)
        return next((record.offset for record in records if record.timestamp >= time), end)

    def commit(self, positions: Mapping[TopicPartition, Committed]) -> None:
        self._log.run("commit_offsets", lambda: self._commit(positions))

    def close(self) -> None:
        def leave() -> None:
            if self._member is not None:
                self._broker.group(self._group).leave(self._member)
            self._member, self._callbacks, self._closed = None, None, True
            self._assigned.clear()
            self._positions.clear()

        self._log.run("close", leave)

    # ------------------------------------------------------------ inside

    def _committed(self, partition: TopicPartition) -> Committed | None:
        if self._committed_only and self._broker.unstable(self._group, partition):
            raise UnavailableError(f"the position of {partition} is in an open transaction: ask again")
        return self._broker.offsets.get((self._group, partition))

    def _commit(self, positions: Mapping[TopicPartition, Committed]) -> None:
        self.membership().check(self._broker, LogError)
        for where, committed in positions.items():
            self._broker.offsets[self._group, where] = committed

    def _poll(self, max_records: int) -> list[Record]:
        if self._callbacks is not None:
            self._serve_group(*self._callbacks)
        found: list[Record] = []
        for where in sorted(self._positions):
            if where.topic in self._broker.refused:
                raise DeniedError(f"reading {where.topic} as group {self._group}: no right", where.topic)
            closed = where in self._paused or where.topic in self._broker.unreadable or where in self._broker.leaderless
            if closed or len(found) >= max_records or not self._broker.has(where):
                continue
            log = self._broker.partition(where)
            if self._positions[where] == log.high:
                continue  # the most frequent case by far
            if not log.low <= self._positions[where] <= log.high:
                self._out_of_range[where] = OutOfRange(self._positions[where], log.low)
                self._positions[where] = log.low
                continue
            records, position = log.read(self._positions[where], max_records - len(found), self._committed_only)
            found += records
            self._positions[where] = position
        return found

    def _serve_group(self, on_assign: Callback, on_revoke: Callback, on_lost: Callback) -> None:
        group = self._broker.group(self._group)
        now = self._broker.clock()
        held = sorted(self._assigned)
        if self._member is not None and self._member not in group.members:
            self._drop(on_lost, held)
            self._member = None
        if self._member is None:
            self._member = group.join(self._topics, now)
        member = group.members[self._member]
        member.seen = now
        if not group.stable and not member.joined:
            self._drop(on_revoke, held)
            if self._member not in group.members:  # the callback took longer than the session
                return
            group.rejoin(self._member, self._topics)
        partitions = self._broker.assign(group.topics())
        group.look(partitions)
        group.settle(partitions)
        if group.stable and member.generation != self._generation:
            self._generation = member.generation
            self._assigned.update(member.partitions)
            on_assign(list(member.partitions))

    def _drop(self, callback: Callback, held: list[TopicPartition]) -> None:
        if held:
            callback(held)
        self._assigned.clear()
        self._positions.clear()
        self._paused.clear()
        self._out_of_range.clear()


def raw_batch(records: Sequence[Record]) -> RawBatch:
    """Records of one partition as a batch."""
    offsets = np.array([record.offset for record in records], dtype=np.int64)
    times = np.array([record.timestamp for record in records], dtype=np.int64)
    batch = batch_of_values([record.value for record in records], offsets, times)
    return replace(batch, traces=traces_of([record.headers for record in records]))


class MemoryProducer:
    """A `Producer` of the in-memory log, whose queue is never full."""

    waited_ms = 0.0

    def __init__(self, log: MemoryLog, transactional_id: str | None) -> None:
        self._log = log
        self._broker = log.broker
        self._id = transactional_id
        self._transaction: Transaction | None = None
        self._failure: LogError | None = None
        epoch = 0 if transactional_id is None else self._broker.init_producer(transactional_id)
        self.wire = Wire(transactional_id, epoch)
        self._broker.wires.append(self.wire)

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
        if self._id is not None and self._transaction is None:
            raise LogError("begin a transaction before sending")
        now = self._broker.clock() if timestamp is None else timestamp
        record = Record(topic, partition, -1, now, key, value, tuple(headers))
        self._log.run("send", lambda: self._send(TopicPartition(topic, partition), record), topic)

    def send_many(self, topic: str, messages: list[dict[str, Any]], partition: int | None = None) -> None:
        count = self._log.partitions(topic) or 1
        for message in messages:
            key = message.get("key")
            where = partition if partition is not None else 0 if key is None else partition_of(key, count)
            self.send(topic, where, message["value"], key=key)

    def check(self, doing: str) -> None:
        """Do nothing: a lost record is reported when it is sent."""

    def flush(self, timeout: float) -> None:
        del timeout
        self._log.run("flush", self._flush)

    def begin(self) -> None:
        if self._id is None or self._transaction is not None:
            raise LogError("begin needs a transactional producer without an open transaction")
        self._broker.check_epoch(self._id, self.wire.epoch)
        self._transaction = self._broker.begin(self._id)

    def send_offsets(self, positions: Mapping[TopicPartition, Committed], membership: Any) -> None:
        assert isinstance(membership, Membership)
        self._log.run("send_offsets", lambda: self._send_offsets(positions, membership))

    def commit(self) -> None:
        self._log.run("commit", self._commit)

    def abort(self) -> None:
        self._log.run("abort", self._abort)

    def close(self) -> None:
        """Nothing to release: what is on the wire stays on it."""

    # ------------------------------------------------------------ inside

    def _send(self, where: TopicPartition, record: Record) -> None:
        self._broker.require_taken(where, record)
        self.wire.queue.append((where, record, self._transaction))
        if self._broker.instant:
            self._flush()

    def _flush(self) -> None:
        self._broker.deliver(self.wire)

    def _send_offsets(self, positions: Mapping[TopicPartition, Committed], membership: Membership) -> None:
        transaction = self._open()
        membership.check(self._broker, AbortableError)
        transaction.offsets += [(membership.group, where, committed) for where, committed in positions.items()]

    def _commit(self) -> None:
        self._open()
        self._flush()
        self._transaction = None
        self._broker.end(self._id or "", "committed")

    def _abort(self) -> None:
        self._open()
        self.wire.queue.clear()
        self._transaction = None
        self._broker.end(self._id or "", "aborted")

    def _open(self) -> Transaction:
        self._broker.check_epoch(self._id or "", self.wire.epoch)
        if self._transaction is None:
            raise LogError("there is no open transaction")
        if self._transaction.state != "open":
            raise AbortableError("the transaction has been ended by the coordinator")
        return self._transaction
