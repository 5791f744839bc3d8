"""Results of a trend query: written as JSON when asked for.

A result's id is a hash of query (normalised text), partition, window, the event that opened the window (else -1), and
the group's values: 128 bits of BLAKE2b, which any later version computes alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import orjson

from saffron.engine.strings import Strings
from saffron.engine.trends.layout import (
    O_LOW,
    O_POSITION,
    O_SEQ,
    O_TIME,
    O_WORDS,
    Ints,
)
from saffron.engine.trends.reader import Reader
from saffron.engine.trends.returns import Row, Rows


class Trends:
    """Results of one query that fired one after another: `rows`.

    `at`: the position at which all of them stand, None for each row's own. Valid until the query's next block.
    """

    def __init__(self, query: Reader, partition: int, rows: Rows, at: int | None = None) -> None:
        self.position: Ints = rows.out[:, O_POSITION] if at is None else np.full(len(rows.out), at, dtype=np.int64)
        self.last_time: Ints = rows.out[:, O_TIME]
        self.deadline: Ints = rows.out[:, O_LOW] + query.plan.window.size - 1
        self._query = query
        self._strings = query.counting.strings
        self._partition = partition
        self._rows = rows
        self._shed = query.counting.shed.within(rows.out[:, O_LOW], rows.out[:, O_SEQ])

    def __len__(self) -> int:
        return len(self._rows.out)

    def json(self, chosen: Ints) -> list[bytes]:
        """These results as JSON objects."""
        rows = self._rows.at(chosen)
        parts = zip(*(part.tolist() for part in (self._shed[chosen], *rows)), strict=True)
        return [self._writer.line(*parts_of_one) for parts_of_one in parts]

    @cached_property
    def _writer(self) -> _Writer:
        return _Writer(self._query, self._strings, self._partition)


class _Writer:
    """Writes results of one query: what is the same in all of them, or in all of a group, is written once."""

    def __init__(self, query: Reader, strings: Strings, partition: int) -> None:
        plan = query.plan
        self._size = plan.window.size
        self._names = plan.group
        self._values = query.returns.groups(strings)
        self._returns = query.returns
        self._head = b'","query":%b,"partition":%d,"window":[' % (orjson.dumps(plan.name), partition)
        self._seed = hashlib.blake2b(orjson.dumps([plan.text, partition]), digest_size=16)
        self._groups: dict[tuple[int, ...], tuple[Sequence[Any], bytes, bytes]] = {}

    def line(
        self, shed: int, row: Sequence[int], numbers: Sequence[int], scales: Sequence[int], extremes: Sequence[float]
    ) -> bytes:
        """The result of a row of `rows`; `shed`: how many events its window lacks."""
        words = tuple(row[O_WORDS:])
        known = self._groups.get(words)
        if known is None:
            known = self._groups[words] = self._group(words)
        values, group, hashed = known
        low, high = row[O_LOW], row[O_LOW] + self._size
        identity = self._seed.copy()
        identity.update(b"[%d,%d,%d]%b" % (low, high, row[O_SEQ], hashed))
        items, exact = self._returns.written(Row(values, numbers, scales, extremes))
        returned = b",".join(b"%b:%b" % pair for pair in zip(self._returns.names, items, strict=True))
        text = b'{"id":"%b%b%d,%d],"group":%b,"return":{%b},"exact":%b%b}'
        head = (identity.hexdigest().encode(), self._head, low, high, group)
        return text % (
            *head,
            returned,
            b"true" if exact and not shed else b"false",
            b',"shed":%d' % shed if shed else b"",
        )

    def _group(self, words: tuple[int, ...]) -> tuple[Sequence[Any], bytes, bytes]:
        """The group's values, as results show it, and as their ids hash it."""
        values = list(self._values(words))
        return values, orjson.dumps(dict(zip(self._names, values, strict=True))), orjson.dumps(values)
