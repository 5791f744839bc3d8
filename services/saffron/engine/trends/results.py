"""Results of trend queries: put in their published order, and written as JSON when asked for.

A result's id is a hash of query (normalised text), partition, window, the event that opened the window (else -1), and
the group's values: 128 bits of BLAKE2b, which any later version computes alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.strings import Strings
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
    strings: Strings
    rows: Ints
    phase: int
    at: int | None = None


class TrendResults:
    """The results of one block, ordered by (position, deadline, query, first seq of the group)."""

    def __init__(self, partition: int, fired: Sequence[Fired]) -> None:
        self._partition = partition
        self._writers: dict[int, _Writer] = {}
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
        parts, rows = self._part[start:stop], self._row[start:stop]
        texts = [b""] * len(parts)
        for number in np.unique(parts).tolist():
            part = self._fired[number]
            writer = self._writers.get(number)
            if writer is None:
                writer = self._writers[number] = _Writer(part, self._partition)
            here = np.flatnonzero(parts == number)
            for index, row in zip(here.tolist(), part.rows[rows[here]].tolist(), strict=True):
                texts[index] = writer.line(row)
        return texts

    def _order_of(self, part: Fired) -> Ints:
        """[4, n] sort keys, the last one first; rows of equal keys keep their order, which is by first seq."""
        keys = np.empty((4, len(part.rows)), dtype=np.int64)
        keys[0] = self._names.index(part.query.plan.name)
        keys[1] = 0 if part.phase == PAST else part.rows[:, O_LOW] + part.query.plan.window.size - 1
        keys[2] = part.phase
        keys[3] = part.rows[:, O_POSITION] if part.at is None else part.at
        return keys


class _Writer:
    """Writes results of one query: what is the same in all of them, or in all of a group, is written once."""

    def __init__(self, part: Fired, partition: int) -> None:
        plan = part.query.plan
        self._part = part
        self._size = plan.window.size
        self._kinds = tuple(zip(plan.group, part.query.group_kinds, strict=True))
        self._names = [orjson.dumps(aggregate.name) for aggregate in plan.aggregates]
        self._head = b'","query":%b,"partition":%d,"window":[' % (orjson.dumps(plan.name), partition)
        self._seed = hashlib.blake2b(orjson.dumps([plan.text, partition]), digest_size=16)
        self._groups: dict[tuple[int, ...], tuple[bytes, bytes]] = {}

    def line(self, row: Sequence[int]) -> bytes:
        """The result of a row of `rows`."""
        words = tuple(row[O_WORDS:])
        known = self._groups.get(words)
        if known is None:
            known = self._groups[words] = self._group(words)
        group, hashed = known
        low, high, scale = row[O_LOW], row[O_LOW] + self._size, row[O_SCALE]
        identity = self._seed.copy()
        identity.update(b"[%d,%d,%d]%b" % (low, high, row[O_SEQ], hashed))
        count = b"%d" % row[O_COUNT] if scale == 0 else orjson.dumps(written(row[O_COUNT], scale))
        returned = b",".join(b"%b:%b" % (name, count) for name in self._names)
        exact = b"true" if scale == 0 else b"false"
        text = b'{"id":"%b%b%d,%d],"group":%b,"return":{%b},"exact":%b}'
        return text % (identity.hexdigest().encode(), self._head, low, high, group, returned, exact)

    def _group(self, words: Sequence[int]) -> tuple[bytes, bytes]:
        """The group as results show it, and as their ids hash it."""
        strings = self._part.strings
        values = {name: value_of(word, kind, strings) for (name, kind), word in zip(self._kinds, words, strict=True)}
        return orjson.dumps(values), orjson.dumps(list(values.values()))
