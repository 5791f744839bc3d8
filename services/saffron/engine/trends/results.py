"""Results of a trend query: written as JSON when asked for.

A result's id is a hash of query (normalised text), partition, window, the event that opened the window (else -1), and
the group's values: 128 bits of BLAKE2b, which any later version computes alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import orjson

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


class Trends:
    """Results of one query that fired one after another: `rows`, [n, columns of `layout.out`].

    `at`: the position at which all of them stand, None for each row's own. Valid until the query's next block.
    """

    def __init__(self, query: TrendQuery, partition: int, rows: Ints, at: int | None = None) -> None:
        self.position: Ints = rows[:, O_POSITION] if at is None else np.full(len(rows), at, dtype=np.int64)
        self.last_time: Ints = rows[:, O_TIME]
        self.deadline: Ints = rows[:, O_LOW] + query.plan.window.size - 1
        self._query = query
        self._strings = query.strings
        self._partition = partition
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def json(self, chosen: Ints) -> list[bytes]:
        """These results as JSON objects."""
        return [self._writer.line(row) for row in self._rows[chosen].tolist()]

    @cached_property
    def _writer(self) -> _Writer:
        return _Writer(self._query, self._strings, self._partition)


class _Writer:
    """Writes results of one query: what is the same in all of them, or in all of a group, is written once."""

    def __init__(self, query: TrendQuery, strings: Strings, partition: int) -> None:
        plan = query.plan
        self._strings = strings
        self._size = plan.window.size
        self._kinds = tuple(zip(plan.group, query.group_kinds, strict=True))
        self._names = [orjson.dumps(item.name) for item in plan.returns]
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
        values = {
            name: value_of(word, kind, self._strings) for (name, kind), word in zip(self._kinds, words, strict=True)
        }
        return orjson.dumps(values), orjson.dumps(list(values.values()))
