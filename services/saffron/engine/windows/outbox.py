"""The items decided but not yet written: numbered events, controls and ends, and how they are cut into blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from saffron.engine.events.block import Block, Control
from saffron.engine.events.column_operations import bytes_at_most, empty_columns, prune_columns, slice_columns
from saffron.engine.events.columns import Columns
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.engine.windows.in_force import InForce
from saffron.engine.windows.known_since import KnownSince
from saffron.engine.windows.order.hold import Arrivals, joined, lowest_from
from saffron.schema.schema import Schema

_BLOCK_BYTES = 8 << 20
"""The most bytes of a block's events: half of a message, which leaves room for controls and the shedder's data."""


@dataclass(frozen=True)
class Cut:
    """An end of everything so far: after the event before `position`, at this watermark, behind `controls` controls.

    `offset`: of the record that said so; None where the shell did.
    """

    position: int
    watermark: int
    controls: int
    offset: int | None


@dataclass(frozen=True)
class Piece:
    """A block in the making: events start..stop-1 of what is pending; with the cut that it ends with, if any.

    `last`: nothing but events yet to come stands behind it.
    """

    start: int
    stop: int
    watermark: int
    cut: Cut | None
    last: bool


@dataclass
class Outbox:
    """Everything after the last written block. `next_seq`: the number that the next event gets."""

    next_seq: int = 0
    written_seq: int = 0
    counter: int = 0
    checkpoint_counter: int = 0
    watermark: int = NO_WATERMARK
    released: tuple[int, ...] | None = None
    ended: int = -1
    in_force: InForce = field(default_factory=InForce)
    _parts: list[Arrivals] = field(default_factory=list)
    _controls: list[Control] = field(default_factory=list)
    _cuts: list[Cut] = field(default_factory=list)
    _opened: dict[str, list[int]] = field(default_factory=dict)

    def add_events(self, arrivals: Arrivals) -> Columns:
        """Number released events; returns their columns."""
        n = len(arrivals)
        columns = arrivals.columns
        columns = Columns(
            seq=np.arange(self.next_seq, self.next_seq + n, dtype=np.int64),
            ts=columns.ts,
            time=columns.time,
            type=columns.type,
            attributes=columns.attributes,
            latest=columns.latest,
            trace=columns.trace,
        )
        self._parts.append(replace(arrivals, columns=columns))
        self.next_seq += n
        return columns

    def add_opened(self, name: str, positions: list[int]) -> None:
        """Windows of a query open at these events."""
        if positions:
            self._opened.setdefault(name, []).extend(positions)

    def add_control(self, kind: str, body: Mapping[str, Any]) -> None:
        """Add a control record before the next event."""
        self._controls.append(Control(self.next_seq, kind, body))

    @property
    def since(self) -> KnownSince:
        """The positions from which on names are known, by all schemas so far, written or not."""
        return self.in_force.since_behind(self._controls)

    def add_cut(self, watermark: int, offset: int | None) -> None:
        """End the block behind the last event."""
        self._cuts.append(Cut(self.next_seq, watermark, len(self._controls), offset))

    def unwritten_end(self) -> int | None:
        """The offset of the first `$watermark` with an end that is not in a block yet."""
        return min((cut.offset for cut in self._cuts if cut.offset is not None), default=None)

    def blocks(
        self, schema: Schema | None, watermark: int, limit: int, checkpoint_every: int
    ) -> Iterator[tuple[Block, Piece, int | None, int]]:
        """Cut everything into blocks, without their `input`. State moves on as blocks are taken; take them all.

        With each block come its piece, the lowest offset of what is left (None: nothing is), and a watermark. A new
        owner starts again from that watermark, by which nothing that is left was late.
        """
        pending = joined(self._parts) if self._parts else Arrivals(empty_columns(schema), np.empty(0, dtype=np.int64))
        lowest = lowest_from(pending.offsets)
        ts = pending.columns.ts
        self._parts = []
        stop = 0
        done = False
        while not done:
            columns = _fitting(pending.part(stop, stop + limit).columns)
            piece = self._piece(stop, pending, watermark, len(columns))
            stop, done = piece.stop, piece.last
            block = self._block(piece, pending, columns, checkpoint_every)
            if block is None:
                return
            left = int(lowest[stop]) if stop < len(lowest) else None
            # An end that is not written yet comes before what it did not close, also when that is read again.
            ends = [cut.watermark for cut in self._cuts[:1]]
            yield block, piece, left, min([watermark, *ts[stop : stop + 1].tolist(), *ends])

    def checkpoint(self, schema: Schema | None) -> Block:
        """A block behind the last one, with nothing but a checkpoint, without its `input`."""
        return Block(
            columns=empty_columns(schema),
            first_seq=self.written_seq,
            next_seq=self.written_seq,
            watermark=self.watermark,
            counter=self.counter,
            controls=(Control(self.written_seq, "checkpoint", self.in_force.checkpoint()),),
        )

    def resume(self, block: Block, *, released: Sequence[int] | None, ended: int) -> None:
        """Take the state behind this block of an earlier owner; earlier decisions here are forgotten."""
        self._parts, self._controls, self._cuts, self._opened = [], [], [], {}
        self.written(block)
        self.next_seq = block.next_seq
        self.released = None if released is None else tuple(released)
        self.ended = ended

    def written(self, block: Block) -> None:
        """Move on behind a block that is written."""
        if any(control.kind == "checkpoint" for control in block.controls):
            self.checkpoint_counter = block.counter
        self.counter = block.next_counter
        self.written_seq = block.next_seq
        self.watermark = block.watermark
        self.in_force.apply(block)
        self.in_force.close(block.next_seq, block.watermark)

    def _piece(self, start: int, pending: Arrivals, watermark: int, limit: int) -> Piece:
        """The next piece: up to the next cut, at most `limit` events."""
        n = len(pending)
        cut = self._cuts[0] if self._cuts else None
        room = n - start if cut is None else cut.position - self.written_seq
        stop = start + min(room, limit)
        if cut is not None and stop == start + room:
            self._cuts.pop(0)
            return Piece(start, stop, cut.watermark, cut, last=False)
        if stop < n:
            return Piece(start, stop, min(watermark, int(pending.columns.ts[stop])), None, last=False)
        return Piece(start, stop, watermark, None, last=True)

    def _block(self, piece: Piece, pending: Arrivals, columns: Columns, checkpoint_every: int) -> Block | None:
        """`columns`: of the piece's events, and perhaps of some behind them."""
        next_seq = self.written_seq + piece.stop - piece.start
        controls = self._take_controls(piece, next_seq)
        if piece.start == piece.stop and not controls and piece.cut is None and piece.watermark <= self.watermark:
            return None
        if self.counter - self.checkpoint_counter >= checkpoint_every:
            controls.insert(0, Control(self.written_seq, "checkpoint", self.in_force.checkpoint()))
        if piece.stop > piece.start:
            self.released = pending.key(piece.stop - 1)
        if piece.cut is not None and piece.cut.offset is not None:
            self.ended = piece.cut.offset
        return Block(
            columns=_first(columns, piece.stop - piece.start),
            first_seq=self.written_seq,
            next_seq=next_seq,
            watermark=max(piece.watermark, self.watermark),
            counter=self.counter,
            end=piece.cut is not None,
            controls=tuple(controls),
            opened=self._take_opened(next_seq),
        )

    def _take_controls(self, piece: Piece, next_seq: int) -> list[Control]:
        """The controls that go into a block: those before its events, and at its end those that surely come before."""
        if piece.cut is not None:
            count = piece.cut.controls
        elif piece.last:
            count = len(self._controls)
        else:
            count = sum(control.position < next_seq for control in self._controls)
        taken = self._controls[:count]
        self._controls = self._controls[count:]
        self._cuts = [Cut(cut.position, cut.watermark, cut.controls - count, cut.offset) for cut in self._cuts]
        return taken

    def _take_opened(self, next_seq: int) -> dict[str, tuple[int, ...]]:
        """Take out the openings before `next_seq`, for a block: query -> seqs of the events that open its windows."""
        taken = {}
        for name, positions in list(self._opened.items()):
            now = tuple(position for position in positions if position < next_seq)
            if now:
                taken[name] = now
            later = positions[len(now) :]
            if later:
                self._opened[name] = later
            else:
                del self._opened[name]
        return taken


def _fitting(columns: Columns) -> Columns:
    """The first of these events, as many as surely fit into a message; one does, by the limit on an event."""
    found = prune_columns(columns)
    while len(found) > 1 and bytes_at_most(found) > _BLOCK_BYTES:
        found = _first(found, len(found) // 2)
    return found


def _first(columns: Columns, count: int) -> Columns:
    return columns if count == len(columns) else prune_columns(slice_columns(columns, 0, count))
