"""The windowing operator of one partition: raw records in, ordered and numbered blocks out.

Pure: the shell brings records, control records and decisions by the clock, and takes blocks, dead
letters and notices. The stream of events, numbers, watermark and controls is a function of what was brought, in its
order; only where blocks are cut depends on when `flush` is called.

An inferred schema grows: before events that it does not know all of, the next version is put in force, by a "schema"
control that begins a block, and they are decoded by it. The values of events do not depend on how many versions it
takes.

After a restart: `resume` with the blocks of the own output from its newest checkpoint (or beginning) on, then records
from `position` on. What is in the log already is recognised; everything else gets the numbers it would have got.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.decoding.decode import Decoded, Decoder
from saffron.engine.events.decoding.exact import DAY, Reason
from saffron.engine.events.decoding.growth import given_anew, needed
from saffron.engine.events.decoding.infer import INFER_EVENTS, infer_schema
from saffron.engine.events.json_schema import from_json_schema
from saffron.engine.events.raw import RawBatch
from saffron.engine.events.schema_record import schema_from_record, schema_to_record
from saffron.engine.events.tables import empty_columns, slice_columns, string_column
from saffron.engine.operators.standing import Compiler, compile_text
from saffron.engine.windows.arrival import Resumption, judge
from saffron.engine.windows.bounds import NEVER, NO_WATERMARK
from saffron.engine.windows.hold import Arrivals, HoldBack
from saffron.engine.windows.marks import Mark, Marks
from saffron.engine.windows.origin import origin_keys
from saffron.engine.windows.outbox import Outbox
from saffron.engine.windows.registered import Change, Notice, Standing
from saffron.engine.windows.silence import Silence
from saffron.engine.windows.sources import Sources
from saffron.errors import SchemaError
from saffron.language.plan.plan import Plan
from saffron.records.query import QueryRecord
from saffron.records.stream import StreamRecord
from saffron.schema.likely_times import SecondsCount
from saffron.schema.origin import ORDER
from saffron.schema.schema import Schema

CHECKPOINT_EVERY = 1_000_000
_LATE, _LATE_BY_SILENCE = "late", "late-by-silence"
_TOO_LATE = {_LATE: "late", _LATE_BY_SILENCE: "late_by_silence"}
"""By reason the name of its count."""
REASONS: tuple[str, ...] = (*_TOO_LATE, *get_args(Reason))
"""Of dead letters: all that there are."""


@dataclass(frozen=True)
class DeadLetter:
    """A record that is no event, or came too late; `timestamp`: the message's own (0 in a replay).

    `value`: its bytes; None where the message had none. `place`: where it stands, if not at `offset` of the one topic.
    """

    offset: int
    timestamp: int
    reason: str
    detail: str
    value: bytes | None
    place: str = ""


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
        self.schema: Schema | None = None
        self._max_block_events = max_block_events
        self._checkpoint_every = checkpoint_every
        self._max_future = max_future
        self._infer_events = infer_events
        self._decoder: Decoder | None = None
        self._asks = asks
        self._waiting: list[RawBatch] = []
        self._lacking: Schema | None = None
        self._ready: list[Block] = []
        self._hold = HoldBack()
        self._outbox = Outbox()
        self._standing = Standing(stream, compiler)
        self._watermark = NO_WATERMARK
        self._silence = Silence()
        self._read = 0
        self._next_offset = 0
        self._marks = Marks(disorder_ms)
        self._rekeyed = rekeyed or merged
        self._merged = merged
        self.source: Mapping[str, Any] = {}
        self._sources = Sources()
        self._resumption: Resumption | None = None
        self._positions: dict[str, Any] = {}
        self._dead: list[DeadLetter] = []
        self._notices: list[Notice] = []
        self._counts: Counter[str] = Counter()
        self._bad: Counter[str] = Counter()
        self._mistyped: Counter[str] = Counter()
        self._seconds = SecondsCount()
        if schema is not None:
            self._take_schema(schema)

    # ------------------------------------------------------------ what comes in

    def ingest(self, batch: RawBatch) -> None:
        """Take records, in the order of their offsets.

        Without a schema they wait until there are `infer_events` of them, or until `flush`: a replay does not flush
        before that many, or the end of its input, has been brought. See `lacking`, too.
        """
        if not len(batch):
            return
        if self._lacking is not None:
            self._waiting.append(batch)
        elif self._decoder is None:
            self._waiting.append(batch)
            if sum(map(len, self._waiting)) >= self._infer_events:
                self._settle()
        else:
            self._take_batch(batch)

    def query(self, name: str, wanted: QueryRecord | None) -> None:
        """Apply a record of the `queries` topic (None: its tombstone) at this position; see `take_notices`."""
        self._put(self._standing.change(name, wanted, self.schema, self._outbox.next_seq))

    def fail(self, name: str, added: int, reason: str) -> None:
        """Stop a failed query at this position. `added`: the version by which it was added. See `take_notices`."""
        self._put(self._standing.fail(name, added, reason, self._outbox.next_seq))

    @property
    def lacking(self) -> Schema | None:
        """The version that the events which wait need at least; None: none waits for one."""
        return self._lacking

    def adopt(self, schema: Schema) -> None:
        """Put the schema that the shell has inferred, or a version above it, in force before all that waits."""
        self._take_up(schema)
        self._lacking = None
        self._settle()

    def configure(self, record: StreamRecord) -> None:
        """Put a record of the `streams` topic in force here: its `disorder` and `schema`, where it has them.

        A schema that is given anew is in force from here on, with all that events had so far. SchemaError where it is
        wrong, or does not go together with the one in force.
        """
        if record.schema is not None:
            self._give(from_json_schema(record.schema))
        if record.disorder is not None and record.disorder != self._marks.disorder:
            self._settle()
            self._marks.add(Mark(self._read, disorder=record.disorder))

    def _give(self, given: Schema) -> None:
        """Put a given schema in force, and decode by it what waits for one."""
        try:
            version = given if self.schema is None else given_anew(self.schema, given)
        except SchemaError as error:
            raise SchemaError(f"{error}; add a stream with the new schema under another name") from None
        if version is not self.schema:
            self._take_up(version)
            self._lacking = None
            self._settle()

    def advance_watermark(self, ts: int, *, end: bool = False) -> None:
        """Raise the watermark to `ts` (ms), by the shell's decision. `end`: also close all windows opened so far."""
        self._settle()
        self._repeat(None)
        self._silence.hear(ts)
        self._decide(Mark(self._read, watermark=ts, end=end))

    def pass_silence(self, ms: int) -> None:
        """Raise the watermark by `ms`, by the shell's decision: so long nothing came. See `silence`.

        Bring all records before it.
        """
        self._settle()
        self._repeat(None)
        raised = self._silence.raised(self._watermark, ms)
        if raised > self._watermark:
            self._decide(Mark(self._read, watermark=raised))

    # ------------------------------------------------------------ what goes out

    def flush(self, positions: Mapping[str, Any] | None = None) -> list[Block]:
        """Everything decided so far, as blocks of at most `max_block_events` events.

        `positions`: of the control topics, after all that was brought; they stand in the last block's `input`.
        Send (and have acknowledged) `take_dead_letters` first: what a block's `input` covers is not read again.
        """
        self._settle()
        blocks = [*self._ready, *self._cut(positions)]
        self._ready = []
        return blocks

    def checkpoint(self) -> Block:
        """A block without events behind all that was flushed: `resume` begins with it, whatever came before."""
        block = replace(self._outbox.checkpoint(self.schema), input=self._input(None, self._watermark))
        self._outbox.written(block)
        return block

    def _cut(self, positions: Mapping[str, Any] | None = None) -> list[Block]:
        """The events decoded so far, as blocks; `positions`: as in `flush`."""
        blocks = []
        outbox = self._outbox
        drafts = outbox.blocks(self.schema, self._watermark, self._max_block_events, self._checkpoint_every)
        for draft, piece, left, floor in drafts:
            if piece.last and positions is not None:
                self._positions = dict(positions)
            if piece.cut is not None and piece.cut.offset is None:
                self._marks.end_written()
            block = replace(draft, input=self._input(left, floor))
            outbox.written(block)
            blocks.append(block)
        return blocks

    def take_dead_letters(self) -> list[DeadLetter]:
        """The dead letters since the last call."""
        dead, self._dead = self._dead, []
        return dead

    def take_notices(self) -> list[Notice]:
        """The notices on queries since the last call."""
        notices, self._notices = self._notices, []
        return notices

    @property
    def watermark(self) -> int:
        """The watermark in force."""
        return self._watermark

    def reported(self, name: str) -> str | None:
        """The report on a query in force: see `Query.reported`."""
        query = self._standing.queries.get(name)
        return None if query is None else query.reported

    def changed(self, schema: Schema) -> Mapping[str, tuple[int, Plan]]:
        """The queries that would have another plan under this schema: name -> (version, that plan)."""
        return self._standing.changed(schema)

    def plan(self, name: str, text: str, schema: Schema | None) -> Plan:
        """The plan of a query beside those in force; SaffronError where it is none."""
        return self._standing.plan(name, text, schema)

    @property
    def disorder_ms(self) -> int:
        """How late an event may be."""
        return self._marks.disorder

    def statistics(self) -> Mapping[str, Any]:
        """Counts since the start of this process, and what stands now."""
        return {
            "events": self._counts["events"],
            "late": self._counts["late"],
            "late_by_silence": self._counts["late_by_silence"],
            "silence": self._silence.ahead(self._watermark),
            "bad": dict(self._bad),
            "mistyped": self._mistyped.total(),
            "mistyped_attributes": dict(self._mistyped),
            "left_out": self._counts["left_out"],
            "in_seconds": self._seconds.value(),
            "held": len(self._hold),
            "watermark": self._watermark,
        }

    def opened(self, columns: Columns) -> dict[str, list[int]]:
        """The numbers of the events at which windows open (OPEN ON), by query."""
        return {query.name: query.opens_at(columns) for query in self._standing.queries.values()}

    # ------------------------------------------------------------ restarts

    def resume(self, block: Block) -> None:
        """Take over from the own output: its blocks in order, from the newest checkpoint (or the beginning) on."""
        outbox = self._outbox
        taken = block.input
        outbox.resume(block, released=taken["released"], ended=taken["ended"])
        self._watermark = taken["floor"]
        self._silence = Silence(taken.get("heard"))
        self._next_offset = taken["next_offset"]
        self._read = self._next_offset if taken["lowest_held"] is None else taken["lowest_held"]
        self._marks = Marks.of(taken["marks"], self._read)
        self._sources = Sources.of(taken.get("sources"))
        self._positions = dict(taken["positions"])
        self.source = taken.get("source", {})
        if outbox.released is not None:
            self._resumption = Resumption(self._next_offset, outbox.released)
        record = outbox.in_force.schema
        if record is not None and (self.schema is None or schema_to_record(self.schema) != record):
            self._use(schema_from_record(record))
        self._standing.since = outbox.since
        if any(control.kind in ("schema", "query", "checkpoint") for control in block.controls):
            self._standing.restore(outbox.in_force.queries, self.schema if record is not None else None)
            self._know_windows()
        self._notices = []
        if record is None and self.schema is not None:
            self._take_schema(self.schema)

    @property
    def newborn(self) -> bool:
        """Whether nothing of the stream has been written yet, by anybody."""
        return self._outbox.counter == 0

    def begin_anew(self, offset: int) -> None:
        """Behind `resume`: the source is another topic, and the record at `offset` its first. The stream goes on.

        Records of the old topic that were still to be read again are gone.
        """
        self._marks, decided = self._marks.settled()
        self._watermark = max(self._watermark, self._outbox.watermark, NO_WATERMARK if decided is None else decided)
        self._read = self._next_offset = offset
        self._resumption = None
        self._outbox.released, self._outbox.ended = None, -1

    def position(self) -> int:
        """The offset of the next record to bring: after `resume`, of the first one that must be read again."""
        return self._read

    @property
    def needed(self) -> int:
        """The offset from which whoever takes over from a `checkpoint` now would have to read again."""
        held = self._hold.lowest_offset
        return self._read if held is None else min(held, self._read)

    @property
    def lookups(self) -> tuple[frozenset[str], bool]:
        """The look-ups in tables that all events of a merged stream have from here on, and a flag.

        The flag: events are held that may lack some of them.
        """
        said, held = self._sources.lookups, self._hold.lowest_offset
        return said, held is not None and self._sources.lookups_since(held) != said

    def _input(self, left: int | None, floor: int) -> dict[str, Any]:
        """`Block.input`: what `resume` needs.

        "released": `Arrivals.key` of the last event written; "lowest_held": from where to read again, null: from
        "next_offset", below which everything has been seen; "floor": the watermark to begin with there; "ended": offset
        of the last `$watermark` with an end that is written; "marks": the shell's decisions to repeat; "sources": what
        those of a re-keyed stream had said there; "heard": the watermark without silence, behind "next_offset".
        """
        again = [left, self._hold.lowest_offset, self._outbox.unwritten_end()]
        if self._read < self._next_offset:
            again.append(self._read)  # an earlier owner's records are still being read again
        lowest = min((offset for offset in again if offset is not None), default=None)
        released = self._outbox.released
        first = self._next_offset if lowest is None else lowest
        sources = self._sources.record(first)
        return {
            "released": None if released is None else list(released),
            "lowest_held": lowest,
            "next_offset": self._next_offset,
            "floor": floor,
            "ended": self._outbox.ended,
            "marks": self._marks.records(first, floor),
            "positions": self._positions,
            "source": self.source,
            **({} if sources is None else {"sources": sources}),
            **({} if self._silence.heard is None else {"heard": self._silence.heard}),
        }

    # ------------------------------------------------------------ the schema

    def _settle(self) -> None:
        """Decode what waits for a schema, inferring one if there is none; repeat marks that are due."""
        if self._lacking is not None:
            return
        waiting, self._waiting = self._waiting, []
        if waiting and self._decoder is None:
            schema = infer_schema(waiting, self._infer_events)
            if schema.types:
                self._take_schema(schema)
        for batch in waiting:
            if self._lacking is None:
                self._take_batch(batch)
            else:
                self._waiting.append(batch)
        if self._lacking is None:
            self._repeat(self._read)

    def _take_up(self, schema: Schema) -> None:
        """Put a version of the schema in force: events released before keep the old one, events held back get the
        new one."""
        if self.schema is not None:
            self._ready += self._cut()
            self._hold.conform(schema)
        self._take_schema(schema)

    def _take_schema(self, schema: Schema) -> None:
        """Put a schema in force here, and bind what waits for it."""
        self._use(schema)
        self._outbox.add_control("schema", {"schema": schema_to_record(schema)})
        self._standing.since = self._outbox.since
        self._put(self._standing.bind(schema, self._outbox.next_seq))

    def _use(self, schema: Schema) -> None:
        self.schema = schema
        self._decoder = Decoder(schema, self._max_future)

    def _put(self, change: Change) -> None:
        """Controls and notices of a change of queries."""
        for body in change.bodies:
            self._outbox.add_control("query", body)
        self._notices += change.notices
        self._know_windows()

    def _know_windows(self) -> None:
        for query in self._standing.queries.values():
            if query.window is not None:
                self._outbox.in_force.windows[query.name, query.version] = query.window

    # ------------------------------------------------------------ records

    def _take_batch(self, batch: RawBatch) -> None:
        """Decode and judge a batch, repeating the marks of an earlier owner at their places."""
        start = 0
        while start < len(batch):
            self._repeat(int(batch.offsets[start]))
            due = self._marks.first_due
            stop = len(batch) if due is None else int(np.searchsorted(batch.offsets, due))
            part = batch.part(start, stop)
            decoded = self._decoded(part)
            if decoded is None:
                self._waiting.append(batch.part(start, len(batch)))
                return
            self._take_records(part, decoded)
            self._read = int(batch.offsets[stop - 1]) + 1
            self._next_offset = max(self._next_offset, self._read)
            start = stop

    def _decoded(self, batch: RawBatch) -> Decoded | None:
        """Events by a version that knows all of them, put in force before them; None: the shell is to bring it."""
        decoder = self._decoder or Decoder(Schema({}, {}, {}, given=True), self._max_future)
        decoded = decoder.decode(batch)
        version = needed(decoder.schema, batch, decoded)
        if version is decoder.schema:
            return decoded
        if self._asks:
            self._lacking = version
            return None
        self._take_up(version)
        return (
            Decoder(version, self._max_future).decode(batch) if self._decoder is None else self._decoder.decode(batch)
        )

    def _take_records(self, batch: RawBatch, decoded: Decoded) -> None:
        """Take decoded records in order: events, watermarks, the end of the stream. Others are dead letters."""
        decoded = self._of_sources(decoded, batch)
        self._mistyped.update(decoded.misfits)
        self._seconds.add(decoded.ts)
        if self.schema is not None and not self.schema.given:
            self._counts["left_out"] += decoded.unknown_attributes
        letters: list[tuple[int, str, str]] = [(bad.row, bad.reason, bad.detail) for bad in decoded.bad]
        first = 0
        for mark in decoded.watermarks:
            offset = int(batch.offsets[mark.row])
            if mark.end and offset > self._outbox.ended:
                letters += self._arrive(batch, decoded, first, mark.row + 1)
                self._outbox.add_cut(self._watermark, offset)
                first = mark.row + 1
        letters += self._arrive(batch, decoded, first, len(batch))
        self._add_dead_letters(batch, letters)

    def _of_sources(self, decoded: Decoded, batch: RawBatch) -> Decoded:
        """The decoded records, with the watermarks of single source partitions replaced by those of the stream."""
        if all(mark.source is None for mark in decoded.watermarks):
            return decoded
        marks = (
            mark if mark.source is None else self._sources.heard(int(batch.offsets[mark.row]), mark)
            for mark in decoded.watermarks
        )
        return replace(decoded, watermarks=tuple(marks))

    def _arrive(self, batch: RawBatch, decoded: Decoded, first: int, last: int) -> list[tuple[int, str, str]]:
        """Take the events of records first..last-1; returns the late ones as (row, reason, detail)."""
        low, high = np.searchsorted(decoded.rows, (first, last)).tolist()
        rows = decoded.rows[low:high]
        offsets = batch.offsets[rows]
        disorder = NEVER if self._rekeyed else self._marks.disorder
        origin = self._origin(decoded, low, high)
        keys = (decoded.ts[low:high], *origin, offsets)
        heard = self._silence.heard
        verdict = judge(
            decoded, first, last, slice(low, high), keys, self._watermark, disorder, self._resumption, heard
        )
        self._watermark = verdict.watermark
        if heard is not None:
            self._silence.judged(verdict, repeating=self._marks.first_due is not None)
        times = np.zeros(high - low, dtype=np.int64) if batch.times is None else np.maximum(batch.times[rows], 0)
        trace = None if batch.traces is None else string_column([batch.traces[row] for row in rows.tolist()])
        arrivals = _taken(Arrivals(_columns(decoded, low, high, times, trace), offsets, origin), verdict.taken)
        self._release(arrivals)
        late = np.flatnonzero(verdict.late)
        return [
            (
                int(rows[event]),
                _LATE_BY_SILENCE if verdict.silenced[event] else _LATE,
                f"ts {decoded.ts[low + event]} is below {verdict.limits[event]}, the watermark when it arrived",
            )
            for event in late.tolist()
        ]

    def _origin(self, decoded: Decoded, low: int, high: int) -> tuple[NDArray[np.int64], ...]:
        """The origins of events low..high-1, of which a plain stream keeps none."""
        if not self._merged:
            return ()
        return tuple(key[low:high] for key in origin_keys(decoded.attributes, len(decoded)))

    def _nothing(self) -> Arrivals:
        none = np.empty(0, dtype=np.int64)
        return Arrivals(empty_columns(self.schema), none, (none,) * len(ORDER) if self._merged else ())

    def _release(self, arrivals: Arrivals) -> None:
        """Number what the watermark has passed, and note the windows that open."""
        # At the watermark itself more may come to a merged stream, of a source that orders before.
        released = self._hold.exchange(arrivals, self._watermark - self._merged)
        if released is None:
            return
        columns = self._outbox.add_events(released)
        self._counts["events"] += len(columns)
        for name, positions in self.opened(columns).items():
            self._outbox.add_opened(name, positions)

    def _add_dead_letters(self, batch: RawBatch, letters: list[tuple[int, str, str]]) -> None:
        """Notes dead letters of a batch. Those of records that an earlier owner has seen were sent by it."""
        for row, reason, detail in sorted(letters):
            if batch.offsets[row] < self._next_offset:
                continue
            timestamp = 0 if batch.times is None else int(batch.times[row])
            value = None if batch.is_absent(row) else batch.original(row)
            self._dead.append(DeadLetter(int(batch.offsets[row]), timestamp, reason, detail, value))
            if reason in _TOO_LATE:
                self._counts[_TOO_LATE[reason]] += 1
            else:
                self._bad[reason] += 1

    # ------------------------------------------------------------ the shell's decisions

    def _repeat(self, offset: int | None) -> None:
        """Take again the decisions of an earlier owner that stand at or before `offset`."""
        while (mark := self._marks.next_due(offset)) is not None:
            self._decide(mark)

    def _decide(self, mark: Mark) -> None:
        self._marks.add(mark)
        if mark.watermark is not None:
            self._watermark = max(self._watermark, mark.watermark)
            self._release(self._nothing())
            if mark.end:
                self._outbox.add_cut(self._watermark, None)


def _columns(decoded: Decoded, low: int, high: int, times: NDArray[np.int64], trace: Column | None) -> Columns:
    """Events low..high-1 of a batch."""
    columns = Columns(
        seq=np.zeros(len(decoded), dtype=np.int64),
        ts=decoded.ts,
        time=np.zeros(len(decoded), dtype=np.int64),
        type=decoded.type,
        attributes=decoded.attributes,
        latest=decoded.latest,
    )
    return replace(slice_columns(columns, low, high), time=times, trace=trace)


def _taken(arrivals: Arrivals, taken: NDArray[np.bool_]) -> Arrivals:
    return arrivals if taken.all() else arrivals.take(np.flatnonzero(taken).astype(np.int64, copy=False))
