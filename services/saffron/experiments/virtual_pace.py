"""The times at which events arrive on the virtual clock, and the blocks into which they are cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.block import Block
from saffron.engine.events.column_operations import slice_columns
from saffron.errors import SettingsError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK_MS = 5.0
MOST_EVENTS = 8_192


@dataclass(frozen=True)
class Rate:
    """The rate of events: so many a second, or (`relative`) times the calibrated capacity.

    `profile`: (seconds, factor) one after the other, by which the rate is multiplied; 1 behind them.
    """

    value: float
    relative: bool = False
    profile: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of(cls, text: str) -> Rate:
        """`1.4x` or `20000` (events a second). SettingsError: the text is neither."""
        try:
            number = float(text.removesuffix("x").replace("_", ""))
        except ValueError:
            number = 0.0
        if not 0 < number < float("inf"):
            raise SettingsError(f"--rate {text}: give events a second (20000), or times the capacity (1.4x)")
        return cls(number, text.endswith("x"))

    def arrivals(self, count: int, capacity: float) -> Floats:
        """[count] float64, ms: when each event comes. `capacity`: events a second."""
        rate = self.value * (capacity if self.relative else 1.0) / 1000.0
        times, came, at = np.zeros(0), 0, 0.0
        for seconds, factor in (*self.profile, (float("inf"), 1.0)):
            if came >= count:
                break
            each = 1.0 / (rate * factor)
            here = int(min(count - came, 1000.0 * seconds / each))
            times = np.concatenate([times, at + each * np.arange(1, here + 1)])
            came, at = came + here, at + 1000.0 * seconds
        return times


def cuts(arrivals: Floats) -> Ints:
    """The ends of blocks (indices behind their last events): the events within 5 ms, at most 8,192."""
    if not len(arrivals):
        return np.zeros(0, np.int64)
    slots = np.floor(arrivals / BLOCK_MS).astype(np.int64)
    ends = np.append(np.flatnonzero(np.diff(slots)) + 1, len(arrivals))
    pieces = [
        np.append(np.arange(begin + MOST_EVENTS, end, MOST_EVENTS), end)
        for begin, end in zip(np.append(0, ends[:-1]).tolist(), ends.tolist(), strict=True)
    ]
    return np.concatenate(pieces)


def recut(blocks: Iterable[Block], ends: Sequence[int]) -> Iterator[Block]:
    """The same stream in blocks that end before the positions `ends` (ascending), as well as where they ended.

    What stands at a position behind the last event of a block (its end, controls) goes with its last piece.
    """
    for block in blocks:
        seq = block.columns.seq
        inner = [end for end in ends if block.first_seq < end < block.next_seq]
        first = block.first_seq
        counter = block.counter
        for stop in (*inner, block.next_seq):
            last = stop == block.next_seq
            piece = _piece(block, first, stop, np.searchsorted(seq, (first, stop)).tolist(), last=last)
            yield replace(piece, counter=counter)
            first, counter = stop, replace(piece, counter=counter).next_counter


def _piece(block: Block, first: int, stop: int, rows: Sequence[int], *, last: bool) -> Block:
    """The events of a block in [first, stop), as a block. `rows`: their first row, and the row behind the last.

    The block's end stays with the `last` piece; the watermark of another piece does not pass the next event.
    """
    low, high = rows
    watermark = block.watermark if last else min(block.watermark, int(block.columns.ts[high]))
    return replace(
        block,
        columns=slice_columns(block.columns, low, high),
        first_seq=first,
        next_seq=stop,
        watermark=watermark,
        end=block.end and last,
        controls=tuple(control for control in block.controls if first <= control.position < stop + (1 if last else 0)),
        opened={
            name: inside
            for name, positions in block.opened.items()
            if (inside := tuple(position for position in positions if first <= position < stop))
        },
    )
