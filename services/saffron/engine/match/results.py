"""The results of a block over all match queries, in their published order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Part(Protocol):
    """Results of one query. `position`, `last_time`: int64 [n]."""

    position: Ints
    last_time: Ints

    def __len__(self) -> int: ...

    def json(self, chosen: Ints) -> list[bytes]: ...


class Written:
    """Results that were rendered when they were found: those of the past, for a query added `--from earliest`.

    They fire where the query was added, before the event at that position.
    """

    def __init__(self, position: int, texts: Sequence[bytes], last_time: Ints) -> None:
        self.position = np.full(len(texts), position, np.int64)
        self.last_time = last_time
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def json(self, chosen: Ints) -> list[bytes]:
        return [self._texts[index] for index in chosen.tolist()]


class MatchResults:
    """Ordered by (position, past before present, query, order within the query); valid until the next block."""

    def __init__(self, parts: Sequence[tuple[str, Part]]) -> None:
        parts = sorted((pair for pair in parts if len(pair[1])), key=lambda pair: pair[0])
        self._parts = [part for _, part in parts]
        self._names = tuple(sorted({name for name, _ in parts}))
        sizes = [len(part) for part in self._parts]
        present = np.repeat([not isinstance(part, Written) for part in self._parts], sizes)
        position = np.concatenate([part.position for part in self._parts] or [np.zeros(0, np.int64)])
        # Parts stand in the order of their queries' names, so a stable sort keeps that order within a position.
        order = np.lexsort((present, position)) if len(self._parts) > 1 else np.arange(len(position))
        self._position = position[order]
        self._part = np.repeat(np.arange(len(sizes)), sizes)[order]
        self._row = np.concatenate([np.arange(size) for size in sizes] or [np.zeros(0, np.int64)])[order]
        codes = np.array([self._names.index(name) for name, _ in parts], np.int32)
        self._query = np.repeat(codes, sizes)[order]
        times = np.concatenate([part.last_time for part in self._parts] or [np.zeros(0, np.int64)])
        self._last_time = times[order]

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def query(self) -> NDArray[np.int32]:
        return self._query

    @property
    def position(self) -> Ints:
        """[n] the position at which each result fires."""
        return self._position

    @property
    def last_time(self) -> Ints:
        return self._last_time

    def __len__(self) -> int:
        return len(self._query)

    def json(self, start: int, stop: int) -> list[bytes]:
        """Results start..stop-1, each a JSON object in UTF-8."""
        parts, rows = self._part[start:stop], self._row[start:stop]
        texts: list[bytes] = [b""] * len(rows)
        for number, part in enumerate(self._parts):
            here = np.flatnonzero(parts == number)
            for index, text in zip(here.tolist(), part.json(rows[here]), strict=True):
                texts[index] = text
        return texts
