"""One partition of the last hop (`matcher`, `greta`): blocks in, results and position out in one transaction.

take over:  a producer with the partition's transactional id (ends the predecessor's transaction, fences it), then
            the committed position C, then the newest snapshot S <= C; blocks from S to C are applied without output
run:        results go into a transaction, with the position reached: (offset of the block, index of the next
            result in it), for one event may complete more results than a transaction should hold
in doubt:   whatever happens to a transaction, state that is ahead of the log is dropped: take over again
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.operator import ResultOperator
from saffron.engine.results import Results
from saffron.errors import FencedError, GapError, LogError
from saffron.runtime.block_reader import BlockReader, Decode, ReaderState
from saffron.runtime.log import Committed, Consumer, Log, Producer, Record, TopicPartition
from saffron.runtime.snapshots import Snapshot, Snapshots

_DOUBT_MS = 50
_HISTORY_BATCH = 64

Message = tuple[str, bytes, bytes]
"""(topic, key, value) of an observation."""


@dataclass(frozen=True)
class Limits:
    """Times in ms; `results`: most results in one transaction; `queue`: blocks held before the input is paused."""

    commit_ms: int = 20
    position_ms: int = 1000
    snapshot_ms: int = 10_000
    retry_ms: int = 3000
    results: int = 20_000
    queue: int = 64


@dataclass(frozen=True)
class ChainPlan:
    """What a chain is made of. `observe`: the operator's rows since the last call as messages."""

    where: TopicPartition
    output: TopicPartition
    transactional_id: str
    group: str
    directory: Path
    operator: Callable[[], ResultOperator]
    decode: Decode
    headers: tuple[tuple[str, bytes], ...]
    observe: Callable[[ResultOperator], Sequence[Message]]


@dataclass
class Tally:
    """What has been done since `drain`; for `load`, metrics and the digest."""

    events: int = 0
    results: int = 0
    processing_ns: int = 0
    commits: int = 0
    aborts: int = 0
    snapshot_bytes: int = 0
    latencies: list[NDArray[np.int64]] = field(default_factory=list)


@dataclass
class _Progress:
    """A block whose results are being written: `index` of the next one; those below `skip` were committed before."""

    offset: int
    results: Results
    index: int


class ResultChain:
    """One assigned partition. `step` moves it; it takes over by itself, and again after anything doubtful."""

    def __init__(self, log: Log, consumer: Consumer, plan: ChainPlan, limits: Limits) -> None:
        self._log = log
        self._consumer = consumer
        self._plan = plan
        self._limits = limits
        self._snapshots = Snapshots(plan.directory)
        self._producer: Producer | None = None
        self._retry_at = 0
        self._paused = True
        self._queue: deque[Record] = deque()
        self._pending: _Progress | None = None
        self._reader = BlockReader(plan.decode)
        self._committed = Committed(0)
        self._skip = 0
        self._open = False
        self._sent = 0
        self._committed_at = self._snapshot_at = 0
        self.tally = Tally()
        self.operator: ResultOperator | None = None
        self.position = 0
        self.watermark: int | None = None
        self.next_seq = 0
        self.replaying = False

    # ------------------------------------------------------------ what the shell calls

    def take(self, records: Sequence[Record]) -> None:
        """Input in order. What comes before the take-over is read again after it."""
        if self.operator is not None:
            self._queue.extend(records)

    def step(self, now_ms: int) -> bool:
        """One step of work: take over, apply one block, write a slice of results, or commit."""
        if self.operator is None:
            if now_ms < self._retry_at:
                return False
            return self._guarded(now_ms, self._take_over)
        return self._guarded(now_ms, self._advance)

    def release(self, now_ms: int) -> None:
        """The partition goes to another member in good order: commit what has been written, keep a snapshot."""

        def finish(now: int) -> bool:
            self._commit(now)
            self._snapshot(now)
            return True

        if self.operator is not None and not self.replaying:
            self._guarded(now_ms, finish)
        self.drop()

    def drop(self) -> None:
        """Forget everything; an open transaction is left to the successor's `init`."""
        if self._producer is not None:
            self._producer.close()
        self._producer, self.operator = None, None
        self._queue.clear()
        self._pending, self._open = None, False

    # ------------------------------------------------------------ take-over

    def _guarded(self, now_ms: int, act: Callable[[int], bool]) -> bool:
        try:
            return act(now_ms)
        except FencedError:
            # Another producer has this id: the partition's new owner, or the coordinator after a time-out. Wait for
            # the group to say which.
            self._restart(now_ms + self._limits.retry_ms)
        except GapError:
            raise
        except LogError:
            self._restart(now_ms + _DOUBT_MS)
        return True

    def _restart(self, at: int) -> None:
        self.tally.aborts += 1
        self.drop()
        self._pause(True)
        self._retry_at = at

    def _take_over(self, now_ms: int) -> bool:
        plan = self._plan
        self._producer = self._log.producer(plan.transactional_id, client_id=plan.transactional_id)
        committed = self._consumer.committed(plan.where)
        low, _ = self._consumer.watermarks(plan.where)
        self._committed = Committed(low) if committed is None else committed
        self._skip = int(orjson.loads(self._committed.metadata)["index"]) if self._committed.metadata else 0
        snapshot = self._snapshots.newest(self._committed.offset) if committed is not None else None
        self.operator = plan.operator()
        state = ReaderState(counter=0 if low == 0 else None)
        self.position = low
        if snapshot is not None and snapshot.position >= low:
            self.operator.restore(snapshot.state)
            self.position = snapshot.position
            state = ReaderState(snapshot.reader["claim"], snapshot.reader["counter"])
            self.next_seq, self.watermark = snapshot.reader["next_seq"], snapshot.reader["watermark"]
        self._reader = BlockReader(plan.decode, state)
        self._sent = 0
        self._committed_at = self._snapshot_at = now_ms
        self.replaying = self.position < self._committed.offset
        self._consumer.seek(plan.where, self.position)
        self._pause(False)
        return True

    # ------------------------------------------------------------ work

    def _advance(self, now_ms: int) -> bool:
        self._feed()
        if self._pending is not None:
            self._write(self._pending, now_ms)
        elif self.due(now_ms) <= 0:
            self._commit(now_ms)
            if now_ms - self._snapshot_at >= self._limits.snapshot_ms:
                self._snapshot(now_ms)
        elif self._queue:
            self._apply(self._queue.popleft())
        else:
            return False
        return True

    def due(self, now_ms: int) -> int:
        """In how many ms a commit is due (0 or less: now), if nothing else comes."""
        waited = now_ms - self._committed_at
        if self._open:
            return self._limits.commit_ms - waited
        if self.operator is not None and not self.replaying and self.position > self._committed.offset:
            return self._limits.position_ms - waited
        return self._limits.position_ms

    def _apply(self, record: Record) -> None:
        if record.offset < self.position:
            return  # fetched before the seek
        assert self.operator is not None
        block = self._reader.accept(record)
        if block is not None:
            started = perf_counter_ns()
            results = self.operator.apply(block, lambda: self._history(record.offset))
            self.tally.processing_ns += perf_counter_ns() - started
            self.tally.events += len(block.columns)
            self.next_seq, self.watermark = block.next_seq, block.watermark
            if record.offset >= self._committed.offset:
                index = self._skip if record.offset == self._committed.offset else 0
                self._pending = _Progress(record.offset, results, index) if index < len(results) else None
        self.position = record.offset + 1
        said_up_to = self._committed.offset + (1 if self._committed.metadata else 0)
        if record.offset < said_up_to and self.position >= said_up_to:
            self._plan.observe(self.operator)  # the predecessor has said it
        self.replaying = self.position < self._committed.offset

    def _write(self, pending: _Progress, now_ms: int) -> None:
        """A slice of the pending results, at most what the transaction still holds."""
        assert self._producer is not None
        self._begin()
        stop = min(len(pending.results), pending.index + self._limits.results - self._sent)
        detected = b',"detected_at":%d}' % now_ms
        topic, partition = self._plan.output.topic, self._plan.output.partition
        names = [name.encode() for name in pending.results.names]
        queries = pending.results.query[pending.index : stop].tolist()
        for query, body in zip(queries, pending.results.json(pending.index, stop), strict=True):
            identity = ("ce_id", body[7:39])
            headers = (*self._plan.headers, identity)
            self._producer.send(topic, partition, body[:-1] + detected, key=names[query], headers=headers)
        self.tally.latencies.append(now_ms - pending.results.last_time[pending.index : stop])
        self.tally.results += stop - pending.index
        self._sent += stop - pending.index
        pending.index = stop
        if stop == len(pending.results):
            self._pending = None
        if self._sent >= self._limits.results:
            self._commit(now_ms)

    # ------------------------------------------------------------ transactions

    def _begin(self) -> None:
        assert self._producer is not None
        if not self._open:
            self._producer.begin()
            self._open = True

    def _commit(self, now_ms: int) -> None:
        """End the transaction with the position reached (begin one if only the position has moved)."""
        assert self._producer is not None and self.operator is not None
        reached = Committed(self.position)
        if self._pending is not None:
            reached = Committed(self._pending.offset, orjson.dumps({"index": self._pending.index}).decode())
        if not self._open and (reached == self._committed or self.position <= self._committed.offset):
            return  # nothing new; above all, the index in a block that is still to be gone on with stands
        self._begin()
        # Those of a block in progress, too: `_apply` knows that they were said, for the position is inside it.
        for topic, key, value in self._plan.observe(self.operator):
            self._producer.send(topic, self._plan.output.partition, value, key=key)
        self._producer.send_offsets({self._plan.where: reached}, self._consumer)
        self._producer.commit()
        self._open, self._sent, self._skip = False, 0, 0
        self._committed, self._committed_at = reached, now_ms
        self.tally.commits += 1

    def _snapshot(self, now_ms: int) -> None:
        """The state at the committed position (nothing is pending then)."""
        assert self.operator is not None
        if self._pending is not None or self.position != self._committed.offset:
            return
        state = self._reader.state
        reader: Mapping[str, Any] = {
            "claim": state.claim,
            "counter": state.counter,
            "next_seq": self.next_seq,
            "watermark": self.watermark,
        }
        self.tally.snapshot_bytes = self._snapshots.write(Snapshot(self.position, reader, self.operator.snapshot()))
        self._snapshot_at = now_ms

    def _history(self, until: int) -> Iterator[Block]:
        """The partition's blocks from the earliest one up to and including the one at `until`."""
        consumer = self._log.consumer(f"{self._plan.group}-history", committed_only=False)
        low, _ = consumer.watermarks(self._plan.where)
        reader = BlockReader(self._plan.decode, ReaderState(counter=0 if low == 0 else None))
        consumer.assign({self._plan.where: low})
        position = low
        try:
            while position <= until:
                for record in consumer.poll(_HISTORY_BATCH, 1.0):
                    position = record.offset + 1
                    block = reader.accept(record) if record.offset <= until else None
                    if block is not None:
                        yield block
        finally:
            consumer.close()

    def _feed(self) -> None:
        """Pause and resume with some distance between: each costs the client what it has fetched ahead."""
        if len(self._queue) >= self._limits.queue:
            self._pause(True)
        elif len(self._queue) <= self._limits.queue // 4:
            self._pause(False)

    def _pause(self, pause: bool) -> None:
        if pause != self._paused:
            (self._consumer.pause if pause else self._consumer.resume)([self._plan.where])
            self._paused = pause
