"""One partition of the last hop (`matcher`, `greta`): blocks in, results and position out in one transaction.

take over:  a producer with the partition's transactional id (ends the predecessor's transaction, fences it), then
            the committed place C, then the newest snapshot S <= C; blocks from S to C are applied without output
run:        results go into a transaction, with the place reached: (offset of the block, index of the next result
            in it), for one event may complete more results than a transaction should hold. While a transaction is
            being ended beside the loop the next block is applied; its results wait for the next transaction
in doubt:   whatever happens to a transaction, state that is ahead of the log is dropped: take over again
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import repeat
from time import perf_counter_ns
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.operators.containment import RESTORING, Failure
from saffron.engine.operators.operator import ResultOperator
from saffron.engine.operators.results import Results
from saffron.errors import AbortableError, GapError
from saffron.runtime.hops.block_reader import BlockReader, ReaderState
from saffron.runtime.hops.input_state import LOST, InputBook
from saffron.runtime.log import Consumer, Log, Producer, Record
from saffron.runtime.log.traces import Headers, trace_headers
from saffron.runtime.result_formats.reading import ID
from saffron.runtime.results.chain_plan import (
    ChainPlan,
    CommitTime,
    Limits,
    Message,
    Observer,
    Pending,
    Place,
    history,
    index_behind,
)
from saffron.runtime.results.large_results import LargeResult
from saffron.runtime.results.last_step import LastStep
from saffron.runtime.results.marks import Marks, counts_until
from saffron.runtime.results.progress import Written
from saffron.runtime.results.snapshots import Snapshot, Snapshots
from saffron.runtime.results.take_over import find_start
from saffron.runtime.results.tally import Tally
from saffron.runtime.results.unknown_outcome import Doubt

_LOG = logging.getLogger(__name__)

_FEW, _GROWTH = 16, 8
"""Results are rendered so many at a time, or so many times as many as the last time, as long as they are small."""
_SLICE_BYTES = 16 << 20


class ResultChain:
    """One assigned partition. `step` moves it; it takes over by itself, and again after anything doubtful."""

    def __init__(
        self, log: Log, consumer: Consumer, plan: ChainPlan, limits: Limits, clock: Callable[[], float]
    ) -> None:
        """`clock`: ms since 1970, for measuring only."""
        self._log = log
        self._consumer = consumer
        self._plan = plan
        self._limits = limits
        self._clock = clock
        self._snapshots = Snapshots(plan.directory)
        self._writing: Future[int] | None = None
        self._ending: Future[tuple[float, float]] | None = None
        self._producer: Producer | None = None
        self._observer: Observer = plan.observer()
        self._reader = BlockReader(plan.decode)
        self._marks = Marks(plan.tell)
        self._apart: frozenset[str] = frozenset()
        self._step = LastStep(plan.directory)
        self._doubt = Doubt(plan.where, limits.retry_ms, self._anew)
        self._paused = True
        self._queue: deque[Record] = deque()
        self._pending: Pending | None = None
        self._place = Place(0, 0, 0)
        self.input = InputBook()
        self._open = False
        self._sent = self._sent_bytes = 0
        self._slice = _FEW
        self._committed_at = self._observed_at = self._snapshot_at = self._snapshot_position = 0
        self._commits = CommitTime()
        self._waited_ms = 0.0
        self.tally = Tally()
        self.operator: ResultOperator | None = None
        self.position = 0
        self.watermark: int | None = None
        self.next_seq = 0
        self.schema: Mapping[str, Any] | None = None

    @property
    def replaying(self) -> bool:
        """Whether blocks are applied whose results stand in the log already."""
        return self.position < self._place.offset

    @property
    def waited_ms(self) -> float:
        """How long it has waited so far for room to write."""
        return self._waited_ms + (self._producer.waited_ms if self._producer is not None else 0.0)

    def snapshot_age(self, now_ms: int) -> int:
        """ms since the newest snapshot (before the first: since the take-over); 0 if nothing was applied since."""
        return 0 if self.position == self._snapshot_position else max(0, now_ms - self._snapshot_at)

    @property
    def trouble(self) -> str | None:
        """What it waits for that only the user can mend."""
        return self._doubt.trouble

    @property
    def writing(self) -> bool:
        """Whether results of the last block that was applied are still to be written."""
        return self._pending is not None

    @property
    def failed(self) -> frozenset[str]:
        """The queries that have failed here."""
        return frozenset() if self.operator is None else self.operator.failed

    @property
    def _behind(self) -> bool:
        """Whether the log is further than this chain: the index in a block still to be gone on with must stand."""
        begun = self._place.index > 0 or self._place.said > self._place.offset
        return self.replaying or (self.position == self._place.offset and begun)

    # ------------------------------------------------------------ what the shell calls

    def take(self, records: Sequence[Record]) -> None:
        """Input in order. What comes before the take-over is read again after it."""
        if self.operator is not None:
            self._queue.extend(records)

    def step(self, now_ms: int) -> bool:
        """One step of work: take over, apply one block, write a slice of results, or commit."""
        if self.operator is None:
            return now_ms >= self._doubt.retry_at and self._doubt.guarded(now_ms, self._take_over)
        return self._doubt.guarded(now_ms, self._advance)

    def due(self, now_ms: int) -> int:
        """In how many ms a commit is due (0 or less: now), if nothing else comes."""
        waited = now_ms - self._committed_at
        if self._open:
            return max(self._limits.commit_ms - waited, self._commits.rest(now_ms))
        if self.operator is None or self._behind or self._place.is_between(self.position):
            return self._limits.position_ms
        return self._limits.position_ms - waited

    def release(self, now_ms: int) -> None:
        """The partition goes to another member in good order: commit what has been written, keep a snapshot."""

        def finish(now: int) -> bool:
            self._commit(now, observe=True)
            self._ended()
            self._written()
            self._snapshot(now)
            self._written()
            return True

        if self.operator is not None and not self.replaying:
            self._doubt.guarded(now_ms, finish)
        self.drop()

    def look_again(self) -> None:
        """See `last_hop.Chain`."""
        if self.operator is not None:
            self._anew()

    def drop(self) -> None:
        """Forget everything; an open transaction is left to the successor's `init`."""
        self._waited_ms = self.waited_ms
        if self._producer is not None:
            self._producer.close()
        self._producer, self.operator, self._writing, self._ending = None, None, None, None
        self.tally.forget()
        self._step.over()
        self._queue.clear()
        self._pending, self._open = None, False

    # ------------------------------------------------------------ take-over

    def _anew(self) -> None:
        self.tally.aborts += 1
        self.drop()
        self._pause(True)

    def _take_over(self, now_ms: int) -> bool:
        plan = self._plan
        self._producer = self._log.producer(plan.transactional_id, client_id=plan.transactional_id)
        start = find_start(self._log, self._consumer, plan, self._snapshots)
        self._place, low = start.place, start.low
        self.input.state = start.input
        self.input.know(start.topic, 0, start.place.offset, now_ms)
        if start.lost:
            self.input.note(LOST, now_ms, start.lost.start, start.lost.start, start.lost.stop)
            _LOG.error(
                "%s: retention removed records %d to %d before they were read; their results are missing, and those up "
                "to the next checkpoint record. Keep the topic for longer than its readers may be away",
                plan.where, start.lost.start, start.lost.stop - 1,
            )  # fmt: skip
        self.operator, self._observer = plan.operator(self._step.note), plan.observer()
        self._marks.take_over(self._place.failed)
        self._look_back(self.operator)
        self.position, self.next_seq, self.watermark, self.schema = low, 0, None, None
        state = ReaderState(counter=0 if low == 0 else None)
        if start.snapshot is not None:
            state = self._restore(self.operator, start.snapshot)
        self.operator.part(self._apart)
        self._marks.note(self.operator.failures(), self._place.offset)
        self._step.over()
        self._reader = BlockReader(plan.decode, state)
        self._snapshot_position = self.position
        self._sent = self._sent_bytes = 0
        self._committed_at = self._observed_at = self._snapshot_at = now_ms
        self._consumer.seek(plan.where, self.position)
        self._pause(False)
        return True

    def _look_back(self, operator: ResultOperator) -> None:
        """In which query the last process has died, if it has: a second time in the same one ends the query, not us."""
        for death in self._step.died(self._place.offset):
            if death.shared:
                self._apart |= {death.query}
            elif death.proven:
                failure = Failure(death.query, death.version, death.step, self.next_seq, death.told())
                self._marks.note([failure], max(death.offset, self._place.offset), stopped=False)
                if death.offset < self._place.offset or death.step == RESTORING:
                    self._marks.stop(operator, self._place.offset)

    def _restore(self, operator: ResultOperator, snapshot: Snapshot) -> ReaderState:
        self._step.at(snapshot.position)
        self._marks.stop(operator, snapshot.position)
        operator.restore(snapshot.state)
        reader = snapshot.reader
        self.position = snapshot.position
        self.next_seq, self.watermark, self.schema = reader["next_seq"], reader["watermark"], reader["schema"]
        return ReaderState(reader["claim"], reader["counter"])

    # ------------------------------------------------------------ work

    def _advance(self, now_ms: int) -> bool:
        self._feed()
        if self._ending is not None and self._ending.done():
            self._ended()
        if self._pending is not None:
            self._write(self._pending, now_ms)
        elif self.due(now_ms) <= 0:
            if self._writing is not None and self._writing.done():
                self._written()
            snapshot = self._writing is None and now_ms - self._snapshot_at >= self._limits.snapshot_ms
            self._commit(now_ms, observe=snapshot or now_ms - self._observed_at >= self._limits.observe_ms)
            if snapshot:
                self._ended()
                self._snapshot(now_ms)
        elif self._queue:
            try:
                self._apply(self._queue.popleft())
            except GapError:  # what was found before it stands, however often the chain comes here
                self._commit(now_ms, observe=False)
                self._ended()
                raise
        else:
            self._commits.idled()
            return False
        return True

    def _apply(self, record: Record) -> None:
        if record.offset < self.position:
            return  # fetched before the seek
        assert self.operator is not None
        block = self._reader.accept(record)
        if block is not None:
            results = self._run(self.operator, block, record.offset)
            if record.offset >= self._place.offset:
                index = index_behind(self._place, results) if record.offset == self._place.offset else 0
                traced = block.columns if block.columns.trace is not None else None
                pending = Pending(record.offset, results, index, self._clock(), traced)
                self.tally.applied(record.timestamp, pending.applied_ms)
                self._pending = None if pending.done else pending
        self.position = record.offset + 1
        if record.offset < self._place.said <= self.position:
            self._observed()  # the predecessor has said it

    def _run(self, operator: ResultOperator, block: Block, offset: int) -> Results:
        self._marks.stop(operator, offset)
        self._step.at(offset)
        started = perf_counter_ns()
        results = operator.apply(block, lambda: history(self._log, self._plan, offset))
        nanoseconds = perf_counter_ns() - started
        self._step.over()
        self._failed(operator.failures(), offset)
        self._marks.passed(block, offset)
        self._observer.applied(block, operator, nanoseconds)
        self.tally.processing_ns += nanoseconds
        self.tally.events += len(block.columns)
        self.next_seq, self.watermark = block.next_seq, block.watermark
        for control in block.controls:
            if control.kind in ("schema", "checkpoint"):
                self.schema = control.body["schema"]
        return results

    def _failed(self, failures: Sequence[Failure], offset: int) -> None:
        """Queries have failed in a block. Where that has touched others it is taken again, from the last snapshot."""
        apart = frozenset[str]().union(*(one.apart for one in failures))
        if apart - self._apart:
            self._apart |= apart
            shared = f"{', '.join(sorted(apart))} share a graph, of which one failed; each goes on alone"
            raise AbortableError(f"{shared} ({failures[0].reason})")
        self._marks.note(failures, max(offset, self._place.offset))
        if any(one.anew for one in failures):
            raise AbortableError(f"query {failures[0].name} failed: the block is taken again without it")

    def _observed(self) -> Sequence[Message]:
        """What is to be told to the model builder; no query is at work any more when it is sent."""
        assert self.operator is not None
        messages = self._observer.messages(self.operator)
        self._step.over()
        return messages

    def _failed_between(self) -> None:
        """Queries may have failed with a block applied, in what was done beside."""
        assert self.operator is not None
        self._step.over()
        if failures := self.operator.failures():
            offset, index = (self.position, None)
            if self._pending is not None:
                offset, index = self._pending.offset, self._pending.index
            self._marks.note(failures, offset, index)

    def _write(self, pending: Pending, now_ms: int) -> None:
        """A slice of the pending results, at most what the transaction still holds."""
        assert self._producer is not None
        self._begin()
        began = perf_counter_ns()
        start, results = pending.index, pending.results
        stop = min(len(results), start + min(self._limits.results - self._sent, self._slice))
        detected = b',"detected_at":%d}' % now_ms
        topic, partition = self._plan.output.topic, self._plan.output.partition
        encode = self._plan.encode
        names = [name.encode() for name in results.names]
        shared = (("ce_source", self._plan.source), *self._plan.headers, ("ce_time", _instant(now_ms)))
        queries, bodies = results.query[start:stop].tolist(), results.json(start, stop)
        self._failed_between()
        gone = self._marks.left_out(pending.offset, start)
        traced = pending.traced
        traces: Iterable[Headers] = repeat(()) if traced is None else trace_headers(traced, results, start, stop)
        too_large, left_out = [], []
        ready: tuple[bytes, bytes, Headers] | None = None
        for index, (query, body, trace) in enumerate(zip(queries, bodies, traces, strict=False), start):
            if results.names[query] in gone:
                left_out.append(index)
                continue
            form = body if encode is None else encode(body[:-1] + detected)
            if len(form) > self._limits.result_bytes:
                too_large.append(index)
                self._send_letter(pending, index, body, len(form))
                continue
            value = body[:-1] + detected if encode is None else form
            if ready is not None:
                self._producer.send(topic, partition, ready[0], key=ready[1], headers=ready[2])
            ready = value, names[query], (*shared, ("ce_id", body[ID]), *trace)
        if ready is not None:  # the last one says how far it goes: what comes next may be of another transaction
            place = Written(self.input.state.topic, self._plan.where.partition, pending.offset, stop).header()
            self._producer.send(topic, partition, ready[0], key=ready[1], headers=(*ready[2], place))
        self.tally.wrote(results, start, stop, perf_counter_ns() - began, too_large, left_out)
        self._count(stop - start, sum(map(len, bodies)))
        pending.index = stop
        if pending.done:
            self._pending = None
            self.tally.finished(pending.applied_ms)
        if self._sent >= self._limits.results or self._sent_bytes >= self._limits.bytes:
            self._commit(now_ms, observe=False)

    def _count(self, results: int, size: int) -> None:
        """So many have been rendered: how many are at the next time, for those of one event may fill the memory."""
        self._sent += results
        self._sent_bytes += size
        self._slice = max(1, min(max(_FEW, _GROWTH * results), _SLICE_BYTES * results // max(1, size)))

    def _send_letter(self, pending: Pending, index: int, body: bytes, size: int) -> None:
        """In place of a result that is too large (`size`: as it would be written): what is known but for its events."""
        assert self._producer is not None
        results = pending.results
        query, time = results.names[results.query[index]], int(results.last_time[index])
        found = LargeResult(self._plan.where, pending.offset, index, query, body[ID].decode(), time, size, body)
        letters, letter = self._plan.letters, found.letter(self._limits.result_bytes)
        self._producer.send(letters.topic, letters.partition, letter, key=found.key)

    # ------------------------------------------------------------ transactions

    def _begin(self) -> None:
        assert self._producer is not None
        if not self._open:
            self._ended()
            self._producer.begin()
            self._open = True

    def _commit(self, now_ms: int, *, observe: bool) -> None:
        """End the transaction with the place reached (begin one if only the position has moved), beside the loop: what
        comes next goes on from there as if it stood, and is dropped if it does not.
        """
        assert self._producer is not None
        assert self.operator is not None
        if self._behind and not self._open:
            return
        said = self.position if observe else self._place.said
        reached = Place(self.position, 0, said, failed=self._marks.at(self.position))
        if self._pending is not None:
            offset, index = self._pending.offset, self._pending.index
            counts = counts_until(self._pending.results, index)
            reached = Place(offset, index, said, counts, self._marks.at(offset))
        if reached == self._place and not self._open:
            return
        self._begin()
        for topic, key, value in self._observed() if observe else ():
            self._producer.send(topic, self._plan.output.partition, value, key=key)
        self._failed_between()
        reached = replace(reached, failed=self._marks.at(reached.offset))
        self._commits.begin()
        membership = self._consumer.membership()
        self._ending = self._plan.commits(partial(self._end, self._producer, reached, membership))
        self._open, self._sent, self._sent_bytes = False, 0, 0
        self._place, self._committed_at = reached, now_ms
        self._observed_at = now_ms if observe else self._observed_at

    def _end(self, producer: Producer, reached: Place, membership: Any) -> tuple[float, float]:
        """On any thread, so that it may not ask the consumer; when it began and was over."""
        began = self._clock()
        producer.send_offsets({self._plan.where: reached.committed(self.input.state)}, membership)
        producer.commit()
        return began, self._clock()

    def _ended(self) -> None:
        """Wait until the last transaction stands, if it is still at its end; LogError where that is not known."""
        if self._ending is not None:
            began, ended = self._ending.result()
            self._ending = None
            self._commits.end(began, ended)
            self.tally.committed(ended)

    def _snapshot(self, now_ms: int) -> None:
        """The state at the committed place, if that is between two blocks and everything observed has been said."""
        assert self.operator is not None
        if not self._place.is_between(self.position):
            return
        state = self._reader.state
        reader: Mapping[str, Any] = {
            "claim": state.claim,
            "counter": state.counter,
            "next_seq": self.next_seq,
            "watermark": self.watermark,
            "schema": self.schema,
            "topic": self.input.state.topic,
        }
        began = perf_counter_ns()
        snapshot = Snapshot(self.position, reader, self.operator.snapshot())
        self._failed_between()
        self._writing = self._plan.background(lambda: self._snapshots.write(snapshot))
        self.tally.snapshot_ms.append((perf_counter_ns() - began) / 1e6)
        self._snapshot_at, self._snapshot_position = now_ms, self.position

    def _written(self) -> None:
        """Wait for the snapshot that is being written, if there is one; OSError: it could not be."""
        if self._writing is not None:
            self.tally.snapshot_bytes = self._writing.result()
            self._writing = None

    # ------------------------------------------------------------ input

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


def _instant(ms: int) -> bytes:
    """As CloudEvents write a time (RFC 3339)."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()
