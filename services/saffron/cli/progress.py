"""Progress of long work, as a line that replaces itself; only on a terminal, and never into results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from saffron.cli import console
from saffron.counted import counted

if TYPE_CHECKING:
    from saffron.engine.events.formats.files import Chunk
    from saffron.engine.events.raw import RawBatch

_CELLS = 20
_PLAIN = (".ndjson", ".jsonl")
_EVERY_SECONDS = 0.25


def bar(done: float, total: float) -> str:
    """A bar of progress: [#####...............] 25 %"""
    share = min(1.0, done / total) if total else 1.0
    full = round(_CELLS * share)
    return f"[{'#' * full}{'.' * (_CELLS - full)}] {100 * share:3.0f} %"


class Reading:
    """The progress over files that are read.

    It is a share of them, or a number of events where the size is not known before they are unpacked.
    """

    def __init__(
        self,
        names: Sequence[str],
        show: Callable[[str], None] = console.progress,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._size = _size(names)
        self._show = show
        self._clock = clock
        self._began = self._shown = clock()

    def watch(self, chunks: Iterator[Chunk]) -> Iterator[RawBatch]:
        """The batches of `chunks`, unchanged. Progress is shown as they are taken."""
        events = read = 0
        for chunk in chunks:
            now = self._clock()
            if now - self._shown >= _EVERY_SECONDS:
                self._shown = now
                share = f"{bar(read, self._size)}  " if self._size else ""
                rate = events / max(now - self._began, 1e-9)
                self._show(f"{share}{counted(events, 'event')}, {rate:,.0f}/s ({chunk.name})")
            yield chunk.batch
            events += len(chunk.batch)
            read += int((chunk.batch.ends - chunk.batch.starts).sum()) + len(chunk.batch)


def _size(names: Sequence[str]) -> int:
    """The bytes of lines in all files; 0 if one is packed, a table, or standard input."""
    paths = [Path(name) for name in names]
    if not all(path.suffix in _PLAIN and path.is_file() for path in paths):
        return 0
    return sum(path.stat().st_size for path in paths)
