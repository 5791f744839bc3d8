"""Results of trend queries: put in their published order, and written as JSON when asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.trends.layout import (
    O_COUNT,
    O_LOW,
    O_POSITION,
    O_SCALE,
    O_SEQ,
    O_TIME,
    O_WORDS,
    Ints,
)
from saffron.engine.trends.prepare import value_of
from saffron.engine.trends.query import TrendQuery
from saffron.engine.trends.strings import Interner
from saffron.engine.trends.wide import written

FULL = 0
PAST = 1
DUE = 2


@dataclass(frozen=True)
class Fired:
    """Results of one query that fired one after another.

    `rows`: [n, columns of `layout.out`]; `strings`: what their words index. `at`: the position at which all of them
    stand, None for each row's own.
    `phase`: at one position stand first the EVENTS windows that are full (FULL), then what a query added there says of
    the past (PAST), then the windows whose deadline the next event or the watermark has passed (DUE).
    """

    query: TrendQuery
    strings: Interner
    rows: Ints
    phase: int
    at: int | None = None


class TrendResults:
    """The results of one block, ordered by (position, deadline, query, first seq of the group)."""

    def __init__(self, partition: int, fired: Sequence[Fired]) -> None:
        self._partition = partition
        self._fired = [part for part in fired if len(part.rows)]
        self._names = tuple(sorted({part.query.plan.name for part in self._fired}))
        columns = [self._order_of(part) for part in self._fired]
        keys: Ints = np.concatenate(columns, axis=1) if columns else np.zeros((4, 0), dtype=np.int64)
        order = np.lexsort(keys)
        sizes = [len(part.rows) for part in self._fired]
        self._part = np.repeat(np.arange(len(sizes)), sizes)[order]
        self._row = np.concatenate([np.arange(size) for size in sizes])[order] if sizes else order
        self._query: NDArray[np.int32] = keys[0, order].astype(np.int32)
        self._position: Ints = keys[3, order]
        times = [part.rows[:, O_TIME] for part in self._fired]
        self._last_time: Ints = np.concatenate(times)[order] if times else np.zeros(0, dtype=np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def query(self) -> NDArray[np.int32]:
        return self._query

    @property
    def position(self) -> Ints:
        """[n] the position before whose event each result fires."""
        return self._position

    @property
    def last_time(self) -> NDArray[np.int64]:
        return self._last_time

    def __len__(self) -> int:
        return len(self._query)

    def json(self, start: int, stop: int) -> list[bytes]:
        """Results start..stop-1, each a JSON object in UTF-8."""
        return [
            self._rendered(self._fired[part], self._fired[part].rows[row])
            for part, row in zip(self._part[start:stop].tolist(), self._row[start:stop].tolist(), strict=True)
        ]

    def _order_of(self, part: Fired) -> Ints:
        """[4, n] sort keys, the last one first; rows of equal keys keep their order, which is by first seq."""
        keys = np.empty((4, len(part.rows)), dtype=np.int64)
        keys[0] = self._names.index(part.query.plan.name)
        keys[1] = 0 if part.phase == PAST else part.rows[:, O_LOW] + part.query.plan.window.size - 1
        keys[2] = part.phase
        keys[3] = part.rows[:, O_POSITION] if part.at is None else part.at
        return keys

    def _rendered(self, part: Fired, row: Ints) -> bytes:
        query, plan = part.query, part.query.plan
        values = row.tolist()
        window = [values[O_LOW], values[O_LOW] + plan.window.size]
        kinds = query.group_kinds
        group = {
            name: value_of(word, kind, part.strings)
            for name, word, kind in zip(plan.group, values[O_WORDS:], kinds, strict=True)
        }
        count = written(values[O_COUNT], values[O_SCALE])
        result: dict[str, Any] = {
            "id": identity(plan.text, self._partition, [*window, values[O_SEQ]], group),
            "query": plan.name,
            "partition": self._partition,
            "window": window,
            "group": group,
            "return": {aggregate.name: count for aggregate in plan.aggregates},
            "exact": values[O_SCALE] == 0,
        }
        return orjson.dumps(result)


def identity(text: str, partition: int, window: Sequence[int], group: dict[str, Any]) -> str:
    """The result's id: 32 hex digits of a hash of query, partition, window (and what opened it, else -1) and group."""
    parts = orjson.dumps([text, partition, window, list(group.values())])
    return hashlib.blake2b(parts, digest_size=16).hexdigest()
