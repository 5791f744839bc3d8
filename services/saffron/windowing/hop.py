"""One chain of `windowing`: input goes to the operator at once, blocks leave it every few milliseconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from saffron.engine.events.block import Block
from saffron.engine.events.raw import RawBatch
from saffron.engine.windows.dead_letters import DeadLetter
from saffron.engine.windows.operator import WindowingOperator
from saffron.errors import SchemaError
from saffron.records.stream import StreamRecord
from saffron.runtime.hops.hop import InputPartition
from saffron.runtime.hops.input_state import LOST, REMADE, InputState, InputTracker
from saffron.runtime.hops.when_written import Counted
from saffron.runtime.streams.stream_formats import Translation
from saffron.runtime.telemetry import metric_names as names
from saffron.runtime.telemetry.growth import Growth
from saffron.runtime.telemetry.metric_kinds import Counter
from saffron.schema.schema import Schema
from saffron.windowing.activation import Activation, ReportStatus
from saffron.windowing.control_follower import ControlFollower
from saffron.windowing.unknown_events import HoldLimits, UnknownEvents

_NEVER = -(2**62)
_COUNTERS = (
    ("mistyped", names.MISTYPED_VALUES),
    ("left_out", names.LEFT_OUT_VALUES),
    ("in_seconds", names.TIMES_IN_SECONDS),
)
_BACKLOG_MS = 100
"""Longest wait for a full block while there is a backlog."""
_RAW_BATCHES = 4
"""Batches held while a schema registry does not answer, before the input is paused."""


@dataclass(frozen=True)
class BlockLimits:
    """Limits for cutting blocks: at `block_events` events, or `flush_ms` after the block before.

    `poll_records`: batch size that indicates a backlog. `infer_ms`: wait for more events of a stream without a schema.
    `compile_ms`: wait for compilation, from the last service that reported ready. `checkpoint_ms`: longest time between
    two checkpoints, a fraction of what the inner topics keep (schemas/): a stream with few events, or none, would lose
    its newest one to their retention.
    """

    block_events: int
    flush_ms: int
    poll_records: int
    infer_ms: int = 1_000
    compile_ms: int = 30_000
    checkpoint_ms: int = 86_400_000

    @property
    def backlog_ms(self) -> int:
        """Longest time between two blocks during a backlog, in ms."""
        return max(self.flush_ms, _BACKLOG_MS)

    @property
    def unknown_events(self) -> HoldLimits:
        """The limits for events that need a new schema version."""
        return HoldLimits(self.poll_records, self.infer_ms, min(self.backlog_ms, self.infer_ms), self.compile_ms)


@dataclass(frozen=True)
class Sinks:
    """Destinations of output other than blocks.

    `letters`: sends dead letters of the input topic with this id, and waits for the acknowledgement. `report_status`:
    writes a query status. `announce_schema`: writes a version of the schema that is needed at a time (ms), once.
    `report_error`: logs a message.
    """

    letters: Callable[[str, list[DeadLetter]], None]
    report_status: ReportStatus
    announce_schema: Callable[[Schema, int], None]
    report_error: Callable[[str], None]


class WindowingHop:
    """The chain of one source partition. A `Hop` of `runtime.hops.hop`."""

    def __init__(
        self,
        operator: WindowingOperator,
        control: ControlFollower,
        limits: BlockLimits,
        sinks: Sinks,
        stem: str,
        translate: Translation | None = None,
    ) -> None:
        """`translate`: for streams whose messages are not JSON events.

        Batches that it cannot translate yet are held.
        """
        self.operator = operator
        self.last_input_at = _NEVER
        self._control = control
        self._limits = limits
        self._sinks = sinks
        self._activation = Activation(operator, control, sinks.report_status, stem)
        self._unknown = UnknownEvents(
            operator, self._activation, limits.unknown_events, sinks.announce_schema, sinks.report_error
        )
        self._pending = 0
        self._backlog = False
        self._unsent = False
        self._left_at = _NEVER
        self._translate = translate
        self._raw: deque[RawBatch] = deque()
        self._configured: StreamRecord | None = None
        self._disorder = operator.disorder_ms
        self._just_started = True
        self.input = InputTracker()
        self._checkpoint_at = 0
        self._awaiting = False
        self._awaited: frozenset[str] = frozenset()
        self._awaited_since = 0
        self._growth: Growth[Counter] = Growth()
        self._counts: list[list[Counted]] = []

    # ------------------------------------------------------------ the shell's side

    @property
    def accepts_input(self) -> bool:
        return not self._awaiting and not self._unknown.full and len(self._raw) < _RAW_BATCHES

    def due(self, now_ms: int) -> int | None:
        """The ms until `emit` must be called again, since a block is not full yet or events are held; None: never."""
        if self._unsent:
            return self._remaining(now_ms)
        return self._limits.flush_ms if self.holding else None

    @property
    def holding(self) -> bool:
        """True if events are held that are not yet decoded."""
        return self._unknown.holding or self.awaits_registry

    @property
    def awaits_registry(self) -> bool:
        """True if messages are held that cannot be translated yet."""
        return bool(self._raw)

    def resume(self, block: Block) -> None:
        self.operator.resume(block)
        self._activation.apply_controls(block.controls)

    def begin(self, partition: InputPartition, now_ms: int) -> int:
        """The offset to read from: the first record's, where the topic was made anew or has lost its end.

        Lost records and a new topic are noted as incidents. The first events of a new partition wait for queries.
        """
        operator, tracker = self.operator, self.input
        tracker.state = InputState.from_record(operator.source)
        position, newborn = operator.position(), operator.newborn
        # Version 0.1.0 did not store the topic id.
        if tracker.state.remade(partition.topic.id) or (not newborn and position > partition.high):
            tracker.add_incident(REMADE, now_ms, position, position, partition.low)
            operator.begin_anew(partition.low)
        elif position < partition.low and not newborn:
            tracker.add_incident(LOST, now_ms, position, position, partition.low)
        tracker.update(partition.topic.id, partition.topic.partitions, position, now_ms)
        operator.source = tracker.state.record()
        self._checkpoint_at = now_ms if partition.restored_at is None else partition.restored_at
        self._awaiting, self._awaited_since = newborn, now_ms
        return max(partition.low, operator.position())

    def records_lost(self, first: int, stop: int, now_ms: int) -> None:
        self.input.add_incident(LOST, now_ms, first, first, stop)
        self.operator.source = self.input.state.record()

    def take(self, batch: RawBatch, now_ms: int) -> None:
        self.last_input_at = now_ms
        if self._translate is None:
            self._ingest(batch, now_ms)
        else:
            self._raw.append(batch)
            self._ingest_translated(self._translate, now_ms)

    def emit(self, now_ms: int, *, flush: bool) -> Sequence[Block]:
        """The blocks to write, their dead letters and reports sent before; none while no block is due.

        An incident of the topic brings a checkpoint at once. With `flush` held events are left to the next owner.
        """
        if self._just_started:
            self._just_started = False
            self.last_input_at = now_ms
            self._activation.report_all()
        self._configure(now_ms)
        if self._translate is not None and self._raw:
            self._ingest_translated(self._translate, now_ms)
        self._unsent |= self._activation.step(now_ms, unread=self._awaiting)
        if self._awaiting:
            self._awaiting = self._must_wait_for_queries(now_ms)
        known = not flush and self._unknown.step(now_ms)  # the next owner reads held events again
        # What has happened to the topic is written at once: the next owner would notice it again, at another time.
        needs_checkpoint = self.input.has_new or now_ms - self._checkpoint_at >= self._limits.checkpoint_ms
        if not (flush or known or needs_checkpoint or self._due(now_ms)):
            return []
        self._pending, self._unsent, self._left_at = 0, False, now_ms
        blocks = self.operator.flush(self._control.positions)
        if needs_checkpoint:
            blocks.append(self.operator.checkpoint())
            self._checkpoint_at = now_ms
        self._send_side_output(blocks)
        self._count(blocks)
        if known:
            self._activation.schema_in_force()
        return blocks

    def take_counts(self) -> Sequence[Sequence[Counted]]:
        counts, self._counts = self._counts, []
        return counts

    def follow(self, watermark: int) -> None:
        """Advances the watermark of a silent partition, unless the partition holds events back."""
        if not self.holding and watermark > self.operator.watermark:
            self.operator.advance_watermark(watermark)
            self._unsent = True

    def pass_silence(self, ms: int) -> None:
        """Advances the watermark by `ms` in which nothing came, unless the partition holds events back."""
        before = self.operator.watermark
        if not self.holding:
            self.operator.pass_silence(ms)
        self._unsent |= self.operator.watermark > before

    # ------------------------------------------------------------ inside

    def _must_wait_for_queries(self, now_ms: int) -> bool:
        """True if the first events of a new partition must wait for queries to be compiled.

        A query reads a partition that is added to a topic from its beginning.
        """
        waiting = self._activation.waiting
        if self._awaited - waiting:
            self._awaited_since = now_ms
        self._awaited = waiting
        if not waiting or now_ms - self._awaited_since < self._limits.compile_ms:
            return bool(waiting)
        names = ", ".join(sorted(waiting))
        self._sinks.report_error(
            f"stream {self.operator.stream}, partition {self.operator.partition}: its first events wait no longer "
            f"until all queries are compiled; those go on without: {names} (`saffron status` says who is running)"
        )
        return False

    def _ingest_translated(self, translate: Translation, now_ms: int) -> None:
        while self._raw and (batch := translate(self._raw[0])) is not None:
            self._raw.popleft()
            self._ingest(batch, now_ms)

    def _ingest(self, batch: RawBatch, now_ms: int) -> None:
        if self._unknown.wanted:
            self._unknown.take(batch, now_ms)
            return
        self.operator.ingest(batch)
        self._pending += len(batch)
        self._backlog = len(batch) >= self._limits.poll_records
        self._unsent = True

    def _due(self, now_ms: int) -> bool:
        """True if a block must be cut now."""
        return self._unsent and (self._pending >= self._limits.block_events or self._remaining(now_ms) == 0)

    def _remaining(self, now_ms: int) -> int:
        """The ms until a block that is not full may leave."""
        # With a backlog the block is full soon. Later hops pay per block, so a full one is worth the wait.
        shortest = self._limits.backlog_ms if self._backlog else self._limits.flush_ms
        passed = now_ms - self._left_at
        return shortest - passed if 0 <= passed < shortest else 0  # less than 0: the clock was set

    def _configure(self, now_ms: int) -> None:
        """Gives the operator a new record of its stream."""
        record = self._control.streams.get(self.operator.stream)
        # What an earlier owner has read is read again under what it had decided, or late events would be others.
        if record is None or record == self._configured or self.operator.is_repeating:
            return
        self._configured = record
        record = replace(record, disorder=self._disorder if record.disorder is None else record.disorder)
        if record.schema is None and record.disorder == self.operator.disorder_ms:
            return
        contradiction = self._control.contradiction(record)  # events of other partitions count, too
        version = self._control.schemas.of(record.stem)
        known = None if version is None else version.combined
        try:
            self.operator.configure(replace(record, schema=None) if contradiction else record, known)
        except SchemaError as error:
            contradiction = str(error)
        if contradiction:
            self._sinks.report_error(
                f"stream {self.operator.stream}: its given schema is not in force: {contradiction}"
            )
        self._unsent = True

    def _count(self, blocks: Sequence[Block]) -> None:
        """Count the events of each block, and the records read with the first block."""
        labels = self.operator.stream, str(self.operator.partition)
        for block in blocks:
            self._counts.append([Counted(names.EVENTS_IN, block.next_seq - block.first_seq, labels)])
        if blocks:
            numbers = self.operator.statistics()
            grown = self._growth.since({metric: numbers[name] for name, metric in _COUNTERS})
            first = self._counts[-len(blocks)]
            first += [Counted(metric, count, labels) for metric, count in grown.items()]

    def _send_side_output(self, blocks: Sequence[Block]) -> None:
        """Sends dead letters and notices, and applies the blocks' control records."""
        letters = self.operator.take_dead_letters()
        if letters:
            self._sinks.letters(self.input.state.topic, letters)
        for block in blocks:
            self._activation.apply_controls(block.controls)
        for notice in self.operator.take_notices():
            self._sinks.report_status(notice.name, notice.version, notice.state, notice.reason, notice.position)
