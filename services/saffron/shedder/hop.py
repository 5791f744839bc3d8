"""One chain of the shedder: blocks of `windows` queue here until the readers of `admitted` have credit for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.events.codec import open_block
from saffron.engine.shed.load.credits import Credits
from saffron.engine.shed.operator import ShedderOperator
from saffron.errors import GapError, InputError, RemadeError, TruncatedError
from saffron.runtime.hops.block_reader import BlockReader, ReaderState
from saffron.runtime.hops.hop import InputPartition
from saffron.runtime.hops.input_state import LOST, InputState, InputTracker
from saffron.runtime.hops.when_written import Counted
from saffron.runtime.log import Record
from saffron.runtime.telemetry.growth import Growth
from saffron.runtime.telemetry.metric_names import EVENTS_IN, SHED_EVENTS

MOST_BLOCKS, MOST_EVENTS = 1024, 1 << 19
"""Queue limits in blocks and events, at which the input is paused. The rest waits in the topic.

The queue should hold what comes within a bound of some seconds. A pause costs the client its prefetched records.
"""
_REFILL = 4
"""The input is resumed when the queue is down to this fraction (1/4) of its limits."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued block, its record, and the reader's state after it."""

    record: Record
    block: Block
    reader: ReaderState


class ShedderHop:
    """The queue in front of the operator, and the readers' credits. A `Hop` of `runtime.hops.hop`.

    `waits`: queueing time of each forwarded block (ms). `held_ms`: total time that some block waited for credit.
    """

    def __init__(self, operator: ShedderOperator, topic: str, *, credit_events: int, patience_ms: int) -> None:
        """`topic`: the input's."""
        self.operator = operator
        self.input = InputTracker()
        self._topic, self._partition = topic, operator.partition
        self.queue: deque[Waiting] = deque()
        self.waits: list[int] = []
        self.held_ms = 0
        self._appended: deque[int] = deque()
        self._blocked_at: int | None = None
        self._reader = BlockReader(decode=open_block)
        self._gap: GapError | None = None
        self._credit_events = credit_events
        self._patience_ms = patience_ms
        self._credits: Credits | None = None
        self._accepts_input = True
        self._waiting = 0
        self._shed: Growth[tuple[str, str]] = Growth()
        self._counts: list[list[Counted]] = []

    @property
    def credits(self) -> Credits:
        """The credits, created at first use: after `resume`, which knows the end of the output."""
        if self._credits is None:
            start = self.operator.next_seq
            self._credits = Credits(self._credit_events, start=start, patience_ms=self._patience_ms)
        return self._credits

    # ------------------------------------------------------------ the shell's side

    @property
    def accepts_input(self) -> bool:
        events, blocks = self._waiting, len(self.queue)
        if events >= MOST_EVENTS or blocks >= MOST_BLOCKS:
            self._accepts_input = False
        elif events <= MOST_EVENTS // _REFILL and blocks <= MOST_BLOCKS // _REFILL:
            self._accepts_input = True
        return self._accepts_input

    def resume(self, block: Block) -> None:
        self.operator.resume(block)
        self.input.state = InputState.from_record(block.input.get("source", {}))
        claim, counter = block.input["reader"]
        self._reader.state = ReaderState(claim, counter)

    def begin(self, partition: InputPartition, now_ms: int) -> int:
        """The offset of `windows` to read from; counts records that retention has deleted.

        RemadeError: the topic was deleted and made again. TruncatedError: it has lost its end.
        """
        last = self.operator.input["windows"]
        if self.input.state.remade(partition.topic.id):
            raise RemadeError(self._topic)
        position = partition.low if last < 0 else last + 1
        if position > partition.high:
            raise TruncatedError(self._topic, self._partition, partition.high)
        self._reader.read = (self._reader.state.claim, position)
        if position < partition.low:
            self.records_lost(position, partition.low, now_ms)
        self.input.update(partition.topic.id, 0, position, now_ms)
        return max(partition.low, position)

    def records_lost(self, first: int, stop: int, now_ms: int) -> None:
        self._reader.read = (-1, stop)
        self.input.add_incident(LOST, now_ms, first, first, stop)

    def take(self, batch: Sequence[Record], now_ms: int) -> None:
        """Queue the blocks of a batch, up to a gap: `emit` raises it once what stands before it is forwarded."""
        del now_ms
        for record in batch:
            if self._gap is not None:
                return
            try:
                block = self._reader.accept(record)
            except GapError as gap:
                self._gap = gap
                return
            if block is not None:
                self.queue.append(Waiting(record, block, self._reader.state))
                self._waiting += len(block.columns)
                self.operator.arrived(len(block.columns), record.timestamp)

    def emit(self, now_ms: int, *, flush: bool) -> list[Block]:
        """The blocks with credit. A flush gives none: the next owner reads queued blocks again.

        GapError: blocks are missing behind those that were given.
        """
        if self._gap is not None and not self.queue and not flush:
            raise self._gap
        blocks: list[Block] = []
        if self._blocked_at is not None:
            self.held_ms += max(0, now_ms - self._blocked_at)
        self._blocked_at = None
        while self.queue and not flush:
            block = self.queue[0].block
            if not self._admits(block, now_ms):
                self._blocked_at = now_ms
                break
            blocks.append(self._forward(self.queue.popleft(), now_ms))
        return blocks

    def take_counts(self) -> Sequence[Sequence[Counted]]:
        counts, self._counts = self._counts, []
        return counts

    def sent(self) -> int:
        """Marks the oldest forwarded block as sent; returns its record's time in `windows` (ms)."""
        return self._appended.popleft()

    # ------------------------------------------------------------ advice

    def take_load(self, load: Mapping[str, Any], now_ms: int) -> None:
        """Applies a load message of a reader. A reader has active queries if it counts partial matches of any."""
        active = bool(load["partial_matches"])
        self.credits.applied(load["service"], int(load["position"]), active=active, now_ms=now_ms)
        self.operator.observe(load, now_ms)

    def force(self, query: str, keep: object) -> str | None:
        """Applies an order of the user; returns the reason if it is refused, else None."""
        try:
            self.operator.order(query, keep)
        except InputError as error:
            return str(error)
        return None

    # ------------------------------------------------------------ inside

    def _admits(self, block: Block, now_ms: int) -> bool:
        """True if the next block may go: the readers have credit, and the operator allows it."""
        events = block.next_seq - block.first_seq
        if not self.credits.admits(events, now_ms):
            return False
        return events == 0 or self.operator.may_go(self.credits.in_flight(now_ms))

    def _forward(self, waiting: Waiting, now_ms: int) -> Block:
        """The block that the operator makes of a queued one, with the state of this chain."""
        record = waiting.record
        self._waiting -= len(waiting.block.columns)
        self.waits.append(max(0, now_ms - record.timestamp))
        self._appended.append(record.timestamp)
        admitted = self.operator.apply(
            waiting.block,
            now_ms=now_ms,
            offset=record.offset,
            appended_ms=record.timestamp,
            in_flight=self.credits.in_flight(now_ms),
        )
        self.credits.forwarded(admitted.next_seq)
        self._count(waiting.block)
        reader = [waiting.reader.claim, waiting.reader.counter]
        known = {"reader": reader, "source": self.input.state.record()}
        return replace(admitted, input={**admitted.input, **known})

    def _count(self, block: Block) -> None:
        """Counts the events of a block, and those of them that readers do not see."""
        operator = self.operator
        shed = self._shed.since(
            {(q, why): n for q, some in operator.shed_by_reason().items() for why, n in some.items()}
        )
        self._counts.append(
            [
                Counted(EVENTS_IN, len(block.columns), (operator.stream, str(operator.partition))),
                *(Counted(SHED_EVENTS, count, labels) for labels, count in shed.items()),
            ]
        )
