"""Event files as single lines for `produce`: byte for byte, valid events or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from saffron.counted import counted
from saffron.engine.events.formats.files import read_events
from saffron.schema.schema import MAX_EVENT_BYTES


class LeftOut:
    """The lines that are too long for a message. `events`: their number. `first`: the place of the first one."""

    def __init__(self) -> None:
        self.events = 0
        self.first = ""

    def report(self) -> str:
        """The message on events that were left out."""
        were = counted(self.events, "event was not sent, since it is", "events were not sent, since they are")
        return f"{were} longer than {MAX_EVENT_BYTES} bytes; the first: {self.first}"


def batches(files: Sequence[str], left_out: LeftOut, *, typed: bool = True) -> Iterator[list[bytes]]:
    """The events of files as messages, one file after another; "-" is standard input.

    Rows of tables become JSON objects; `typed`: tables have a column `type`. A line that is no event stays as it is, a
    dead letter of the stream.
    """
    for chunk in read_events(files, typed=typed):
        data = chunk.batch.buffer.tobytes()
        starts, ends = chunk.batch.starts.tolist(), chunk.batch.ends.tolist()
        lines = [data[start:end] for start, end in zip(starts, ends, strict=True)]
        if max(map(len, lines), default=0) > MAX_EVENT_BYTES:
            for line, number in zip(lines, chunk.lines.tolist(), strict=True):
                if len(line) > MAX_EVENT_BYTES:
                    left_out.first = left_out.first or f"{chunk.name}, line {number}"
                    left_out.events += 1
            lines = [line for line in lines if len(line) <= MAX_EVENT_BYTES]
        yield lines


def limited(lines: Iterator[list[bytes]], limit: int | None) -> Iterator[list[bytes]]:
    """The batches up to the first `limit` events; all batches if `limit` is None."""
    if limit is None:
        yield from lines
        return
    left = limit
    for batch in lines:
        yield batch[:left]
        left -= len(batch[:left])
        if left <= 0:
            return
