"""The cutting of a partition's output into blocks: each has an `input`, from which a new owner resumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.windows.order.ordering import Ordering
from saffron.engine.windows.outbox import Outbox
from saffron.engine.windows.read_progress import Progress
from saffron.schema.schema import Schema


class Cutter:
    """The blocks of one partition, of at most `most` events each. `checkpoint_every`: records between checkpoints."""

    def __init__(
        self, outbox: Outbox, ordering: Ordering, progress: Progress, *, most: int, checkpoint_every: int
    ) -> None:
        self._outbox = outbox
        self._ordering = ordering
        self._progress = progress
        self._most = most
        self._checkpoint_every = checkpoint_every

    def cut(self, schema: Schema | None, positions: Mapping[str, Any] | None = None) -> list[Block]:
        """All that is decided, as blocks; `positions`: as in `WindowingOperator.flush`."""
        blocks = []
        outbox = self._outbox
        drafts = outbox.blocks(schema, self._ordering.watermark, self._most, self._checkpoint_every)
        for draft, piece, left, floor in drafts:
            if piece.last and positions is not None:
                self._progress.positions = dict(positions)
            if piece.cut is not None and piece.cut.offset is None:
                self._progress.marks.end_written()
            block = replace(draft, input=self._input(left, floor))
            outbox.written(block)
            blocks.append(block)
        return blocks

    def checkpoint(self, schema: Schema | None) -> Block:
        """A block without events behind the last one: `resume` begins with it, whatever came before."""
        block = replace(self._outbox.checkpoint(schema), input=self._input(None, self._ordering.watermark))
        self._outbox.written(block)
        return block

    def _input(self, left: int | None, floor: int) -> dict[str, Any]:
        """`Block.input`: the data that `resume` needs. `left`: the lowest offset of the events that no block has yet.

        "released": `Arrivals.key` of the last event written. "lowest_held": from where to read again; null: from
        "next_offset". "next_offset": below it everything has been seen. "floor": the watermark to begin with at
        "lowest_held". "ended": offset of the last `$watermark` with an end that is written. "marks": the shell's
        decisions to repeat. "sources": what those of a re-keyed stream had said at "lowest_held". "heard": the
        watermark without silence, behind "next_offset".
        """
        outbox, ordering, progress = self._outbox, self._ordering, self._progress
        again = [left, ordering.hold.lowest_offset, outbox.unwritten_end()]
        if progress.is_repeating:
            again.append(progress.read)
        lowest = min((offset for offset in again if offset is not None), default=None)
        first = progress.next_offset if lowest is None else lowest
        sources, heard = ordering.sources.record(first), ordering.silence.heard
        return {
            "released": None if outbox.released is None else list(outbox.released),
            "lowest_held": lowest,
            "next_offset": progress.next_offset,
            "floor": floor,
            "ended": outbox.ended,
            "marks": progress.marks.records(first, floor),
            "positions": progress.positions,
            "source": progress.source,
            **({} if sources is None else {"sources": sources}),
            **({} if heard is None else {"heard": heard}),
        }
