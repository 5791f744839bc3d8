"""The operator of one chain, and what applying blocks to it takes: reader, failures, deaths, observations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter_ns
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.operators.containment import RESTORING, Failure
from saffron.engine.operators.operator import ResultOperator
from saffron.errors import AbortableError
from saffron.runtime.hops.block_reader import BlockReader, ReaderState
from saffron.runtime.log import Log, Record
from saffron.runtime.results.chain_plan import Applied, ChainPlan, Message, Observer, blocks_until
from saffron.runtime.results.failed_queries import FailedQueries
from saffron.runtime.results.last_step import LastStep
from saffron.runtime.results.snapshots import Snapshot
from saffron.runtime.results.take_over import Start
from saffron.runtime.results.tally import Tally
from saffron.runtime.telemetry.growth import Growth


class BlockApplier:
    """The blocks of one chain, applied to its operator. `operator` is None before `start`.

    `next_seq`, `watermark`, `schema`: those behind the last block. `failed`: the queries that have failed, of which the
    operator must not take every block.
    """

    def __init__(self, log: Log, plan: ChainPlan, tally: Tally) -> None:
        self._log = log
        self._plan = plan
        self._tally = tally
        self._observer: Observer = plan.observer()
        self._reader = BlockReader()
        self._unshared: frozenset[str] = frozenset()
        self._step = LastStep(plan.directory)
        self._dropped: Growth[str] = Growth()
        self.failed = FailedQueries(plan.report_failure)
        self.operator: ResultOperator | None = None
        self.next_seq = 0
        self.watermark: int | None = None
        self.schema: Mapping[str, Any] | None = None

    # ------------------------------------------------------------ take-over

    @property
    def claim(self) -> int:
        """The highest claim on the input before the next block, or -1 where it is not known."""
        return self._reader.read[0]

    def start(self, start: Start) -> int:
        """Makes an operator with the state from which the chain goes on; returns the offset of its next block."""
        plan, committed, position = self._plan, start.place.offset, start.low
        operator = plan.operator(self._step.enter)
        self._observer = plan.observer()
        self._dropped = Growth()
        self.failed.take_over(start.place.failed, committed)
        if start.snapshot is not None:
            position = start.snapshot.position
        self._check_deaths(operator, committed, min(position, committed))
        self.next_seq, self.watermark, self.schema = 0, None, None
        state = ReaderState(counter=0 if start.low == 0 else None)
        if start.snapshot is not None:
            state = self._restore(operator, start.snapshot)
        operator.part(self._unshared)
        self.failed.add(operator.failures(), position)
        self.failed.reached(position)
        self._step.leave()
        self._reader = BlockReader(state)
        if not start.lost:
            self._reader.read = (start.place.claim, start.place.read)
        self.operator = operator
        return position

    def forget(self) -> None:
        """Forgets the operator."""
        self.operator = None
        self._step.leave()

    def _check_deaths(self, operator: ResultOperator, committed: int, first: int) -> None:
        """Evaluates deaths. A second death in the same query and block stops the query.

        `first`: offset of the first block that the operator takes; in those before `committed` it would die again of
        each query that has ended by the log since.
        """
        for death in self._step.take_deaths(first):
            if death.shared:
                self._unshared |= {death.query}
            elif death.proven:
                failure = Failure(death.query, death.version, death.step, self.next_seq, death.reason())
                self.failed.add([failure], death.offset, stopped=False)
                if death.offset < committed or death.step == RESTORING:
                    self.failed.stop_before(operator, committed)

    def _restore(self, operator: ResultOperator, snapshot: Snapshot) -> ReaderState:
        """Restores a snapshot; returns the reader's state."""
        self._step.set_offset(snapshot.position)
        self.failed.stop_before(operator, snapshot.position)
        operator.restore(snapshot.state)
        reader = snapshot.reader
        self.next_seq, self.watermark, self.schema = reader["next_seq"], reader["watermark"], reader["schema"]
        return ReaderState(reader["claim"], reader["counter"])

    @property
    def has_queries(self) -> bool:
        """True unless it is known that no query stands."""
        return self.operator is None or self.operator.has_queries

    # ------------------------------------------------------------ work

    def apply(self, record: Record) -> Applied | None:
        """Applies the block of a record; None if it is none that counts.

        GapError: blocks before it are missing. TruncatedError: the input is not the one that was read.
        """
        assert self.operator is not None
        block = self._reader.accept(record)
        return None if block is None else self._run(self.operator, block, record.offset)

    def _run(self, operator: ResultOperator, block: Block, offset: int) -> Applied:
        """The operator's results for one block, with failures, measurements and observations recorded."""
        self.failed.stop_before(operator, offset)
        self._step.set_offset(offset)
        started = perf_counter_ns()
        results = operator.apply(block, lambda: blocks_until(self._log, self._plan, offset))
        nanoseconds = perf_counter_ns() - started
        self._step.leave()
        self._add_failures(operator.failures(), offset)
        self.failed.block_applied(block, offset)
        self.failed.reached(offset + 1)
        self._observer.applied(block, operator, nanoseconds)
        self._tally.processing_ns += nanoseconds
        self._tally.events += len(block.columns)
        self.next_seq, self.watermark = block.next_seq, block.watermark
        for control in block.controls:
            if control.kind in ("schema", "checkpoint"):
                self.schema = control.body["schema"]
        return Applied(offset, block, results, self._dropped_by(operator, block))

    def _dropped_by(self, operator: ResultOperator, block: Block) -> Mapping[str, int]:
        """The partial matches that the orders in a block have dropped, by query."""
        if not any(control.kind == "keep" for control in block.controls):
            return {}
        return self._dropped.since(operator.statistics().get("dropped", {}))

    def _add_failures(self, failures: Sequence[Failure], offset: int) -> None:
        """Records failures in a block.

        If other queries are affected, the block is applied again from the last snapshot.
        """
        apart = frozenset[str]().union(*(one.apart for one in failures))
        if apart - self._unshared:
            self._unshared |= apart
            shared = f"{', '.join(sorted(apart))} share a graph, of which one failed; each goes on alone"
            raise AbortableError(f"{shared} ({failures[0].reason})")
        self.failed.add(failures, offset)
        if any(one.anew for one in failures):
            raise AbortableError(f"query {failures[0].name} failed: the block is taken again without it")

    def take_observations(self) -> Sequence[Message]:
        """The messages for the model builder. No query is at work any more when they are sent."""
        assert self.operator is not None
        messages = self._observer.messages(self.operator)
        self._step.leave()
        return messages

    def add_failures_between(self, offset: int, index: int | None) -> None:
        """Records failures outside the application of a block, as in rendering or snapshots.

        `offset`, `index`: the next block or result (see `FailedQuery`).
        """
        assert self.operator is not None
        self._step.leave()
        if failures := self.operator.failures():
            self.failed.add(failures, offset, index)

    def snapshot(self, position: int, topic: str) -> Snapshot:
        """The state before the block at `position` of the input topic with the id `topic`."""
        assert self.operator is not None
        state = self._reader.state
        reader: Mapping[str, Any] = {
            "claim": state.claim,
            "counter": state.counter,
            "next_seq": self.next_seq,
            "watermark": self.watermark,
            "schema": self.schema,
            "topic": topic,
        }
        return Snapshot(position, reader, self.operator.snapshot())
