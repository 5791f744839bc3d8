"""The windowing operator of one partition: raw records in, ordered and numbered blocks out.

It is pure: the shell brings records, control records and decisions by the clock. It takes blocks, dead letters and
notices. The stream of events, numbers, watermark and controls is a function of what was brought, in its order. Only the
places where blocks are cut depend on when `flush` is called.

Its parts: `Intake` decodes records, `Ordering` orders events, `Outbox` numbers them, `Cutter` cuts blocks, `Versions`
lets the schema grow, `QueryControls` holds the standing queries, and `Progress` knows how far records are read.

After a restart, call `resume` with the blocks of the own output, from its newest checkpoint (or the beginning) on. Then
bring records from `position` on. What is in the log already is recognised; everything else gets the numbers that it
would have got.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.events.columns import Columns
from saffron.engine.events.decoding.infer import INFER_EVENTS
from saffron.engine.events.decoding.rules.event_times import DAY
from saffron.engine.events.json_schema import from_json_schema
from saffron.engine.events.raw import RawBatch
from saffron.engine.events.schema_record import schema_from_record, schema_to_record
from saffron.engine.operators.standing import Compiler, compile_text
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.engine.windows.cutting import Cutter
from saffron.engine.windows.dead_letters import DeadLetter
from saffron.engine.windows.intake import Intake
from saffron.engine.windows.made_types import without_made
from saffron.engine.windows.marks import Mark
from saffron.engine.windows.order.ordering import Ordering
from saffron.engine.windows.outbox import Outbox
from saffron.engine.windows.query_controls import QueryControls
from saffron.engine.windows.read_progress import Progress
from saffron.engine.windows.registered import Notice
from saffron.engine.windows.versions import Versions
from saffron.language.plan.plan import Plan
from saffron.records.query import QueryRecord
from saffron.records.stream import StreamRecord
from saffron.schema.schema import Schema

CHECKPOINT_EVERY = 1_000_000


class WindowingOperator:
    """The windowing of one partition (see the module).

    `disorder_ms`: the most that an event may be late. `checkpoint_every`: records between checkpoints.

    `rekeyed`: the stream is made from other topics, whose partitions report their watermarks (see `sources`); then
    events raise no watermark, and `disorder_ms` has no effect. `merged`: events of one ts are ordered by their origin
    (see `origin`), so that the order does not depend on how fast each source is read. `asks`: events that need a new
    version of the schema wait until `adopt` brings it. `source`: the shell's data on the topic (JSON-able), kept in
    blocks.
    """

    def __init__(
        self,
        partition: int,
        stream: str,
        schema: Schema | None = None,
        *,
        disorder_ms: int = 0,
        max_block_events: int = 4096,
        checkpoint_every: int = CHECKPOINT_EVERY,
        max_future: int = DAY,
        infer_events: int = INFER_EVENTS,
        compiler: Compiler = compile_text,
        rekeyed: bool = False,
        merged: bool = False,
        asks: bool = False,
    ) -> None:
        self.partition = partition
        self.stream = stream
        self._outbox = Outbox()
        self._queries = QueryControls(stream, compiler, self._outbox)
        self._ordering = Ordering(rekeyed=rekeyed, merged=merged)
        self._progress = Progress(disorder_ms)
        self._intake = Intake(self._outbox, self._queries, self._ordering, self._progress, max_future)
        self._cutter = Cutter(
            self._outbox, self._ordering, self._progress, most=max_block_events, checkpoint_every=checkpoint_every
        )
        self._versions = Versions(
            self._intake, self._queries, self._cutter, self._progress, infer_events=infer_events, asks=asks
        )
        if schema is not None:
            self._versions.put(schema)

    # ------------------------------------------------------------ what comes in

    def ingest(self, batch: RawBatch) -> None:
        """Take records, in the order of their offsets.

        Without a schema they wait until there are `infer_events` of them, or until `flush`. So a replay flushes only
        after that many, or after the end of its input. See `lacking`, too.
        """
        if len(batch):
            self._intake.add(batch)
            self._versions.go_on()

    def without_made(self, batch: RawBatch) -> RawBatch:
        """The batch, its events of types that queries make refused: for the shell, which infers schemas of it."""
        return without_made(batch, self._queries.made)

    def query(self, name: str, wanted: QueryRecord | None) -> None:
        """Apply a record of the `queries` topic (None: its tombstone) at this position; see `take_notices`."""
        self._queries.change(name, wanted, self.schema)

    def expect(self, made: Mapping[str, str]) -> None:
        """Refuse events of types that registered queries make which are not in force here yet: type -> query."""
        if self._queries.expect(made):
            self._intake.refuse_made()
            self._versions.ask_again()

    def fail(self, name: str, added: int, reason: str) -> None:
        """Stop a failed query at this position. `added`: the version by which it was added. See `take_notices`."""
        self._queries.fail(name, added, reason)

    @property
    def lacking(self) -> Schema | None:
        """The version that the events which wait need at least; None: none waits for one."""
        return self._versions.lacking

    def adopt(self, schema: Schema) -> None:
        """Put the schema that the shell has inferred, or a version above it, in force before all that waits."""
        self._versions.adopt(schema)

    def configure(self, record: StreamRecord, known: Schema | None = None) -> None:
        """Put a record of the `streams` topic in force here: its `disorder` and `schema`, where it has them.

        A schema that is given anew is in force from here on, with all that events had so far, here and in other
        partitions (`known`). SchemaError where it is wrong, or does not go together with the one in force; the rest of
        the record then is in force.
        """
        if record.disorder is not None and record.disorder != self.disorder_ms:
            self._versions.settle()
            self._intake.decide(Mark(self._progress.read, disorder=record.disorder))
        if record.schema is not None:
            self._versions.give(from_json_schema(record.schema), known)

    def advance_watermark(self, ts: int, *, end: bool = False) -> None:
        """Raise the watermark to `ts` (ms), by the shell's decision. `end`: also close all windows opened so far."""
        self._versions.settle()
        self._intake.repeat(None)
        self._ordering.silence.hear(ts)
        self._intake.decide(Mark(self._progress.read, watermark=ts, end=end))

    def pass_silence(self, ms: int) -> None:
        """Raise the watermark by `ms`, by the shell's decision: so long nothing came. See `silence`.

        Bring all records before it.
        """
        self._versions.settle()
        self._intake.repeat(None)
        raised = self._ordering.silence.raised(self.watermark, ms)
        if raised > self.watermark:
            self._intake.decide(Mark(self._progress.read, watermark=raised))

    # ------------------------------------------------------------ what goes out

    def flush(self, positions: Mapping[str, Any] | None = None) -> list[Block]:
        """Everything decided so far, as blocks of at most `max_block_events` events.

        `positions`: of the control topics, after all that was brought; they stand in the last block's `input`.
        Send (and have acknowledged) `take_dead_letters` first: what a block's `input` covers is not read again.
        """
        self._versions.settle()
        return [*self._versions.take_ready(), *self._cutter.cut(self.schema, positions)]

    def checkpoint(self) -> Block:
        """A block without events behind all that was flushed: `resume` begins with it, whatever came before."""
        return self._cutter.checkpoint(self.schema)

    def take_dead_letters(self) -> list[DeadLetter]:
        """The dead letters since the last call."""
        return self._intake.losses.take()

    def take_notices(self) -> list[Notice]:
        """The notices on queries since the last call."""
        return self._queries.take_notices()

    @property
    def schema(self) -> Schema | None:
        """The version of the schema in force."""
        return self._intake.schema

    @property
    def watermark(self) -> int:
        """The watermark in force."""
        return self._ordering.watermark

    def reported(self, name: str) -> str | None:
        """The report on a query in force: see `Query.reported`."""
        query = self._queries.standing.queries.get(name)
        return None if query is None else query.reported

    def changed(self, schema: Schema) -> Mapping[str, tuple[int, Plan]]:
        """The queries that would have another plan under this schema: name -> (version, that plan)."""
        return self._queries.standing.changed(schema)

    def plan(self, name: str, text: str, schema: Schema | None) -> Plan:
        """The plan of a query beside those in force; SaffronError where it is none."""
        return self._queries.standing.plan(name, text, schema)

    @property
    def disorder_ms(self) -> int:
        """The most that an event may be late, in ms."""
        return self._progress.marks.disorder

    def statistics(self) -> Mapping[str, Any]:
        """Counts since the start of this process, and the present state."""
        return {
            "events": self._intake.events,
            **self._intake.losses.statistics(),
            "silence": self._ordering.silence.ahead(self.watermark),
            "held": len(self._ordering.hold),
            "watermark": self.watermark,
        }

    def opened(self, columns: Columns) -> dict[str, list[int]]:
        """The numbers of the events at which windows open (OPEN ON), by query."""
        return self._queries.opened(columns)

    # ------------------------------------------------------------ restarts

    def resume(self, block: Block) -> None:
        """Take over from the own output: its blocks in order, from the newest checkpoint (or the beginning) on."""
        taken, outbox = block.input, self._outbox
        outbox.resume(block, released=taken["released"], ended=taken["ended"])
        self._progress.resume(taken)
        self._ordering.resume(taken)
        record = outbox.in_force.schema
        if record is not None and (self.schema is None or schema_to_record(self.schema) != record):
            self._intake.use(schema_from_record(record))
        self._intake.decode_as_before()
        self._queries.resume(block, self.schema if record is not None else None)
        if record is None and self.schema is not None:
            self._versions.put(self.schema)

    @property
    def newborn(self) -> bool:
        """True if nothing of the stream has been written yet, by anybody."""
        return self._outbox.counter == 0

    def begin_anew(self, offset: int) -> None:
        """Behind `resume`: the source is another topic, and the record at `offset` its first. The stream goes on.

        Records of the old topic that were still to be read again are gone.
        """
        decided = self._progress.begin_anew(offset)
        self._intake.decode_as_before()
        self._ordering.begin_anew(max(self._outbox.watermark, NO_WATERMARK if decided is None else decided))
        self._outbox.released, self._outbox.ended = None, -1

    def position(self) -> int:
        """The offset of the next record to bring: after `resume`, of the first one that must be read again."""
        return self._progress.read

    @property
    def is_repeating(self) -> bool:
        """True if records that an earlier owner has seen are still being read again."""
        return self._progress.is_repeating

    @property
    def needed(self) -> int:
        """The offset from which a later owner would have to read, if it took over from a `checkpoint` now."""
        held, read = self._ordering.hold.lowest_offset, self._progress.read
        return read if held is None else min(held, read)

    @property
    def lookups(self) -> tuple[frozenset[str], bool]:
        """The look-ups in tables that all events of a merged stream have from here on, and a flag.

        The flag: events are held that may lack some of them.
        """
        return self._ordering.lookups

    @property
    def source(self) -> Mapping[str, Any]:
        """The shell's data on the topic (JSON-able), kept in blocks."""
        return self._progress.source

    @source.setter
    def source(self, source: Mapping[str, Any]) -> None:
        self._progress.source = source
