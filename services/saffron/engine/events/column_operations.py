"""Operations on columns: slices, concatenation, and strings without a use dropped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.rests import rests_of
from saffron.schema.numbers import LIMIT, plain, value_of_pair
from saffron.schema.schema import NULL_CODE, NULL_INT, Kind, Schema

Bits = NDArray[np.uint64]


def empty_columns(schema: Schema | None) -> Columns:
    """Columns of no events, with the attributes of `schema`."""
    kinds = {} if schema is None else schema.kinds
    whole = np.empty(0, dtype=np.int64)
    attributes = {name: Column(kind.column, np.empty(0, dtype=kind.dtype)) for name, kind in kinds.items()}
    return Columns(whole, whole.copy(), whole.copy(), Column(Kind.STRING, np.empty(0, dtype=np.int32)), attributes)


def slice_columns(columns: Columns, start: int, stop: int) -> Columns:
    """Events start..stop-1; the arrays are views, the strings those of the whole."""
    return _at(columns, slice(start, stop))


def take_columns(columns: Columns, rows: NDArray[np.int64]) -> Columns:
    """Events `rows` (int64 [m] indices), in that order."""
    return _at(columns, rows)


def _at(columns: Columns, rows: slice | NDArray[np.int64]) -> Columns:
    """The events at these rows, with the strings of the whole. A slice gives views of the arrays, indices copies."""
    return Columns(
        seq=columns.seq[rows],
        ts=columns.ts[rows],
        time=columns.time[rows],
        type=replace(columns.type, data=columns.type.data[rows]),
        attributes={name: replace(column, data=column.data[rows]) for name, column in columns.attributes.items()},
        dropped=None if columns.dropped is None else columns.dropped[rows],
        latest=None if columns.latest is None else columns.latest[rows],
        key=None if columns.key is None else columns.key[rows],
        trace=None if columns.trace is None else replace(columns.trace, data=columns.trace.data[rows]),
    )


def concat_columns(parts: Sequence[Columns]) -> Columns:
    """Columns that hold the events of all parts, one part after the other.

    At least one part; all have one schema. Strings get new codes where the parts have different ones.
    """
    if len(parts) == 1:
        return parts[0]
    names = parts[0].attributes
    latest = None
    if any(part.latest is not None for part in parts):
        latest = np.concatenate([part.ts if part.latest is None else part.latest for part in parts])
    return Columns(
        seq=np.concatenate([part.seq for part in parts]),
        ts=np.concatenate([part.ts for part in parts]),
        time=np.concatenate([part.time for part in parts]),
        type=concat_column([part.type for part in parts]),
        attributes={name: concat_column([part.attributes[name] for part in parts]) for name in names},
        dropped=_concat_bits(parts, [part.dropped for part in parts]),
        latest=latest,
        key=_concat_bits(parts, [part.key for part in parts]),
        trace=_concat_traces(parts),
    )


def _concat_bits(parts: Sequence[Columns], bits: Sequence[Bits | None]) -> Bits | None:
    """The bits of all parts, zeros for a part without any; None if no part has any."""
    if all(own is None for own in bits):
        return None
    filled = [np.zeros(len(part), np.uint64) if own is None else own for part, own in zip(parts, bits, strict=True)]
    return np.concatenate(filled)


def _concat_traces(parts: Sequence[Columns]) -> Column | None:
    """The trace contexts of all parts, nulls for a part without any; None if no part has any."""
    if all(part.trace is None for part in parts):
        return None
    return concat_column(
        [
            Column(Kind.STRING, np.full(len(part), NULL_CODE, dtype=np.int32)) if part.trace is None else part.trace
            for part in parts
        ]
    )


def string_column(texts: Sequence[str | None]) -> Column:
    """A string column of these texts."""
    codes: dict[str, int] = {}
    data = [NULL_CODE if text is None else codes.setdefault(text, len(codes)) for text in texts]
    return Column(Kind.STRING, np.array(data, dtype=np.int32), tuple(codes))


def concat_column(parts: Sequence[Column]) -> Column:
    """One column of all parts, which are of one kind."""
    kind = parts[0].kind
    if not kind.has_texts or all(part.values is parts[0].values for part in parts):
        return Column(kind, np.concatenate([part.data for part in parts]), parts[0].values)
    codes: dict[str, int] = {}
    coded = []
    for part in parts:
        # The last entry is for null, which -1 indexes.
        renamed = [codes.setdefault(value, len(codes)) for value in part.values]
        coded.append(np.array([*renamed, NULL_CODE], dtype=np.int32)[part.data])
    return Column(kind, np.concatenate(coded), tuple(codes))


def converted(column: Column, kind: Kind) -> Column:
    """The values that a kind has as a column of that kind; others are null. A wider kind (`schema.widened`) has all."""
    kind = kind.column
    if column.kind is kind:
        return column
    data: NDArray[Any] = np.full(len(column.data), kind.null, kind.dtype)
    if not (column.kind.is_number and kind.is_number):
        return Column(kind, data)
    nearest, rests = _pairs(column)
    whole = (nearest == np.floor(nearest)) & (np.abs(nearest) < LIMIT) if kind is Kind.INT else rests == 0.0
    if kind is Kind.NUMBER:
        here = ~np.isnan(nearest)
        data.real[here], data.imag[here] = nearest[here], rests[here]
    elif kind is Kind.FLOAT:
        data[whole] = nearest[whole]
    else:
        apart = (rests != 0.0) & ~np.isnan(nearest)
        data[whole & ~apart] = nearest[whole & ~apart].astype(np.int64)
        numbers = zip(nearest[apart].tolist(), rests[apart].tolist(), strict=True)
        data[apart] = [int(number) + int(rest) for number, rest in numbers]
    return Column(kind, data)


def _pairs(column: Column) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[n] the nearest float64 of each number, NaN for null, and the rest."""
    data: NDArray[Any] = column.data
    if column.kind is Kind.INT:
        whole = data.astype(np.int64)
        return np.where(whole == NULL_INT, np.nan, whole.astype(np.float64)), rests_of(whole)
    nearest, rests = np.array(data.real, np.float64), np.array(data.imag, np.float64)
    return nearest, np.where(np.isnan(nearest), 0.0, rests)


def conformed(columns: Columns, schema: Schema) -> Columns:
    """The events with all attributes of a schema, which is at least as wide as theirs; new attributes are null."""
    held = columns.attributes
    if all(name in held and held[name].kind is kind.column for name, kind in schema.kinds.items()):
        return columns
    attributes = dict(held)
    for name, kind in schema.kinds.items():
        known = held.get(name)
        null = Column(kind.column, np.full(len(columns), kind.null, kind.dtype))
        attributes[name] = null if known is None else converted(known, kind)
    return replace(columns, attributes=attributes)


def pruned(column: Column) -> Column:
    """The column with only those strings that it uses, in the order of their codes."""
    if not column.kind.has_texts or not column.values:
        return column
    used = np.zeros(len(column.values) + 1, dtype=np.bool_)  # the last one is for null, which -1 indexes
    used[column.data] = True
    used[-1] = False
    if used[:-1].all():
        return column
    renamed = np.cumsum(used, dtype=np.int32) - 1
    renamed[-1] = NULL_CODE
    values = tuple(column.values[code] for code in np.flatnonzero(used).tolist())
    return Column(column.kind, renamed[column.data].astype(np.int32, copy=False), values)


def prune_columns(columns: Columns) -> Columns:
    """The events with pruned string columns, which have only the strings that they use."""
    attributes = {name: pruned(column) for name, column in columns.attributes.items()}
    trace = None if columns.trace is None else pruned(columns.trace)
    return replace(columns, type=pruned(columns.type), attributes=attributes, trace=trace)


def bytes_at_most(columns: Columns) -> int:
    """An upper bound of the bytes of the events in a message, quick to compute; for long texts up to four times."""
    numbers = [columns.seq, columns.ts, columns.time, columns.dropped, columns.latest, columns.key]
    own = [columns.type, *columns.attributes.values(), *([] if columns.trace is None else [columns.trace])]
    bits = len(columns) // 8 + 64  # of nulls, and padding between buffers
    fixed = sum(one.nbytes + bits for one in (*numbers, *(column.data for column in own)) if one is not None)
    return fixed + sum(4 * (len(column.values) + sum(map(len, column.values))) for column in own)


def column_values(column: Column) -> list[Any]:
    """The column as Python values, None for null (for tests, results and messages; slow)."""
    data = column.data.tolist()
    if column.kind is Kind.ARRAY:
        return [None if code < 0 else orjson.loads(column.values[code]) for code in data]
    if column.kind is Kind.STRING:
        return [None if code < 0 else column.values[code] for code in data]
    if column.kind is Kind.BOOL:
        return [None if flag < 0 else bool(flag) for flag in data]
    if column.kind is Kind.INT:
        return [None if number == NULL_INT else number for number in data]
    if column.kind is Kind.NUMBER:
        return [value_of_pair(pair) for pair in data]
    return [None if math.isnan(number) else plain(number) for number in data]
