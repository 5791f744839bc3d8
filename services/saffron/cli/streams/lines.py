"""Event files as single lines: what `produce` sends is what the file says, byte for byte, be it an event or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from saffron.engine.events.formats.files import read_events
from saffron.engine.events.raw import MAX_EVENT_BYTES


class LeftOut:
    """Lines that are too long for a message. `events`: how many; `first`: where the first one stands."""

    def __init__(self) -> None:
        self.events = 0
        self.first = ""

    def report(self) -> str:
        """The message on them."""
        return (
            f"{self.events:,} events were not sent, since they are longer than {MAX_EVENT_BYTES} bytes; the first: "
            f"{self.first}"
        )


def batches(files: Sequence[str], left_out: LeftOut) -> Iterator[list[bytes]]:
    """Events of the files, one after another, as messages; "-" is standard input.

    Rows of tables are JSON objects; a line that is none stays as it is, for the stream to make a dead letter of.
    """
    for chunk in read_events(files):
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
