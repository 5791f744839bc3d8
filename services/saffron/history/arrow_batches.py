"""Conversion of events between columns and the Arrow batches that Spark sorts and sends, without a loop over events.

A null is the kind's sentinel (see `Kind`), except for strings. Attributes are numbered, as Spark's names ignore case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from saffron.engine.events.columns import Column, Columns
from saffron.schema.schema import NULL_CODE, Kind, Schema


def attribute_name(schema: Schema, attribute: str) -> str:
    """The column of an attribute; "type" and "ts" keep their names."""
    return attribute if attribute in ("type", "ts") else f"a{list(schema.kinds).index(attribute)}"


def event_fields(schema: Schema) -> str:
    """The declaration of an event's columns, as Spark's DDL."""
    own = [f"a{number} {kind.sql_type}" for number, kind in enumerate(schema.kinds.values())]
    return ", ".join(["ts bigint", "latest bigint", "type string", *own])


def arrays_of(
    ts: NDArray[np.int64], latest: NDArray[np.int64] | None, kind: Column, attributes: Mapping[str, Column]
) -> dict[str, Any]:
    """Name -> Arrow array, for the columns of events."""
    columns = {"ts": pa.array(ts), "latest": pa.array(ts if latest is None else latest), "type": _array(kind)}
    return columns | {f"a{number}": _array(column) for number, column in enumerate(attributes.values())}


def columns_of(batch: pa.RecordBatch, schema: Schema) -> Columns:
    """The events of a batch that has their numbers ("seq") too."""

    def numbers(name: str, dtype: str = "int64") -> NDArray[Any]:
        return np.array(batch.column(name).to_numpy(zero_copy_only=False), dtype=dtype)

    def column(name: str, kind: Kind) -> Column:
        if kind.has_texts:
            return _strings(batch.column(name), kind)
        if kind is Kind.NUMBER:
            return _pairs(batch.column(name))
        return Column(kind, numbers(name, kind.dtype))

    attributes = {name: column(f"a{number}", kind.column) for number, (name, kind) in enumerate(schema.kinds.items())}
    ts, latest = numbers("ts"), numbers("latest")
    return Columns(
        seq=numbers("seq"),
        ts=ts,
        time=np.zeros(batch.num_rows, np.int64),
        type=_strings(batch.column("type")),
        attributes=attributes,
        latest=None if np.array_equal(ts, latest) else latest,
    )


def _array(column: Column) -> Any:
    """A column as an Arrow array."""
    if column.kind is Kind.NUMBER:
        data: NDArray[Any] = column.data
        parts = [pa.array(np.ascontiguousarray(data.real)), pa.array(np.ascontiguousarray(data.imag))]
        return pa.StructArray.from_arrays(parts, names=["nearest", "rest"])
    if not column.kind.has_texts:
        return pa.array(column.data)
    codes = column.data
    coded = pa.array(codes, pa.int32(), mask=np.less(codes, 0))
    return pa.DictionaryArray.from_arrays(coded, pa.array(column.values, pa.string())).dictionary_decode()


def _pairs(array: Any) -> Column:
    """A column of kind NUMBER from its Arrow structs."""
    pairs = np.empty(len(array), np.complex128)
    pairs.real, pairs.imag = (array.field(name).to_numpy(zero_copy_only=False) for name in ("nearest", "rest"))
    return Column(Kind.NUMBER, pairs)


def _strings(array: Any, kind: Kind = Kind.STRING) -> Column:
    """A column of strings, or of arrays, coded by a dictionary."""
    coded = array.dictionary_encode()
    codes = np.array(coded.indices.fill_null(NULL_CODE).to_numpy(zero_copy_only=False), dtype=np.int32)
    return Column(kind, codes, tuple(coded.dictionary.to_pylist()))
