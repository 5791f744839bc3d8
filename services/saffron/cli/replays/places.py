"""The places of events in the files that were read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from saffron.engine.events.formats.files import Chunk


class Places:
    """The file and line of each event, by its position in all files. Consecutive lines take no memory of their own."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._lines: list[tuple[str, int]] = []

    def watch(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """The chunks unchanged, each noted as it passes."""
        for chunk in chunks:
            self._note(chunk)
            yield chunk

    def of(self, position: int) -> str:
        """The place of an event: FILE, line N (of a table: the number of its row)."""
        at = bisect_right(self._starts, position) - 1
        if at < 0:
            return f"event {position}"
        name, line = self._lines[at]
        return f"{name}, line {line + position - self._starts[at]}"

    def _note(self, chunk: Chunk) -> None:
        """Notes a chunk's positions and lines."""
        if not len(chunk.batch):
            return
        first = int(chunk.batch.offsets[0])
        breaks = [0, *(np.flatnonzero(np.diff(chunk.lines) != 1) + 1).tolist()]
        for place in breaks:
            line = int(chunk.lines[place])
            if self.of(first + place) != f"{chunk.name}, line {line}":
                self._starts.append(first + place)
                self._lines.append((chunk.name, line))
