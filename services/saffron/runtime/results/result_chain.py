"""One partition of `matcher` or `greta`: blocks in; results and position out, in one transaction.

take over:  from the committed place C with the newest snapshot S <= C. Blocks from S to C are applied without output
run:        results go into a transaction with the place reached: (offset of the block, index of its next result). One
            event may complete more results than a transaction should hold. While a transaction commits on another
            thread the next block is applied; its results wait for the next transaction
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from saffron.engine.operators.operator import ResultOperator
from saffron.errors import AbortableError, GapError, LogError, TruncatedError
from saffron.runtime.hops.input_state import LOST, TRUNCATED, InputTracker
from saffron.runtime.hops.transactional_chain import Holding, TransactionalChain
from saffron.runtime.log import Consumer, Log, Record
from saffron.runtime.results.block_applier import BlockApplier
from saffron.runtime.results.chain_plan import ChainPlan, CommitPacing, Limits, PendingResults, Place, Turns, next_index
from saffron.runtime.results.failed_queries import failed_queries_text
from saffron.runtime.results.query_counts import counts_by_query
from saffron.runtime.results.rest import Rest
from saffron.runtime.results.result_writer import ResultWriter
from saffron.runtime.results.snapshot_writing import SnapshotWriting
from saffron.runtime.results.snapshots import Snapshot, Snapshots
from saffron.runtime.results.take_over import find_start
from saffron.runtime.results.tally import Tally
from saffron.runtime.telemetry.metric_names import EVENTS_APPLIED, SHED_PARTIAL_MATCHES

_LOG = logging.getLogger(__name__)


class ResultChain(TransactionalChain):
    """The chain of one assigned partition."""

    def __init__(
        self, log: Log, consumer: Consumer, plan: ChainPlan, limits: Limits, clock: Callable[[], float]
    ) -> None:
        """`clock`: ms since 1970, for measuring only."""
        holding = Holding(
            plan.where,
            plan.transactional_id,
            limits.retry_ms,
            plan.commit_executor,
            plan.report,
            plan.search_executor,
            plan.start_executor,
        )
        super().__init__(log, consumer, holding, clock)
        self._plan = plan
        self._limits = limits
        self._clock = clock
        self._blamed: set[str] = set()
        self._other_from: int | None = None
        self._misfit = -1
        self._observation_partitions: dict[str, int] = {}
        self._pending: PendingResults | None = None
        self._place = Place(0, 0, 0)
        self._committed_at = self._observed_at = 0
        self._commit_pacing = CommitPacing()
        self._turns = Turns(limits.turn_ms)
        self.tally = Tally(plan.report, plan.results)
        self._blocks = BlockApplier(log, plan, self.tally)
        self._rest = Rest(consumer, plan.where, lambda: plan.has_queries() or self._blocks.has_queries)
        self._snapshots = Snapshots(plan.directory)
        self._snapshot = SnapshotWriting(self._snapshots, plan.snapshot_executor, limits.snapshot_ms, self.tally)
        self._writer = ResultWriter(plan, limits, self.tally)

    # ------------------------------------------------------------ what it is at

    @property
    def operator(self) -> ResultOperator | None:
        """The operator; None before the take-over."""
        return self._blocks.operator

    @property
    def next_seq(self) -> int:
        """Number of the event behind the last block applied."""
        return self._blocks.next_seq

    @property
    def watermark(self) -> int | None:
        """Event time (ms) behind the last block applied, or None."""
        return self._blocks.watermark

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The schema in force behind the last block applied, or None."""
        return self._blocks.schema

    @property
    def replaying(self) -> bool:
        """True if blocks are being applied whose results are in the log already."""
        return self.position < self._place.offset

    def snapshot_age(self, now_ms: int) -> int:
        """See `SnapshotWriting.age`."""
        return self._snapshot.age(self.position, now_ms)

    @property
    def has_pending_results(self) -> bool:
        """True if results of the last applied block are still to be written."""
        return self._pending is not None

    @property
    def failed(self) -> frozenset[str]:
        """The queries that have failed on this partition."""
        return frozenset() if self.operator is None else self.operator.failed

    @property
    def catching_up(self) -> bool:
        """True if the log is ahead of this chain, so that the committed place must not be replaced yet."""
        begun = self._place.index > 0 or self._place.observed_until > self._place.offset
        return self.replaying or (self.position == self._place.offset and begun)

    def due(self, now_ms: int) -> int:
        waited = now_ms - self._committed_at
        if self._transactions.is_open:
            return max(self._limits.commit_ms - waited, self._commit_pacing.remaining_ms(now_ms))
        if self.operator is None or self.catching_up or self._place.is_between(self.position):
            return self._limits.position_ms
        return self._limits.position_ms - waited

    def step(self, now_ms: int) -> bool:
        self._turns.begin(now_ms)
        return super().step(now_ms)

    # ------------------------------------------------------------ take-over and release

    def _take_over(self, now_ms: int) -> InputTracker:
        """Makes the operator, from a snapshot if there is one, and sets the position to go on from.

        Records that retention has removed, or that were read and are gone, are an incident of the input, and are
        logged. StreamError: see `find_start`.
        """
        plan = self._plan
        plan.published.forget()
        self._snapshot.wait()  # it may be of records that are gone, and must not land behind the take-over
        start = find_start(self._log, self._consumer, plan, self._snapshots, self._search, self._other_from)
        self._other_from = None
        tracker = InputTracker(start.input)
        tracker.update(start.topic, 0, start.place.offset, now_ms)
        if start.lost:
            tracker.add_incident(LOST, now_ms, start.lost.start, start.lost.start, start.lost.stop)
            _LOG.error(
                "%s: retention removed records %d to %d before they were read; their results are missing, and those up "
                "to the next checkpoint record. Keep the topic for longer than its readers may be away",
                plan.where, start.lost.start, start.lost.stop - 1,
            )  # fmt: skip
        if gone := start.truncated:
            tracker.add_incident(TRUNCATED, now_ms, gone.stop, gone.stop, gone.start)
            _LOG.error(
                "%s: it has lost its end: records %d to %d had been read, and are gone. Their results stand; what "
                "comes there now has results of its own, which may be the same. Give the topic replicas",
                plan.where, gone.start, gone.stop - 1,
            )  # fmt: skip
        self._place = start.place
        self.position = self._blocks.start(start)
        self._snapshot.begin_at(self.position, now_ms)
        self._rest.begin_at(self.position)
        self._committed_at = self._observed_at = now_ms
        return tracker

    def _finish(self, now_ms: int) -> None:
        """Commits and writes a snapshot."""
        if self.replaying:
            return
        self._commit(now_ms, observe=True)
        self._transactions.wait()
        self._snapshot.wait()
        self._write_snapshot(now_ms)
        self._snapshot.wait()

    def _forget(self) -> None:
        self._blocks.forget()
        self._observation_partitions.clear()
        self._pending = None

    # ------------------------------------------------------------ work

    def _advance(self, now_ms: int) -> bool:
        self._transactions.settle()
        moved = self._work(now_ms)
        if not self._queue and self._rest.is_on(self.position, now_ms):
            self._flow.pause(True)
        else:
            self._flow.update(len(self._queue), self._limits.queue, self._limits.queue // 4)
        return moved

    def _work(self, now_ms: int) -> bool:
        """Does one thing: writes pending results, commits if that is due, or applies blocks.

        False: there was nothing to do, or nobody waits for what comes next.
        """
        if self._pending is not None:
            self._write(self._pending, now_ms)
        elif self.due(now_ms) <= 0:
            snapshot = self._snapshot.is_due(now_ms)
            self._commit(now_ms, observe=snapshot or now_ms - self._observed_at >= self._limits.observe_ms)
            if snapshot:
                self._transactions.wait()
                self._write_snapshot(now_ms)
        elif self._queue:
            self._apply_next(now_ms)
        else:
            self._commit_pacing.mark_idle()
            return False
        return self._pending is not None or not self._rest.is_possible  # else nobody waits for what is done next

    def _apply_next(self, now_ms: int) -> None:
        """Applies a block; without queries all that are there."""
        try:
            self._apply(self._queue.popleft())
            while self._rest.is_possible and self._queue and self._pending is None:
                self._apply(self._queue.popleft())
        except GapError:  # results before the gap are committed first
            self._commit(now_ms, observe=False)
            self._transactions.wait()
            raise
        except TruncatedError as error:  # the chain begins anew where the input is another one
            self._other_from = error.offset
            raise AbortableError(
                f"its input has other records than were read, from offset {error.offset} on"
            ) from error

    def _apply(self, record: Record) -> None:
        """Applies the block of a record. Its results are pending unless they are in the log already."""
        place = self._place
        applied = self._blocks.apply(record)
        if applied is not None and record.offset >= place.offset:
            index = next_index(place, applied.results) if record.offset == place.offset else 0
            pending = PendingResults(applied, index, self._clock(), uncounted=not place.has_begun(record.offset))
            self.tally.block_applied(record.timestamp, pending.applied_ms)
            if pending.done:
                self._count(pending)
            else:
                self._pending = pending
        self.position = record.offset + 1
        if record.offset < place.observed_until <= self.position:
            self._blocks.take_observations()  # the predecessor has sent these observations

    def _count(self, pending: PendingResults) -> None:
        """Count the block, once the place behind it or inside it is committed."""
        if not pending.uncounted:
            return
        pending.uncounted = False
        applied, when_written = pending.applied, self._transactions.when_written
        when_written.add(EVENTS_APPLIED, len(applied.block.columns), *self._plan.labels)
        for query, count in applied.dropped.items():
            when_written.add(SHED_PARTIAL_MATCHES, count, query)

    def _add_failures_between(self) -> None:
        """Records failures outside the application of a block: they end the query before the next result."""
        if self._pending is None:
            self._blocks.add_failures_between(self.position, None)
        else:
            self._blocks.add_failures_between(self._pending.offset, self._pending.index)

    def _write(self, pending: PendingResults, now_ms: int) -> None:
        """Writes a slice of the pending results; commits where the transaction holds as much as it may."""
        self._begin()
        self._count(pending)
        failed_queries = self._blocks.failed

        def excluded() -> Collection[str]:
            self._add_failures_between()
            return failed_queries.excluded(pending.offset, pending.index)

        def failed() -> bytes:
            return failed_queries_text(failed_queries.to_commit(pending.offset))

        self._writer.write(self._transactions.producer, pending, excluded, failed, self.input.state.topic, now_ms)
        if pending.done:
            self._pending = None
            self.tally.block_finished(pending.applied_ms)
        if self._writer.is_full or self._turns.are_slow(now_ms):
            self._commit(now_ms, observe=False)

    # ------------------------------------------------------------ transactions

    def _begin(self) -> None:
        """Begins a transaction, if none is open."""
        if not self._transactions.is_open:
            self._transactions.begin()
            self._writer.begin()
            self.tally.transaction_begun()

    def _commit(self, now_ms: int, *, observe: bool) -> None:
        """Ends the transaction with the place reached, on another thread.

        If only the position has moved, a transaction is begun for it. Later work assumes that the commit succeeds, and
        is dropped if it fails.
        """
        if self.catching_up and not self._transactions.is_open:
            return
        failed_queries = self._blocks.failed
        observed_until = self.position if observe else self._place.observed_until
        claim = self._blocks.claim
        reached = Place(self.position, 0, observed_until, failed=failed_queries.to_commit(self.position), claim=claim)
        if self._pending is not None:
            offset, index = self._pending.offset, self._pending.index
            counts = counts_by_query(self._pending.results, index)
            reached = Place(offset, index, observed_until, counts, failed_queries.to_commit(offset), claim)
            if not reached.fits(self.input.state):
                self._report_misfit(len(counts))
                return  # the transaction goes on to the end of the block
        if reached == self._place and not self._transactions.is_open:
            return
        self._begin()
        for topic, key, value in self._blocks.take_observations() if observe else ():
            self._transactions.producer.send(topic, self._observation_partition(topic), value, key=key)
        self._add_failures_between()
        reached = replace(reached, failed=failed_queries.to_commit(reached.offset))
        self._commit_pacing.begin()
        self._commit_at(reached.to_committed(self.input.state))
        self._place, self._committed_at = reached, now_ms
        self._observed_at = now_ms if observe else self._observed_at

    def _report_misfit(self, queries: int) -> None:
        """Logs, once for each block, that its results must go into one transaction."""
        assert self._pending is not None
        if self._misfit != self._pending.offset:
            self._misfit = self._pending.offset
            _LOG.warning(
                "%s: the block at offset %d has results of %d queries, too many for a position within it: they go into "
                "one transaction, which must end within SAFFRON_TRANSACTION_MS. Raise it if no results come",
                self._plan.where, self._misfit, queries,
            )  # fmt: skip

    def _observation_partition(self, topic: str) -> int:
        """The partition for observations in a topic, which may have fewer than that of the results."""
        if topic not in self._observation_partitions:
            self._observation_partitions[topic] = self._log.partitions(topic) or 1
        return self._plan.output.partition % self._observation_partitions[topic]

    def _committed(self, began_ms: float, ended_ms: float) -> None:
        self._blamed.clear()
        self._commit_pacing.end(began_ms, ended_ms)
        self.tally.transaction_committed(ended_ms)

    def _blame(self, error: LogError) -> bool:
        """True if the broker has refused topics of PUBLISH, whose queries fail then when the results are written again.

        A topic is blamed once: if that was of no help, something else is refused.
        """
        found = set[str]() if self.operator is None else self._plan.published.blame(error) - self._blamed
        self._blamed |= found
        return bool(found)

    def _write_snapshot(self, now_ms: int) -> None:
        """Writes the state at the committed place, if that lies between two blocks and all observations are sent."""
        if not self._place.is_between(self.position):
            return

        def make() -> Snapshot:
            snapshot = self._blocks.snapshot(self.position, self.input.state.topic)
            self._add_failures_between()
            return snapshot

        self._snapshot.write(make, now_ms)
