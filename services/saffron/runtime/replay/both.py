"""Results of both engines over one block, as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from saffron.engine.operators.results import Results, interleaved


class Merged:
    """Results of both engines over one block, ordered by position. Deadlines come before events."""

    def __init__(self, parts: Sequence[Results]) -> None:
        self.parts = [part for part in parts if len(part)]
        positions = [part.position for part in self.parts]
        sizes = [len(part) for part in self.parts]
        order = np.argsort(np.concatenate(positions), kind="stable") if positions else np.zeros(0, dtype=np.int64)
        self._part, self._row = interleaved(sizes, order)

    def __len__(self) -> int:
        return len(self._row)

    def counts(self) -> dict[str, int]:
        """Number of results by query."""
        counts: dict[str, int] = {}
        for part in self.parts:
            by_query: NDArray[np.int64] = np.bincount(part.query, minlength=len(part.names))
            counts |= {name: counts.get(name, 0) + int(n) for name, n in zip(part.names, by_query, strict=True)}
        return counts

    def json(self, chunk: int = 4096) -> Iterator[list[bytes]]:
        """The results as JSON objects, `chunk` at a time, without those that only other queries read."""
        if len(self.parts) == 1:
            for start in range(0, len(self), chunk):
                yield _there(self.parts[0].json(start, min(start + chunk, len(self))))
            return
        cuts = np.flatnonzero(np.diff(self._part)) + 1
        for rows in np.split(np.arange(len(self)), cuts) if len(self) else ():
            part = self.parts[int(self._part[rows[0]])]
            first, last = int(self._row[rows[0]]), int(self._row[rows[-1]]) + 1
            for start in range(first, last, chunk):
                yield _there(part.json(start, min(start + chunk, last)))


def _there(texts: list[bytes]) -> list[bytes]:
    """The results without those of a query that failed while they were rendered, and those that are not written."""
    return texts if all(texts) else [text for text in texts if text]
