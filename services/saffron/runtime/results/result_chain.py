"""One partition of `matcher` or `greta`: blocks in; results and position out, in one transaction.

take over:        a producer with the partition's transactional id (ends and fences the predecessor's transaction),
                  then the committed place C, then the newest snapshot S <= C. Blocks from S to C are applied
                  without output
run:              results go into a transaction with the place reached: (offset of the block, index of its next
                  result). One event may complete more results than a transaction should hold. While a transaction
                  commits on another thread the next block is applied; its results wait for the next transaction
unknown outcome:  whatever happens to a transaction, state ahead of the log is dropped; then take over again
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from time import perf_counter_ns
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.operators.containment import RESTORING, Failure
from saffron.engine.operators.operator import ResultOperator
from saffron.engine.operators.results import Results
from saffron.errors import AbortableError, GapError, LogError
from saffron.runtime.hops.block_reader import BlockReader, ReaderState
from saffron.runtime.hops.flow import Flow
from saffron.runtime.hops.input_state import LOST, InputTracker
from saffron.runtime.hops.transactions import Transactions
from saffron.runtime.log import Consumer, Log, Record
from saffron.runtime.results.chain_plan import (
    ChainPlan,
    CommitPacing,
    Limits,
    Message,
    Observer,
    PendingResults,
    Place,
    blocks_until,
    next_index,
)
from saffron.runtime.results.failed_queries import FailedQueries, counts_by_query, failed_queries_text
from saffron.runtime.results.last_step import LastStep
from saffron.runtime.results.result_writer import ResultWriter
from saffron.runtime.results.retry_state import RetryState
from saffron.runtime.results.snapshots import Snapshot, Snapshots
from saffron.runtime.results.take_over import find_start
from saffron.runtime.results.tally import Tally

_LOG = logging.getLogger(__name__)


class ResultChain:
    """The chain of one assigned partition.

    `step` drives it. It takes over in its first step, and again after any transaction with an unknown outcome.
    """

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
        self._snapshot_future: Future[int] | None = None
        self._observer: Observer = plan.observer()
        self._reader = BlockReader(plan.decode)
        self._failed_queries = FailedQueries(plan.report_failure)
        self._unshared: frozenset[str] = frozenset()
        self._step = LastStep(plan.directory)
        self._retry = RetryState(plan.where, limits.retry_ms, self._reset, self._blame)
        self._blamed: set[str] = set()
        self._queue: deque[Record] = deque()
        self._pending: PendingResults | None = None
        self._place = Place(0, 0, 0)
        self.input = InputTracker()
        self._committed_at = self._observed_at = self._snapshot_at = self._snapshot_position = 0
        self._commit_pacing = CommitPacing()
        self.tally = Tally()
        self._writer = ResultWriter(plan, limits, self.tally)
        self._flow = Flow(consumer, plan.where, limits.queue, limits.queue // 4)
        self._transactions = Transactions(
            log, consumer, plan.where, plan.transactional_id, plan.commit_executor, clock, self._committed
        )
        self.operator: ResultOperator | None = None
        self.position = 0
        self.watermark: int | None = None
        self.next_seq = 0
        self.schema: Mapping[str, Any] | None = None

    @property
    def replaying(self) -> bool:
        """Whether blocks are being applied whose results are in the log already."""
        return self.position < self._place.offset

    @property
    def waited_ms(self) -> float:
        """Total time waited for room in the producer's queue, in ms."""
        return self._transactions.waited_ms

    def snapshot_age(self, now_ms: int) -> int:
        """Age of the newest snapshot in ms (before the first: time since the take-over); 0 if nothing was applied
        since.
        """
        return 0 if self.position == self._snapshot_position else max(0, now_ms - self._snapshot_at)

    @property
    def trouble(self) -> str | None:
        """An obstacle that only the user can remove, or None."""
        return self._retry.trouble

    @property
    def has_pending_results(self) -> bool:
        """Whether results of the last applied block are still to be written."""
        return self._pending is not None

    @property
    def failed(self) -> frozenset[str]:
        """The queries that have failed on this partition."""
        return frozenset() if self.operator is None else self.operator.failed

    @property
    def _catching_up(self) -> bool:
        """Whether the log is ahead of this chain, so that the committed place must not be replaced yet."""
        begun = self._place.index > 0 or self._place.observed_until > self._place.offset
        return self.replaying or (self.position == self._place.offset and begun)

    # ------------------------------------------------------------ what the shell calls

    def take(self, records: Sequence[Record]) -> None:
        """Accepts input records in order.

        Records before the take-over are ignored, since they are read again after it.
        """
        if self.operator is not None:
            self._queue.extend(records)

    def step(self, now_ms: int) -> bool:
        """One step of work: take over, apply one block, write a slice of results, or commit."""
        if self.operator is None:
            return now_ms >= self._retry.retry_at and self._retry.run(now_ms, self._take_over)
        return self._retry.run(now_ms, self._advance)

    def due(self, now_ms: int) -> int:
        """Time in ms until a commit is due (0 or less: now), if no more input comes."""
        waited = now_ms - self._committed_at
        if self._transactions.is_open:
            return max(self._limits.commit_ms - waited, self._commit_pacing.remaining_ms(now_ms))
        if self.operator is None or self._catching_up or self._place.is_between(self.position):
            return self._limits.position_ms
        return self._limits.position_ms - waited

    def release(self, now_ms: int) -> None:
        """Commits, writes a snapshot, and hands the partition over to another member."""

        def finish(now: int) -> bool:
            self._commit(now, observe=True)
            self._transactions.wait()
            self._await_snapshot()
            self._snapshot(now)
            self._await_snapshot()
            return True

        if self.operator is not None and not self.replaying:
            self._retry.run(now_ms, finish)
        self.drop()

    def restart(self) -> None:
        """See `last_hop.Chain`."""
        if self.operator is not None:
            self._reset()

    def drop(self) -> None:
        """Drops all state. An open transaction is aborted when the successor's producer starts."""
        self._transactions.close()
        self.operator, self._snapshot_future = None, None
        self.tally.transaction_dropped()
        self._step.leave()
        self._queue.clear()
        self._pending = None

    # ------------------------------------------------------------ take-over

    def _reset(self) -> None:
        """Drops all state and pauses the input, before another take-over."""
        self.tally.aborts += 1
        self.drop()
        self._flow.pause(True)

    def _take_over(self, now_ms: int) -> bool:
        """Takes the partition over: restores the state, and seeks the input to its position."""
        plan = self._plan
        plan.published.forget()
        self._transactions.take_over()
        start = find_start(self._log, self._consumer, plan, self._snapshots)
        self._place, low = start.place, start.low
        self.input.state = start.input
        self.input.update(start.topic, 0, start.place.offset, now_ms)
        if start.lost:
            self.input.add_incident(LOST, now_ms, start.lost.start, start.lost.start, start.lost.stop)
            _LOG.error(
                "%s: retention removed records %d to %d before they were read; their results are missing, and those up "
                "to the next checkpoint record. Keep the topic for longer than its readers may be away",
                plan.where, start.lost.start, start.lost.stop - 1,
            )  # fmt: skip
        self.operator, self._observer = plan.operator(self._step.enter), plan.observer()
        self._failed_queries.take_over(self._place.failed)
        self._check_deaths(self.operator)
        self.position, self.next_seq, self.watermark, self.schema = low, 0, None, None
        state = ReaderState(counter=0 if low == 0 else None)
        if start.snapshot is not None:
            state = self._restore(self.operator, start.snapshot)
        self.operator.part(self._unshared)
        self._failed_queries.add(self.operator.failures(), self._place.offset)
        self._step.leave()
        self._reader = BlockReader(plan.decode, state)
        self._snapshot_position = self.position
        self._committed_at = self._observed_at = self._snapshot_at = now_ms
        self._consumer.seek(plan.where, self.position)
        self._flow.pause(False)
        return True

    def _check_deaths(self, operator: ResultOperator) -> None:
        """Evaluates the last process's death. A second death in the same query and block stops the query."""
        for death in self._step.take_deaths(self._place.offset):
            if death.shared:
                self._unshared |= {death.query}
            elif death.proven:
                failure = Failure(death.query, death.version, death.step, self.next_seq, death.reason())
                self._failed_queries.add([failure], max(death.offset, self._place.offset), stopped=False)
                if death.offset < self._place.offset or death.step == RESTORING:
                    self._failed_queries.stop_before(operator, self._place.offset)

    def _restore(self, operator: ResultOperator, snapshot: Snapshot) -> ReaderState:
        """Restores a snapshot; returns the reader's state."""
        self._step.set_offset(snapshot.position)
        self._failed_queries.stop_before(operator, snapshot.position)
        operator.restore(snapshot.state)
        reader = snapshot.reader
        self.position = snapshot.position
        self.next_seq, self.watermark, self.schema = reader["next_seq"], reader["watermark"], reader["schema"]
        return ReaderState(reader["claim"], reader["counter"])

    # ------------------------------------------------------------ work

    def _advance(self, now_ms: int) -> bool:
        """One step after the take-over; False if there was nothing to do."""
        self._flow.update(len(self._queue))
        self._transactions.settle()
        if self._pending is not None:
            self._write(self._pending, now_ms)
        elif self.due(now_ms) <= 0:
            if self._snapshot_future is not None and self._snapshot_future.done():
                self._await_snapshot()
            snapshot = self._snapshot_future is None and now_ms - self._snapshot_at >= self._limits.snapshot_ms
            self._commit(now_ms, observe=snapshot or now_ms - self._observed_at >= self._limits.observe_ms)
            if snapshot:
                self._transactions.wait()
                self._snapshot(now_ms)
        elif self._queue:
            try:
                self._apply(self._queue.popleft())
            except GapError:  # results before the gap are committed first
                self._commit(now_ms, observe=False)
                self._transactions.wait()
                raise
        else:
            self._commit_pacing.mark_idle()
            return False
        return True

    def _apply(self, record: Record) -> None:
        """Applies the block of a record. Its results are pending unless they are in the log already."""
        if record.offset < self.position:
            return  # fetched before the seek
        assert self.operator is not None
        block = self._reader.accept(record)
        if block is not None:
            results = self._run(self.operator, block, record.offset)
            if record.offset >= self._place.offset:
                index = next_index(self._place, results) if record.offset == self._place.offset else 0
                traced_columns = block.columns if block.columns.trace is not None else None
                pending = PendingResults(record.offset, results, index, self._clock(), traced_columns)
                self.tally.block_applied(record.timestamp, pending.applied_ms)
                self._pending = None if pending.done else pending
        self.position = record.offset + 1
        if record.offset < self._place.observed_until <= self.position:
            self._take_observations()  # the predecessor has sent these observations

    def _run(self, operator: ResultOperator, block: Block, offset: int) -> Results:
        """The operator's results for one block, with failures, measurements and observations recorded."""
        self._failed_queries.stop_before(operator, offset)
        self._step.set_offset(offset)
        started = perf_counter_ns()
        results = operator.apply(block, lambda: blocks_until(self._log, self._plan, offset))
        nanoseconds = perf_counter_ns() - started
        self._step.leave()
        self._add_failures(operator.failures(), offset)
        self._failed_queries.block_applied(block, offset)
        self._observer.applied(block, operator, nanoseconds)
        self.tally.processing_ns += nanoseconds
        self.tally.events += len(block.columns)
        self.next_seq, self.watermark = block.next_seq, block.watermark
        for control in block.controls:
            if control.kind in ("schema", "checkpoint"):
                self.schema = control.body["schema"]
        return results

    def _add_failures(self, failures: Sequence[Failure], offset: int) -> None:
        """Records failures in a block.

        If other queries are affected, the block is applied again from the last snapshot.
        """
        apart = frozenset[str]().union(*(one.apart for one in failures))
        if apart - self._unshared:
            self._unshared |= apart
            shared = f"{', '.join(sorted(apart))} share a graph, of which one failed; each goes on alone"
            raise AbortableError(f"{shared} ({failures[0].reason})")
        self._failed_queries.add(failures, max(offset, self._place.offset))
        if any(one.anew for one in failures):
            raise AbortableError(f"query {failures[0].name} failed: the block is taken again without it")

    def _take_observations(self) -> Sequence[Message]:
        """The messages for the model builder. No query is at work any more when they are sent."""
        assert self.operator is not None
        messages = self._observer.messages(self.operator)
        self._step.leave()
        return messages

    def _add_failures_between(self) -> None:
        """Records failures outside the application of a block, as in rendering or snapshots."""
        assert self.operator is not None
        self._step.leave()
        if failures := self.operator.failures():
            offset, index = (self.position, None)
            if self._pending is not None:
                offset, index = self._pending.offset, self._pending.index
            self._failed_queries.add(failures, offset, index)

    def _write(self, pending: PendingResults, now_ms: int) -> None:
        """Writes a slice of the pending results; commits where the transaction holds as much as it may."""
        self._begin()

        def excluded() -> Collection[str]:
            self._add_failures_between()
            return self._failed_queries.excluded(pending.offset, pending.index)

        def failed() -> bytes:
            return failed_queries_text(self._failed_queries.to_commit(pending.offset))

        self._writer.write(self._transactions.producer, pending, excluded, failed, self.input.state.topic, now_ms)
        if pending.done:
            self._pending = None
            self.tally.block_finished(pending.applied_ms)
        if self._writer.is_full:
            self._commit(now_ms, observe=False)

    # ------------------------------------------------------------ transactions

    def _begin(self) -> None:
        """Begins a transaction, if none is open."""
        if not self._transactions.is_open:
            self._transactions.begin()
            self._writer.begin()

    def _commit(self, now_ms: int, *, observe: bool) -> None:
        """Ends the transaction with the place reached, on another thread.

        If only the position has moved, a transaction is begun for it. Later work assumes that the commit succeeds, and
        is dropped if it fails.
        """
        assert self.operator is not None
        if self._catching_up and not self._transactions.is_open:
            return
        observed_until = self.position if observe else self._place.observed_until
        reached = Place(self.position, 0, observed_until, failed=self._failed_queries.to_commit(self.position))
        if self._pending is not None:
            offset, index = self._pending.offset, self._pending.index
            counts = counts_by_query(self._pending.results, index)
            reached = Place(offset, index, observed_until, counts, self._failed_queries.to_commit(offset))
        if reached == self._place and not self._transactions.is_open:
            return
        self._begin()
        for topic, key, value in self._take_observations() if observe else ():
            self._transactions.producer.send(topic, self._plan.output.partition, value, key=key)
        self._add_failures_between()
        reached = replace(reached, failed=self._failed_queries.to_commit(reached.offset))
        self._commit_pacing.begin()
        self._transactions.commit(reached.to_committed(self.input.state))
        self._place, self._committed_at = reached, now_ms
        self._observed_at = now_ms if observe else self._observed_at

    def _blame(self, error: LogError) -> bool:
        """Whether the broker has refused topics of PUBLISH, whose queries fail then when the results are written again.

        A topic is blamed once: if that was of no help, something else is refused.
        """
        found = set[str]() if self.operator is None else self._plan.published.blame(error) - self._blamed
        self._blamed |= found
        return bool(found)

    def _committed(self, began: float, ended: float) -> None:
        """Records that a transaction was committed, from `began` to `ended` (ms)."""
        self._blamed.clear()
        self._commit_pacing.end(began, ended)
        self.tally.transaction_committed(ended)

    def _snapshot(self, now_ms: int) -> None:
        """Writes the state at the committed place, if that lies between two blocks and all observations are sent."""
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
        self._add_failures_between()
        self._snapshot_future = self._plan.snapshot_executor(lambda: self._snapshots.write(snapshot))
        self.tally.snapshot_ms.append((perf_counter_ns() - began) / 1e6)
        self._snapshot_at, self._snapshot_position = now_ms, self.position

    def _await_snapshot(self) -> None:
        """Waits for the snapshot that is being written, if any. OSError: writing failed."""
        if self._snapshot_future is not None:
            self.tally.snapshot_bytes = self._snapshot_future.result()
            self._snapshot_future = None
