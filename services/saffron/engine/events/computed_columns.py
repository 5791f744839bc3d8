"""Columns of values that are computed from attributes (`schema.computed`).

Formulas of numbers are computed on whole columns, other values once for each distinct text, number or row. The values
of distinct inputs are kept across blocks, within a bound of bytes, so that a block computes what is new.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.column_operations import column_values, pruned, take_columns
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.event_expressions import numbers, truths
from saffron.engine.events.vector_formulas import kind_of_values, vector_expression
from saffron.language.plan.expressions import Expr
from saffron.schema.computed import Computed, ComputedRead, evaluator, of_kind
from saffron.schema.event_types import EventTypes
from saffron.schema.numbers import pair_of
from saffron.schema.schema import NULL_CODE, Kind

ROOM = 32 * 1024 * 1024
"""Bytes, about, that the kept values of one computed value take."""
_ENTRY = 200
"""Bytes of an entry beside its texts."""
_MANY = 65_536
"""Texts beyond which a block looks for its own only."""
_MISSING = object()


def with_computed(columns: Columns, reads: Iterable[ComputedRead]) -> Columns:
    """The events with computed values, as `ComputedColumns.added` has them."""
    return ComputedColumns(0).added(columns, reads)


class ComputedColumns:
    """Adds computed values to blocks, and keeps those of distinct inputs. `room`: bytes for each computed value."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._kept: dict[str, _Kept] = {}

    def added(self, columns: Columns, reads: Iterable[ComputedRead], rows: range | None = None) -> Columns:
        """The events with computed values. FunctionError: a user's function fails.

        A value that calls such a function is null for events of other types than it is read of, and for those that are
        not among `rows` (None: all).
        """
        more = {}
        for read in reads:
            kept = self._kept.get(read.name)
            if kept is None:
                one = Computed.of_name(read.name)
                assert one is not None, read.name
                kept = self._kept[read.name] = _Kept(one, self._room)
            more[read.name] = kept.column_of(columns, read.types, rows)
        return replace(columns, attributes={**columns.attributes, **more}) if more else columns

    def forget(self, name: str) -> None:
        """Forget what is kept of a computed value."""
        self._kept.pop(name, None)


class _Texts(NamedTuple):
    """The distinct texts of a column, with the computed column's item for each of them, and for null.

    `codes`: of the texts of the computed column, `texts`.
    """

    values: tuple[str, ...]
    table: NDArray[Any]
    codes: dict[str, int]
    texts: tuple[str, ...]


class _Kept:
    """A computed value, and its results for inputs that blocks have had."""

    def __init__(self, one: Computed, room: int) -> None:
        self._one = one
        self._attributes = one.attributes
        self._evaluate = evaluator(one.tree)
        self._kind = one.kind.column
        self._dtype = self._kind.dtype
        self._room = room
        self._size = 0
        self._results: dict[Hashable, Any] = {}
        self._inputs: dict[str, Any] = {}
        self._arrays: list[str] = []
        self._last: _Texts | None = None
        self._vectors: dict[tuple[Kind, ...], Expr | None] = {}

    def column_of(self, columns: Columns, types: Sequence[EventTypes], within: range | None) -> Column:
        """The value for each event, or for those of the types within some rows where it calls a user's own function."""
        if not self._one.calls_own:
            return self.column(columns)
        rows = _rows_of(columns.type, types)
        if within is not None:
            rows = rows[(rows >= within.start) & (rows < within.stop)]
        if len(rows) == len(columns):
            return self.column(columns)
        read = {name: one for name in self._attributes if (one := columns.attributes.get(name)) is not None}
        found = self.column(take_columns(replace(columns, attributes=read), rows))
        data = np.full(len(columns), self._kind.null, self._dtype)
        data[rows] = found.data
        return Column(self._kind, data, found.values)

    def column(self, columns: Columns) -> Column:
        """The value for each event."""
        inputs = [_input(columns, name) for name in self._attributes]
        if (found := self._of_vectors(columns, inputs)) is not None:
            return found
        named = zip(self._attributes, inputs, strict=True)
        self._arrays = [name for name, one in named if one is not None and one.kind is Kind.ARRAY]
        if len(inputs) > 1 or inputs[0] is None:
            table, texts = self._table(list(zip(*(_keys(one, len(columns)) for one in inputs), strict=True)))
            return Column(self._kind, table, texts)
        if inputs[0].kind.has_texts:
            return self._of_texts(inputs[0])
        distinct, places = np.unique(inputs[0].data, return_inverse=True)
        table, texts = self._table(column_values(Column(inputs[0].kind, distinct)))
        return Column(self._kind, table[places.reshape(-1)], texts)

    def _of_vectors(self, columns: Columns, inputs: Sequence[Column | None]) -> Column | None:
        """The value of a formula, computed on whole columns; None: it is no such formula, or reads a text alone."""
        present = [one for one in inputs if one is not None]
        if len(present) < len(inputs) or (len(inputs) == 1 and present[0].kind.has_texts):
            return None
        kinds = tuple(map(kind_of_values, present))
        if kinds not in self._vectors:
            named = dict(zip(self._attributes, kinds, strict=True))
            self._vectors[kinds] = vector_expression(self._one, named)
        expr = self._vectors[kinds]
        if expr is None:
            return None
        with np.errstate(all="ignore"):
            if self._kind is Kind.BOOL:
                return Column(self._kind, truths(expr, columns).astype(self._dtype))
            return Column(self._kind, numbers(expr, columns).astype(self._dtype, copy=False))

    def _of_texts(self, column: Column) -> Column:
        """The computed column of an attribute that is held as codes into its distinct texts.

        A decoder's texts grow from block to block: those of the last block are not looked up again. But a function of
        the user's own, which may fail, is called for texts of these events only.
        """
        if self._one.calls_own or len(column.values) > _MANY + 2 * len(column.data):
            column = pruned(column)
            table, texts = self._table([*column.values, None])
            return Column(self._kind, _at(table, column), texts)
        known = self._last
        if known is None or known.values is not column.values:
            before = () if known is None else known.values
            if known is None or column.values[: len(before)] != before:
                before, known = (), _Texts((), np.empty(1, self._dtype), {}, ())
            more = self._items(self._found([*column.values[len(before) :], None]), known.codes)
            table = np.concatenate([known.table[:-1], more])  # the last item is for null, which -1 indexes
            known = self._last = _Texts(column.values, table, known.codes, tuple(known.codes))
        return Column(self._kind, _at(known.table, column), known.texts)

    def _table(self, keys: Sequence[Hashable]) -> tuple[NDArray[Any], tuple[str, ...]]:
        """The results for inputs as a column has them: items, and the texts of those that are codes."""
        codes: dict[str, int] = {}
        return self._items(self._found(keys), codes), tuple(codes)

    def _items(self, results: Sequence[Any], codes: dict[str, int]) -> NDArray[Any]:
        """Results as items of a column. `codes`: of the texts so far, to which those of the results are added."""
        if not self._kind.has_texts:
            return np.array(results, self._dtype)
        items = [NULL_CODE if text is None else codes.setdefault(text, len(codes)) for text in results]
        return np.array(items, self._dtype)

    def _found(self, keys: Sequence[Hashable]) -> list[Any]:
        """The results for inputs."""
        found = list(map(self._results.get, keys, repeat(_MISSING)))
        if _MISSING in found:
            found = [self._result(key) if one is _MISSING else one for key, one in zip(keys, found, strict=True)]
        return found

    def _result(self, key: Hashable) -> Any:
        """The result for an input, which is kept: a text, None, or an item of the column."""
        known = self._results.get(key, _MISSING)
        if known is not _MISSING:
            return known
        inputs = key if isinstance(key, tuple) else (key,)
        self._inputs.update(zip(self._attributes, inputs, strict=True))
        for name in self._arrays:
            if self._inputs[name] is not None:
                self._inputs[name] = orjson.loads(self._inputs[name])
        item = self._item(self._evaluate(self._inputs.get))
        if self._room:
            self._size += _ENTRY + len(item) if isinstance(item, str) else _ENTRY
            for one in inputs:
                self._size += len(one) if isinstance(one, str) else 0
            if self._size > self._room:
                self._results.clear()
                self._size = 0
        self._results[key] = item
        return item

    def _item(self, value: Any) -> Any:
        """A value as it is kept."""
        if self._kind is Kind.STRING:
            return value if isinstance(value, str) else None
        if self._kind is Kind.ARRAY:
            return None if value is None else orjson.dumps(value).decode()
        value = of_kind(value, self._one.kind)
        if value is None:
            return self._kind.null
        return pair_of(value) if self._kind is Kind.NUMBER else value


def _rows_of(kinds: Column, types: Sequence[EventTypes]) -> NDArray[np.int64]:
    """The rows of events of any of the types."""
    wanted = [any(name in one for one in types) for name in kinds.values]
    return np.flatnonzero(np.array([*wanted, False])[kinds.data])


def _at(table: NDArray[Any], column: Column) -> NDArray[Any]:
    """The items of a column's codes; that of null, -1, is the last one."""
    items: NDArray[Any] = table.take(column.data.astype(np.intp), mode="wrap")  # faster than an index
    return items


def _input(columns: Columns, name: str) -> Column | None:
    """The column of an attribute; None: no event has it."""
    if name == "ts":
        return Column(Kind.INT, columns.ts)
    return columns.type if name == "type" else columns.attributes.get(name)


def _keys(column: Column | None, count: int) -> list[Any]:
    """A column's values as keys of a dict, arrays as their texts."""
    if column is None:
        return [None] * count
    return column_values(replace(column, kind=Kind.STRING) if column.kind is Kind.ARRAY else column)
