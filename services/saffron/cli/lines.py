"""Event files as single lines of JSON: what `produce` sends is what the file says, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from saffron.engine.events.files import read_events


def batches(files: Sequence[str]) -> Iterator[list[bytes]]:
    """Events of the files, one after another, as JSON objects without the newline; "-" is standard input."""
    for chunk in read_events(files):
        data = chunk.batch.buffer.tobytes()
        starts, ends = chunk.batch.starts.tolist(), chunk.batch.ends.tolist()
        yield [data[start:end] for start, end in zip(starts, ends, strict=True)]
