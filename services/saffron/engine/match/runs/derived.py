"""Results of a query as events to other queries (INTO, N11): their place in the stream, and their content.

A result comes behind the last event of its match, with that event's time. A result that is known only when its window
has closed (trailing NOT, LONGEST, ...) comes behind the last event in the window, at the window's last instant. It has
the position of the event before it, but is not counted as one. `merged` inserts such events for a reader, and marks
them by `Composed.result`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.column_operations import converted
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.computed_columns import with_computed
from saffron.engine.events.decoding.nesting import array_text
from saffron.engine.match.core.kernel_layout import AT_ONCE
from saffron.engine.match.core.rows import COUNTED, DUE, FIRES, RESULT
from saffron.engine.match.core.stream import Range
from saffron.schema.computed import ComputedRead
from saffron.schema.numbers import fits, pair_of
from saffron.schema.schema import NULL_CODE, Kind, Schema

Ints = NDArray[np.int64]
Array = NDArray[np.generic]

OF_STREAM = 0
"""The `result` of an event that is no result."""


@dataclass(frozen=True)
class Composed(Columns):
    """Events of the stream and results among them, in order.

    `result` [n]: of a result 64 bits of its id, else OF_STREAM. When a result was known: `fires` [n], the position
    before or at which, `due` [n], the deadline, or AT_ONCE, `counted` [n], 1 if that is a position.
    """

    result: Ints = None  # type: ignore[assignment]  # fields after those with defaults need one
    fires: Ints = None  # type: ignore[assignment]
    due: Ints = None  # type: ignore[assignment]
    counted: Ints = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Made:
    """Results of one query as events, in order. `attributes`: by name, of each event the value (None: null)."""

    type: str
    seq: Ints
    ts: Ints
    time: Ints
    result: Ints
    fires: Ints
    due: Ints
    counted: Ints
    attributes: Mapping[str, Sequence[Any]]

    def __len__(self) -> int:
        return len(self.seq)


def merged(part: Range, made: Sequence[Made], schema: Schema, computed: Sequence[ComputedRead]) -> Range:
    """The events of `part` with the results of other queries among them.

    `schema`, `computed`: of the query that reads them, and the computed values among its attributes.
    """
    made = [one for one in made if len(one)]
    own = part.columns
    if not made and _has(own, schema):
        return part
    count = len(part)
    names = {one.name for one in computed}
    kinds = {name: kind for name, kind in schema.kinds.items() if name not in names}

    def all_of(stream: Ints, name: str) -> Ints:
        return np.concatenate([stream, *(getattr(one, name) for one in made)])

    seq, ts = all_of(part.seq, "seq"), all_of(part.ts, "ts")
    rank = np.concatenate([np.zeros(count, np.int64), *(np.full(len(m), n) for n, m in enumerate(made, 1))])
    order = np.lexsort((np.arange(len(seq)), rank, seq, ts))
    blank = np.zeros(count, np.int64)
    columns = Composed(
        seq=seq[order],
        ts=ts[order],
        time=all_of(part.time, "time")[order],
        type=_strings(own.type, part, [[one.type] * len(one) for one in made], order),
        attributes={name: _column(name, kind, part, made, order) for name, kind in kinds.items()},
        dropped=_dropped(part, len(seq), order),
        result=all_of(blank, "result")[order],
        fires=all_of(part.seq, "fires")[order],
        due=all_of(np.full(count, AT_ONCE), "due")[order],
        counted=all_of(blank, "counted")[order],
    )
    return Range(with_computed(columns, computed), 0, len(seq))


def _has(columns: Columns, schema: Schema) -> bool:
    """True if the columns are those of the schema: results may have made an attribute's kind wider."""
    held = {name: column.kind for name, column in columns.attributes.items()}
    return all(held.get(name) is kind.column for name, kind in schema.kinds.items())


def _column(name: str, kind: Kind, part: Range, made: Sequence[Made], order: Ints) -> Column:
    values = [one.attributes.get(name, [None] * len(one)) for one in made]
    own = part.columns.attributes.get(name)
    own = Column(kind.column, np.full(part.high, kind.null, kind.dtype)) if own is None else converted(own, kind)
    if kind.has_texts:
        return _strings(own, part, values, order)
    added = [np.array([_held(value, kind) for value in column], kind.dtype) for column in values]
    return Column(kind.column, np.concatenate([own.data[part.low : part.high], *added])[order])


def _held(value: Any, kind: Kind) -> Any:
    """A value as its column has it; null where it is of another kind, or too large."""
    if isinstance(value, bool):
        return int(value) if kind is Kind.BOOL else kind.null
    if not (kind.is_number and isinstance(value, int | float) and fits(value, kind)):
        return kind.null
    if kind is Kind.NUMBER:
        return pair_of(value)
    return int(value) if kind.is_whole else float(value)


def _text(value: Any, kind: Kind) -> str | None:
    """The text that stands for a value in a column of strings or of arrays; None where it is of another kind."""
    if kind is Kind.ARRAY:
        return str(array_text(value)) if isinstance(value, list) else None
    return value if isinstance(value, str) else None


def _strings(own: Column, part: Range, values: Sequence[Sequence[Any]], order: Ints) -> Column:
    codes = {value: code for code, value in enumerate(own.values)}
    added = [
        np.array([NULL_CODE if text is None else codes.setdefault(text, len(codes)) for text in texts], np.int32)
        for texts in ([_text(value, own.kind) for value in column] for column in values)
    ]
    return Column(own.kind, np.concatenate([own.data[part.low : part.high], *added])[order], tuple(codes))


def _dropped(part: Range, count: int, order: Ints) -> NDArray[np.uint64] | None:
    """Results are never dropped."""
    dropped = part.columns.dropped
    if dropped is None:
        return None
    return np.concatenate([dropped[part.low : part.high], np.zeros(count - len(part), np.uint64)])[order]


def results_of(part: Range) -> NDArray[np.bool_] | None:
    """[n] which events are results of other queries; None where none is."""
    if not isinstance(part.columns, Composed):
        return None
    of: NDArray[np.bool_] = part.columns.result[part.low : part.high] != OF_STREAM
    return of if of.any() else None


def composition(part: Range) -> Mapping[str, Ints]:
    """The values of `Composed` for the events, by column of the rows."""
    own = part.columns
    if isinstance(own, Composed):
        found = {RESULT: own.result, FIRES: own.fires, DUE: own.due, COUNTED: own.counted}
        return {name: values[part.low : part.high] for name, values in found.items()}
    nothing = np.zeros(len(part), np.int64)
    return {RESULT: nothing, FIRES: part.seq, DUE: np.full(len(part), AT_ONCE), COUNTED: nothing}
