"""Raw records as they come from a topic or a file: one buffer, and where each record lies in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from saffron.schema.schema import MAX_EVENT_BYTES

NEWLINE = 10
Refusal = tuple[str, str]
"""Why a record is no event: the code of a dead letter, and a sentence."""


@dataclass(frozen=True)
class RawBatch:
    """n undecoded records in order of arrival.

    `buffer`: uint8 [bytes]; record i is buffer[starts[i]:ends[i]] (an absent value is an empty one).
    `starts`, `ends`: int64 [n].
    `offsets`: int64 [n], ascending: the records' offsets in the partition, or their positions in the input of a replay.
    `times`: int64 [n] or None: the messages' own times in ms (negative: the message has none). None in a replay.
    `traces`: [n] trace context that each message's headers carry, or None; None where no message has any.
    `originals`: the same records as they came, where those here are a translation (`engine.events.formats.framed`).
    `absent`: offsets of records whose message had no value.
    `refused`: offset of a record that could not be made JSON -> why; its bytes here mean nothing.
    """

    buffer: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    offsets: NDArray[np.int64]
    times: NDArray[np.int64] | None = None
    traces: Sequence[str | None] | None = None
    originals: RawBatch | None = None
    refused: Mapping[int, Refusal] = field(default_factory=dict)
    absent: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.starts)

    def value(self, row: int) -> bytes:
        """The bytes of one record."""
        return self.buffer[self.starts[row] : self.ends[row]].tobytes()

    def original(self, row: int) -> bytes:
        """The bytes of one record as its message had them; empty where it had none."""
        return (self if self.originals is None else self.originals).value(row)

    def is_absent(self, row: int) -> bool:
        """True if the record's message had no value (a tombstone)."""
        came = self if self.originals is None else self.originals
        return bool(came.absent) and int(came.offsets[row]) in came.absent

    def part(self, start: int, stop: int) -> RawBatch:
        """Records start..stop-1, sharing the buffer."""
        rows = slice(start, stop)
        traces = None if self.traces is None else self.traces[rows]
        return self._rows(rows, traces, None if self.originals is None else self.originals.part(start, stop))

    def take(self, rows: NDArray[np.int64]) -> RawBatch:
        """The records of these rows, sharing the buffer."""
        traces = None if self.traces is None else [self.traces[row] for row in rows.tolist()]
        return self._rows(rows, traces, None if self.originals is None else self.originals.take(rows))

    def _rows(
        self, rows: slice | NDArray[np.int64], traces: Sequence[str | None] | None, originals: RawBatch | None
    ) -> RawBatch:
        """The batch with these rows alone, and with their `traces` and `originals`. The buffer is shared.

        `refused` and `absent` stay as they are, since they go by offset.
        """
        return replace(
            self,
            starts=self.starts[rows],
            ends=self.ends[rows],
            offsets=self.offsets[rows],
            times=None if self.times is None else self.times[rows],
            traces=traces,
            originals=originals,
        )

    def numbered(self, first: int) -> RawBatch:
        """The batch with offsets from `first` on."""
        offsets = np.arange(first, first + len(self), dtype=np.int64)
        refused, absent = self.refused, self.absent
        if refused or absent:
            places = zip(self.offsets.tolist(), offsets.tolist(), strict=True)
            new = dict(places)
            refused = {new[old]: one for old, one in refused.items() if old in new}
            absent = frozenset(new[old] for old in absent if old in new)
        return replace(self, offsets=offsets, refused=refused, absent=absent)


def joined(batches: Sequence[RawBatch]) -> RawBatch:
    """Batches of messages of one partition, one after the other, as one. They are no translations."""
    if len(batches) == 1:
        return batches[0]
    before = np.cumsum([0, *(len(one.buffer) for one in batches[:-1])])
    times, traces = [one.times for one in batches], [one.traces for one in batches]
    has_traces = any(one is not None for one in traces)
    return RawBatch(
        np.concatenate([one.buffer for one in batches]),
        np.concatenate([one.starts + first for one, first in zip(batches, before, strict=True)]),
        np.concatenate([one.ends + first for one, first in zip(batches, before, strict=True)]),
        np.concatenate([one.offsets for one in batches]),
        None if times[0] is None else np.concatenate([one for one in times if one is not None]),
        [trace for one in batches for trace in one.traces or [None] * len(one)] if has_traces else None,
        absent=frozenset().union(*(one.absent for one in batches)),
    )


def batch_of_values(
    values: Sequence[bytes | None],
    offsets: NDArray[np.int64] | None = None,
    times: NDArray[np.int64] | None = None,
    *,
    refused: Mapping[int, Refusal] | None = None,
) -> RawBatch:
    """A batch of Kafka values (None, a tombstone, is empty and `absent`). `offsets` default to 0..n-1."""
    present = cast("Sequence[bytes]", values) if all(values) else [value or b"" for value in values]
    lengths = np.fromiter(map(len, present), np.int64, len(present))
    bounds = np.zeros(len(present) + 1, dtype=np.int64)
    np.cumsum(lengths, out=bounds[1:])
    buffer = np.frombuffer(b"".join(present), dtype=np.uint8)
    if offsets is None:
        offsets = np.arange(len(present), dtype=np.int64)
    absent: frozenset[int] = frozenset()
    if not lengths.all():
        absent = frozenset(at for at, value in zip(offsets.tolist(), values, strict=True) if value is None)
    return RawBatch(buffer, bounds[:-1], bounds[1:], offsets, times, refused=refused or {}, absent=absent)


def split_lines(
    buffer: NDArray[np.uint8],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    r"""The lines of `buffer`, without blank ones: (starts, ends, numbers, lines).

    `numbers`: 0-based line numbers; `lines`: the number of lines, blank ones included. "\r\n" ends a line too,
    and the last line needs no newline.
    """
    newlines = np.flatnonzero(buffer == NEWLINE)
    if len(buffer) and (not len(newlines) or newlines[-1] != len(buffer) - 1):
        newlines = np.append(newlines, len(buffer))
    starts = np.empty_like(newlines)
    starts[:1] = 0
    starts[1:] = newlines[:-1] + 1
    ends = newlines.copy()
    filled = trim_lines(buffer, starts, ends)
    numbers = np.arange(len(newlines), dtype=np.int64)
    if filled.all():
        return starts, ends, numbers, len(newlines)
    return starts[filled], ends[filled], numbers[filled], len(newlines)


def batch_of_lines(data: bytes | NDArray[np.uint8]) -> RawBatch:
    """A batch of newline-delimited events; `offsets` count the events (not the blank lines)."""
    buffer = np.frombuffer(data, dtype=np.uint8) if isinstance(data, bytes) else data
    starts, ends, _, _ = split_lines(buffer)
    return RawBatch(buffer, starts, ends, np.arange(len(starts), dtype=np.int64))


def trim_lines(buffer: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    r"""[n] whether a line holds anything; `ends` of lines that end in "\r" move before it, in place.

    Of a line that is longer than an event may be only so much is kept that this shows: how it was read in blocks
    then changes nothing.
    """
    _trim_carriage_returns(buffer, starts, ends)
    np.minimum(ends, starts + (MAX_EVENT_BYTES + 1), out=ends)
    return _filled(buffer, starts, ends)


def _trim_carriage_returns(buffer: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
    """Move the ends of lines that end in a carriage return one byte to the left, in place."""
    candidates = np.flatnonzero(ends > starts)
    returns = candidates[buffer[ends[candidates] - 1] == 13]
    ends[returns] -= 1


def _filled(buffer: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[n] whether a line holds anything but blanks and tabs."""
    filled = ends > starts
    # A line that begins with a blank may be blank to its end; such lines are rare, so a loop will do.
    doubtful = np.flatnonzero(filled)
    first = buffer[starts[doubtful]]
    for row in doubtful[(first == 32) | (first == 9)].tolist():
        filled[row] = bool(buffer[starts[row] : ends[row]].tobytes().strip(b" \t\r"))
    return filled


def not_utf8(value: bytes) -> str:
    """The reason why bytes are not UTF-8, with the first place; "" if they are."""
    try:
        value.decode()
    except UnicodeDecodeError as error:
        return f"is not UTF-8 (byte {error.start + 1}: {value[error.start]:#04x})"
    return ""
