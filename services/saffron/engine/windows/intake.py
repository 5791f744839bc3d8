"""The intake of a partition: raw records are decoded, put in order, and numbered in the outbox.

Marks, the decisions that an earlier owner took between records, are repeated at their places.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from saffron.engine.events.decoding.decode import Decoded, Decoder
from saffron.engine.events.decoding.growth import needed
from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.raw import RawBatch
from saffron.engine.events.schema_record import schema_from_record
from saffron.engine.windows.dead_letters import Losses, Refused
from saffron.engine.windows.made_types import without_made
from saffron.engine.windows.marks import Mark
from saffron.engine.windows.order.hold import Arrivals
from saffron.engine.windows.order.ordering import Ordering
from saffron.engine.windows.outbox import Outbox
from saffron.engine.windows.query_controls import QueryControls
from saffron.engine.windows.read_progress import Progress
from saffron.schema.schema import Schema


class Intake:
    """The records that wait to be decoded, and the version of the schema that decodes them.

    `events`: how many have been numbered. `max_future`: see `Decoder`.
    """

    def __init__(
        self, outbox: Outbox, queries: QueryControls, ordering: Ordering, progress: Progress, max_future: int
    ) -> None:
        self.schema: Schema | None = None
        self.losses = Losses()
        self.events = 0
        self._outbox = outbox
        self._queries = queries
        self._ordering = ordering
        self._progress = progress
        self._max_future = max_future
        self._decoder = self._decoder_of(Schema({}, {}, {}, given=True))
        self._waiting: deque[RawBatch] = deque()

    def use(self, schema: Schema) -> None:
        """Decode by this version from here on. Events held back get its attributes."""
        if self.schema is not None:
            self._ordering.hold.conform(schema)
        self.schema = schema
        self._decoder = self._decoder_of(schema)

    def decode_as_before(self) -> None:
        """Decode records that are read again by the schema that was in force then, others by the one in force."""
        before = self._progress.marks.decoded_by
        if before is not None:
            self._decoder = self._decoder_of(schema_from_record(before))
        elif self.schema is not None and self._decoder.schema is not self.schema:
            self._decoder = self._decoder_of(self.schema)

    def _decoder_of(self, schema: Schema) -> Decoder:
        return Decoder(schema, self._max_future)

    @property
    def waiting(self) -> int:
        """The number of records that wait."""
        return sum(map(len, self._waiting))

    def add(self, batch: RawBatch) -> None:
        """Let records wait, in the order of their offsets, until `go_on`. Types that queries make are refused."""
        self._waiting.append(without_made(batch, self._queries.made))

    def refuse_made(self) -> None:
        """Refuse types that queries make among the records that wait, too."""
        self._waiting = deque(without_made(batch, self._queries.made) for batch in self._waiting)

    def inferred(self, most: int) -> Schema:
        """The schema of the records that wait, by the first `most` events among them."""
        return infer_schema(list(self._waiting), most)

    def go_on(self) -> Schema | None:
        """Take the records that wait, as far as the schema in force knows all of their events.

        Returns the next version that the rest needs; None: nothing waits any more.
        """
        while self._waiting:
            batch = self._waiting[0]
            self.repeat(int(batch.offsets[0]))
            due = self._progress.marks.first_due
            stop = len(batch) if due is None else int(np.searchsorted(batch.offsets, due))
            part = batch.part(0, stop)
            decoded = self._decoder.decode(part)
            version = needed(self._decoder.schema, part, decoded)
            if version is not self._decoder.schema:
                return version
            self._take(part, decoded)
            self._progress.passed(int(part.offsets[-1]))
            if stop < len(batch):
                self._waiting[0] = batch.part(stop, len(batch))
            else:
                self._waiting.popleft()
        return None

    def repeat(self, offset: int | None) -> None:
        """Take again the decisions of an earlier owner that stand at or before `offset` (None: all)."""
        while (mark := self._progress.marks.next_due(offset)) is not None:
            self.decide(mark)

    def decide(self, mark: Mark) -> None:
        """Carry out a decision of the shell here, and keep it for a later owner."""
        self._progress.marks.add(mark)
        if mark.watermark is not None:
            self._number(self._ordering.raise_to(mark.watermark))
            if mark.end:
                self._outbox.add_cut(self._ordering.watermark, None)
        if mark.before is not None:
            self.decode_as_before()

    def _take(self, batch: RawBatch, decoded: Decoded) -> None:
        """Take decoded records in order: events, watermarks, the end of the stream. Others are dead letters."""
        decoded = self._ordering.heard(batch, decoded)
        self.losses.decoded(decoded, inferred=self.schema is not None and not self.schema.given)
        refused: list[Refused] = [(bad.row, bad.reason, bad.detail) for bad in decoded.bad]
        first = 0
        for mark in decoded.watermarks:
            offset = int(batch.offsets[mark.row])
            if mark.end and offset > self._outbox.ended:
                refused += self._arrive(batch, decoded, first, mark.row + 1)
                self._outbox.add_cut(self._ordering.watermark, offset)
                first = mark.row + 1
        refused += self._arrive(batch, decoded, first, len(batch))
        self.losses.add(batch, refused, self._progress.next_offset)

    def _arrive(self, batch: RawBatch, decoded: Decoded, first: int, last: int) -> list[Refused]:
        """Put the events of records first..last-1 in order; returns the late ones."""
        version = None if self._decoder.schema is self.schema else self.schema
        released, late = self._ordering.arrive(batch, decoded, first, last, self._progress.marks, version)
        self._number(released)
        return late

    def _number(self, released: Arrivals | None) -> None:
        """Number the events that the watermark has passed, and note the windows that open."""
        if released is None:
            return
        columns = self._outbox.add_events(released)
        self.events += len(columns)
        for name, positions in self._queries.opened(columns).items():
            self._outbox.add_opened(name, positions)
