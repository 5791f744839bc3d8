"""One chain of `windowing`: records go to the operator as they come, blocks leave it every few milliseconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from saffron.engine.events.block import Block
from saffron.engine.events.raw import RawBatch
from saffron.engine.windows.operator import DeadLetter, WindowingOperator
from saffron.errors import SchemaError
from saffron.records.stream import StreamRecord
from saffron.runtime.hops.inner_hop import Input
from saffron.runtime.hops.input_state import LOST, REMADE, InputBook, InputState
from saffron.runtime.streams.stream_formats import Translation
from saffron.schema.schema import Schema
from saffron.windowing.activation import Activation, Say
from saffron.windowing.follower import Desk
from saffron.windowing.unknown_events import Patience, UnknownEvents

_NEVER = -(2**62)
_BACKLOG_PATIENCE = 20
"""How many times longer a block may wait to be full when there is a backlog."""
_RAW_BATCHES = 4
"""Held while a schema registry does not answer, before no more are read."""


@dataclass(frozen=True)
class Pace:
    """When blocks leave: `block_events` are there, or the oldest has waited `flush_ms`.

    `poll_records`: a batch of so many says that there is a backlog.
    `infer_ms`: a stream without a schema waits this long for more events to infer it from, unless there are
    `poll_records` of them, and then this long for the queries to be compiled: `compile_ms`, from each one that is.
    """

    block_events: int = 8192
    flush_ms: int = 5
    poll_records: int = 2_000
    infer_ms: int = 1_000
    compile_ms: int = 30_000

    @property
    def backlog_ms(self) -> int:
        """The longest that a block waits to be full when there is a backlog."""
        return self.flush_ms * _BACKLOG_PATIENCE

    @property
    def unknown_events(self) -> Patience:
        """The same for events that need a new version of the schema."""
        return Patience(self.poll_records, self.infer_ms, min(self.backlog_ms, self.infer_ms), self.compile_ms)


@dataclass(frozen=True)
class Outlets:
    """Where what is no block goes. `letters` returns once they are acknowledged; `announce`: a version of the schema;
    `complain`: a sentence for the log."""

    letters: Callable[[list[DeadLetter]], None]
    say: Say
    announce: Callable[[Schema], None]
    complain: Callable[[str], None]


class WindowingHop:
    """A `Hop` of `runtime.hops.inner_hop`."""

    def __init__(
        self,
        operator: WindowingOperator,
        desk: Desk,
        pace: Pace,
        outlets: Outlets,
        stem: str,
        translate: Translation | None = None,
    ) -> None:
        """`stem`: of the stream. `translate`: where the stream's messages are not JSON events; what it cannot translate
        yet waits here."""
        self.operator = operator
        self.heard_at = _NEVER
        self._desk = desk
        self._pace = pace
        self._outlets = outlets
        self._activation = Activation(operator, desk, outlets.say, stem)
        self._unknown = UnknownEvents(
            operator, self._activation, pace.unknown_events, outlets.announce, outlets.complain
        )
        self._pending = 0
        self._backlog = False
        self._waiting_since: int | None = None
        self._translate = translate
        self._raw: deque[RawBatch] = deque()
        self._configured: StreamRecord | None = None
        self._fresh = True
        self.input = InputBook()
        self._awaiting = False
        self._awaited: frozenset[str] = frozenset()
        self._awaited_since = 0

    # ------------------------------------------------------------ the shell's side

    @property
    def hungry(self) -> bool:
        return not self._awaiting and not self._unknown.full and len(self._raw) < _RAW_BATCHES

    @property
    def holding(self) -> bool:
        """Whether events have come that are not yet decoded."""
        return self._unknown.holding or bool(self._raw)

    def resume(self, block: Block) -> None:
        self.operator.resume(block)
        self._activation.seen(block.controls)

    def begin(self, found: Input, now_ms: int) -> int:
        operator, book = self.operator, self.input
        book.state = InputState.of(operator.source)
        position, newborn = operator.position(), operator.newborn
        # Of a topic of version 0.1.0 the id is not known.
        if book.state.remade(found.topic.id) or (not newborn and position > found.high):
            book.note(REMADE, now_ms, position, position, found.low)
            operator.begin_anew(found.low)
        elif position < found.low and not newborn:
            book.note(LOST, now_ms, position, position, found.low)
        book.know(found.topic.id, found.topic.partitions, position, now_ms)
        operator.source = book.state.record()
        self._awaiting, self._awaited_since = newborn, now_ms
        return max(found.low, operator.position())

    def lost(self, first: int, stop: int, now_ms: int) -> None:
        self.input.note(LOST, now_ms, first, first, stop)
        self.operator.source = self.input.state.record()

    def take(self, batch: RawBatch, now_ms: int) -> None:
        self.heard_at = now_ms
        if self._translate is None:
            self._give(batch, now_ms)
        else:
            self._raw.append(batch)
            self._give_translated(self._translate, now_ms)

    def emit(self, now_ms: int, *, flush: bool) -> Sequence[Block]:
        if self._fresh:
            self._fresh = False
            self.heard_at = now_ms
            self._activation.report()
        self._configure(now_ms)
        if self._translate is not None and self._raw:
            self._give_translated(self._translate, now_ms)
        if self._activation.step(now_ms):
            self._await(now_ms)
        if self._awaiting:
            self._awaiting = self._queries_awaited(now_ms)
        known = not flush and self._unknown.step(now_ms)  # what is held back at the end is read again by the next owner
        if not (flush or known or self._due(now_ms)):
            return []
        self._pending, self._waiting_since = 0, None
        blocks = self.operator.flush(self._desk.positions)
        self._report(blocks)
        if known:
            self._activation.taken_up()
        return blocks

    def follow(self, watermark: int, now_ms: int) -> None:
        """The partition is silent and follows the others' watermark; not while it holds back events of its own."""
        if not self.holding and watermark > self.operator.watermark:
            self.operator.advance_watermark(watermark)
            self._await(now_ms)

    # ------------------------------------------------------------ inside

    def _queries_awaited(self, now_ms: int) -> bool:
        """Whether the first events of a partition are still to wait for queries that stand: one that is added to a
        topic is read by them from its beginning."""
        waiting = self._activation.waiting
        if self._awaited - waiting:
            self._awaited_since = now_ms
        self._awaited = waiting
        if not waiting or now_ms - self._awaited_since < self._pace.compile_ms:
            return bool(waiting)
        names = ", ".join(sorted(waiting))
        self._outlets.complain(
            f"stream {self.operator.stream}, partition {self.operator.partition}: its first events wait no longer "
            f"until all queries are compiled; those go on without: {names} (`saffron status` says who is running)"
        )
        return False

    def _give_translated(self, translate: Translation, now_ms: int) -> None:
        while self._raw and (batch := translate(self._raw[0])) is not None:
            self._raw.popleft()
            self._give(batch, now_ms)

    def _give(self, batch: RawBatch, now_ms: int) -> None:
        if self._unknown.wanted:
            self._unknown.take(batch, now_ms)
            return
        self.operator.ingest(batch)
        self._pending += len(batch)
        self._backlog = len(batch) >= self._pace.poll_records
        self._await(now_ms)

    def _await(self, now_ms: int) -> None:
        if self._waiting_since is None:
            self._waiting_since = now_ms

    def _due(self, now_ms: int) -> bool:
        if self._waiting_since is None:
            return False
        waited = now_ms - self._waiting_since
        # With a backlog the block is full soon; every hop behind pays per block, so a full one is worth the wait.
        patience = self._pace.backlog_ms if self._backlog else self._pace.flush_ms
        return self._pending >= self._pace.block_events or waited >= patience

    def _configure(self, now_ms: int) -> None:
        record = self._desk.streams.get(self.operator.stream)
        if record is None or record == self._configured:
            return
        self._configured = record
        if record.schema is None and record.disorder is None:
            return
        try:
            self.operator.configure(record)
        except SchemaError as error:
            self._outlets.complain(f"stream {self.operator.stream}: {error}")
        self._await(now_ms)

    def _report(self, blocks: Sequence[Block]) -> None:
        letters = self.operator.take_dead_letters()
        if letters:
            self._outlets.letters(letters)
        for block in blocks:
            self._activation.seen(block.controls)
        for notice in self.operator.take_notices():
            self._outlets.say(notice.name, notice.version, notice.state, notice.reason, notice.position)
