"""The cluster behind `memory_log`: partitions, transactions, consumer groups, all in one process and on a given clock.

What it keeps of Kafka is what answers depend on: dense offsets with gaps where transaction markers stand, the last
stable offset, fencing by epoch, offsets that become visible with their transaction, sessions that outlive a dead
client, and records that are still on the wire when their sender dies. Nothing happens by itself: time moves when the
clock's owner moves it, and records on the wire land when `deliver` says so (at once with `instant` True).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from saffron.counted import counted
from saffron.errors import AbortableError, FencedError, LogError, TooLargeError, UnwritableError
from saffron.runtime.log import Committed, Record, TopicPartition, TopicSpec
from tests.memory.memory_groups import Group


@dataclass(slots=True)
class Transaction:
    """An open or finished transaction; entries and pending offsets refer to it."""

    started: int
    state: str = "open"
    partitions: set[TopicPartition] = field(default_factory=set)
    offsets: list[tuple[str, TopicPartition, Committed]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry at one offset: a record, or a transaction marker (None)."""

    record: Record | None
    transaction: Transaction | None


class PartitionLog:
    """One partition: entries from `low` on, one per offset."""

    def __init__(self) -> None:
        self.low = 0
        self.entries: list[Entry] = []
        self.stable_before = 0

    @property
    def high(self) -> int:
        return self.low + len(self.entries)

    @property
    def stable(self) -> int:
        """The last stable offset: the first record of an open transaction, else `high`. It never falls."""
        self.stable_before = max(self.stable_before, self.low)
        while self.stable_before < self.high:
            transaction = self.entries[self.stable_before - self.low].transaction
            if transaction is not None and transaction.state == "open":
                break
            self.stable_before += 1
        return self.stable_before

    def read(self, offset: int, limit: int, committed_only: bool) -> tuple[list[Record], int]:
        """(records, next offset to read): at most `limit` records at or after `offset`."""
        end = self.stable if committed_only else self.high
        position = max(offset, self.low)
        found: list[Record] = []
        while position < end and len(found) < limit:
            entry = self.entries[position - self.low]
            position += 1
            aborted = entry.transaction is not None and entry.transaction.state == "aborted"
            if entry.record is not None and not (committed_only and aborted):
                found.append(entry.record)
        return found, position


@dataclass(slots=True)
class Epoch:
    """A transactional id at the coordinator: its current epoch and the transaction that is open, if any."""

    number: int = 0
    open: Transaction | None = None


@dataclass(slots=True)
class Wire:
    """Records that a producer has sent and that have not landed yet, in order; `held`: none lands before this time."""

    transactional_id: str | None
    epoch: int
    held: int = 0
    queue: list[tuple[TopicPartition, Record, Transaction | None]] = field(default_factory=list)


class MemoryBroker:
    """The cluster. `clock` gives ms; `session_timeout` and `transaction_timeout` are in ms.

    `unwritable`, `unreadable`, `unseen`: topics that nobody has the right to write, to read, or to see. `refused`:
    those of which each read is an error, where the others are silent. `leaderless`: partitions whose brokers are away.
    """

    def __init__(
        self,
        clock: Callable[[], int],
        *,
        session_timeout: int = 10_000,
        transaction_timeout: int = 15_000,
        instant: bool = True,
    ) -> None:
        self.clock = clock
        self.session_timeout = session_timeout
        self.transaction_timeout = transaction_timeout
        self.instant = instant
        self.topics: dict[str, list[PartitionLog]] = {}
        self.ids: dict[str, str] = {}
        self.unwritable: set[str] = set()
        self.unreadable: set[str] = set()
        self.unseen: set[str] = set()
        self.refused: set[str] = set()
        self.leaderless: set[TopicPartition] = set()
        self.configs: dict[str, Mapping[str, str]] = {}
        self.epochs: dict[str, Epoch] = {}
        self.groups: dict[str, Group] = {}
        self.offsets: dict[tuple[str, TopicPartition], Committed] = {}
        self.wires: list[Wire] = []
        self._expired = -1
        self._made = 0

    # ------------------------------------------------------------ topics

    def create(self, spec: TopicSpec) -> bool:
        """Create a topic; False if it is there already."""
        if spec.name in self.topics:
            have = len(self.topics[spec.name])
            if have < spec.partitions:
                raise LogError(
                    f"topic {spec.name!r} has {counted(have, 'partition')}, not {spec.partitions}: create it anew"
                )
            return False
        self.topics[spec.name] = [PartitionLog() for _ in range(spec.partitions)]
        self.configs[spec.name] = dict(spec.config)
        self._made += 1
        self.ids[spec.name] = f"id/{self._made}+"  # base64, as on Kafka
        return True

    def delete(self, topic: str) -> None:
        """Forget a topic and what it holds. Positions of groups stay, as on Kafka for those that have members."""
        del self.topics[topic], self.configs[topic], self.ids[topic]

    def add_partitions(self, topic: str, count: int) -> None:
        """Let a topic have `count` partitions, if it has fewer."""
        partitions = self.topics[topic]
        partitions += [PartitionLog() for _ in range(count - len(partitions))]

    def forget(self, group: str) -> None:
        """Forget the positions of a group, as when it is deleted, or was empty for too long."""
        self.offsets = {place: committed for place, committed in self.offsets.items() if place[0] != group}

    def has(self, where: TopicPartition) -> bool:
        """Whether there is this partition."""
        return where.partition < len(self.topics.get(where.topic, ()))

    def partition(self, where: TopicPartition) -> PartitionLog:
        try:
            return self.topics[where.topic][where.partition]
        except (KeyError, IndexError):
            raise LogError(
                f"there is no partition {where.partition} of topic {where.topic!r}: create the topic first"
            ) from None

    def require_taken(self, where: TopicPartition, record: Record) -> None:
        """UnwritableError: the topic does not take this record."""
        self.partition(where)
        if where.topic in self.unwritable:
            raise UnwritableError(f"sending to {where.topic}/{where.partition}: there is no right", where.topic)
        if record.key is None and self.configs[where.topic].get("cleanup.policy") == "compact":
            raise UnwritableError(f"sending to {where.topic}/{where.partition}: a record without a key", where.topic)
        most = self.configs[where.topic].get("max.message.bytes")
        if most is not None and len(record.value or b"") > int(most):
            raise TooLargeError(f"sending to {where.topic}/{where.partition}: larger than {most}", where.topic)

    def trim(self, where: TopicPartition, offset: int) -> None:
        """Retention: forget everything before `offset`."""
        log = self.partition(where)
        gone = max(0, min(offset, log.high) - log.low)
        del log.entries[:gone]
        log.low += gone

    def truncate(self, where: TopicPartition, offset: int) -> None:
        """Lose the end of a partition, from `offset` on, as a broker without replicas does with its power."""
        log = self.partition(where)
        del log.entries[offset - log.low :]
        log.stable_before = min(log.stable_before, log.high)

    def compact(self, where: TopicPartition) -> None:
        """Keep only the newest record of each key (offsets stay)."""
        log = self.partition(where)
        newest = {e.record.key: i for i, e in enumerate(log.entries) if e.record is not None}
        for index, entry in enumerate(log.entries):
            if entry.record is not None and newest[entry.record.key] != index:
                log.entries[index] = Entry(None, None)

    # ------------------------------------------------------------ writing

    def land(self, where: TopicPartition, record: Record, transaction: Transaction | None) -> None:
        """Append one record."""
        log = self.partition(where)
        timestamp = record.timestamp
        if self.configs[where.topic].get("message.timestamp.type") == "LogAppendTime":
            timestamp = self.clock()
        log.entries.append(Entry(replace(record, offset=log.high, timestamp=timestamp), transaction))

    def deliver(self, wire: Wire, limit: int | None = None) -> None:
        """Let up to `limit` records of a wire land (all of them when None); a fenced epoch's are refused."""
        self.expire()
        count = len(wire.queue) if limit is None else min(limit, len(wire.queue))
        batch, wire.queue[:count] = wire.queue[:count], []
        for where, record, transaction in batch:
            if transaction is not None:
                self.check_epoch(wire.transactional_id or "", wire.epoch)
                if transaction.state != "open":
                    raise AbortableError("the transaction of this record has ended; abort and start anew")
                transaction.partitions.add(where)
            self.land(where, record, transaction)

    # ------------------------------------------------------------ transactions

    def init_producer(self, transactional_id: str) -> int:
        """A new epoch, which ends the predecessor's open transaction."""
        epoch = self.epochs.setdefault(transactional_id, Epoch())
        if epoch.open is not None:
            self.end(transactional_id, "aborted")
        epoch.number += 1
        return epoch.number

    def check_epoch(self, transactional_id: str, number: int) -> None:
        if self.epochs[transactional_id].number != number:
            raise FencedError(
                f"transactional id {transactional_id!r} has a newer producer: stop and write nothing more"
            )

    def begin(self, transactional_id: str) -> Transaction:
        self.epochs[transactional_id].open = transaction = Transaction(self.clock())
        return transaction

    def end(self, transactional_id: str, state: str) -> None:
        """Commit or abort: markers go to every partition written, pending offsets become visible or vanish.

        A topic that was deleted meanwhile gets none, and holds up nothing.
        """
        epoch = self.epochs[transactional_id]
        transaction, epoch.open = epoch.open, None
        if transaction is None:
            raise LogError(f"transactional id {transactional_id!r} has no open transaction")
        transaction.state = state
        for where in sorted(filter(self.has, transaction.partitions)):
            self.partition(where).entries.append(Entry(None, None))
        if state == "committed":
            for group, where, committed in transaction.offsets:
                self.offsets[group, where] = committed

    def unstable(self, group: str, where: TopicPartition) -> bool:
        """Whether an open transaction holds a position of this partition."""
        open_ones = (e.open for e in self.epochs.values() if e.open is not None)
        return any((g, w) == (group, where) for t in open_ones for g, w, _ in t.offsets)

    # ------------------------------------------------------------ time

    def expire(self) -> None:
        """Apply what the clock has brought: sessions and transactions that have timed out."""
        now = self.clock()
        if now == self._expired:
            return
        self._expired = now
        for group in self.groups.values():
            group.expire(now, self.session_timeout)
        for name, epoch in self.epochs.items():
            if epoch.open is not None and now - epoch.open.started > self.transaction_timeout:
                self.end(name, "aborted")
                epoch.number += 1  # as the coordinator does: the late owner is fenced

    def group(self, name: str) -> Group:
        return self.groups.setdefault(name, Group())

    def assign(self, topics: Sequence[str]) -> dict[str, int]:
        """Partition counts of the topics that exist."""
        return {topic: len(self.topics[topic]) for topic in topics if topic in self.topics}
