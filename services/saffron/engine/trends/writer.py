"""Results of a trend query as JSON, a column at a time.

A result's id is a hash (`operators.identity`) of query (normalised text), partition, window, the event that opened the
window (else -1), and the group's values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.json_pieces import Pieces, cut
from saffron.engine.events.strings import Strings
from saffron.engine.operators.identity import digits, identify, seeds
from saffron.engine.trends.core import layout
from saffron.engine.trends.core.arrays import Ints
from saffron.engine.trends.queries.reader import Reader
from saffron.engine.trends.values.returns import Rows
from saffron.language.plan.expressions import Expr
from saffron.language.plan.formulas import attribute_shown


class Writer:
    """Writes results of one query: what is the same in all of them, or in all of a group, is written once."""

    def __init__(self, query: Reader, strings: Strings, partition: int) -> None:
        plan = query.plan
        self._size = plan.window.size
        self._names = [attribute_shown(name) for name in plan.group]
        self._values = query.returns.groups(strings)
        self._returns = query.returns
        self._head = b'","query":%b,"partition":%d,"window":[' % (orjson.dumps(plan.name), partition)
        self._seed, self._partition = seeds(plan.text), partition

    def lines(self, rows: Rows, shed: Ints) -> list[bytes]:
        """A JSON object for each of `rows`; `shed` [n]: dropped events of each one's window."""
        low, pieces = rows.out[:, layout.O_LOW], Pieces()
        words, of = _distinct(rows.out[:, layout.O_WORDS :])
        groups = [list(self._values(tuple(one))) for one in words.tolist()]
        ids = self._ids(low, rows.out[:, layout.O_SEQ], groups, of)
        shown = [orjson.dumps(dict(zip(self._names, group, strict=True))) for group in groups]
        order: list[Ints | int] = [pieces.literal(b'{"id":"'), pieces.rows(digits(ids))]
        order += [pieces.literal(self._head), pieces.numbers(low)]
        order += [pieces.literal(b","), pieces.numbers(low + self._size)]
        order += [pieces.literal(b'],"group":'), pieces.literals(shown) + of]
        opening = b',"return":{'
        items, exact = self._returns.columns(rows, groups, of, pieces)
        for name, item in zip(self._returns.names, items, strict=True):
            order += [pieces.literal(opening + name + b":"), item]
            opening = b","
        ends = pieces.literals([b'},"exact":false', b'},"exact":true'])
        order.append(ends + (exact & (shed == 0)))
        order.append(pieces.literals([b',"shed":%d}' % n if n else b"}" for n in shed.tolist()]) + np.arange(len(shed)))
        return cut(*pieces.join(np.stack([np.broadcast_to(np.asarray(part), len(low)) for part in order], axis=1)))

    def values(self, rows: Rows, expr: Expr) -> list[bytes]:
        """The value of an expression in each of `rows`, as JSON."""
        pieces = Pieces()
        words, of = _distinct(rows.out[:, layout.O_WORDS :])
        groups = [list(self._values(tuple(one))) for one in words.tolist()]
        column, _ = self._returns.column(expr, rows, groups, of, pieces)
        return cut(*pieces.join(np.stack([np.broadcast_to(np.asarray(column), len(of))], axis=1)))

    def _ids(self, low: Ints, seq: Ints, groups: Sequence[Sequence[Any]], of: Ints) -> NDArray[np.uint64]:
        values = np.array([seeds(orjson.dumps(group).decode()) for group in groups]).view(np.int64)[of]
        words = np.stack([np.full(len(low), self._partition), low, low + self._size, seq, values[:, 0], values[:, 1]])
        ids = np.empty((len(low), 2), np.uint64)
        identify(self._seed, words, np.empty((len(low), 0), np.int64), np.empty(0, np.int64), ids)
        return ids


def _distinct(words: Ints) -> tuple[Ints, Ints]:
    """[m, w] the distinct rows of `words` [n, w]; [n] which of them each row is."""
    if not words.shape[1]:
        return words[:1], np.zeros(len(words), np.int64)
    found, of = np.unique(words, axis=0, return_inverse=True)
    return found, of.reshape(-1)
