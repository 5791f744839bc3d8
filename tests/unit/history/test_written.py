"""Columns of Parquet as Spark gives them, with the types that their writers gave them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from saffron.history.written import as_written, unread

LONG, UTC, BERLIN = pa.int64(), pa.timestamp("us", "UTC"), pa.timestamp("us", "Europe/Berlin")
NANOS, DURATION = pa.timestamp("ns", "UTC"), pa.duration("us")


def struct(kind: pa.DataType) -> pa.DataType:
    return pa.struct([("x", kind), ("y", pa.string())])


@pytest.mark.parametrize(
    ("have", "written", "right"),
    [
        (LONG, NANOS, NANOS),
        (LONG, DURATION, DURATION),
        (UTC, BERLIN, BERLIN),
        (UTC, pa.timestamp("ms", "Europe/Berlin"), BERLIN),
        (UTC, pa.timestamp("ns"), pa.timestamp("us")),
        (LONG, LONG, LONG),
        (pa.decimal128(20, 0), pa.uint64(), pa.decimal128(20, 0)),
        (pa.string(), pa.dictionary(pa.int32(), pa.string()), pa.string()),
        (pa.list_(LONG), pa.list_(DURATION), pa.list_(DURATION)),
        (pa.list_(LONG), pa.large_list(NANOS), pa.list_(NANOS)),
        (struct(LONG), struct(DURATION), struct(DURATION)),
        (struct(LONG), pa.struct([("z", DURATION)]), struct(LONG)),
        (pa.map_(pa.string(), UTC), pa.map_(pa.string(), BERLIN), pa.map_(pa.string(), BERLIN)),
        (pa.list_(struct(LONG)), pa.list_(struct(NANOS)), pa.list_(struct(NANOS))),
    ],
)
def test_a_column_has_the_type_of_its_file_again(have: Any, written: pa.DataType, right: pa.DataType) -> None:
    columns: Any = pa.RecordBatch.from_arrays([pa.nulls(2, have), pa.array([1, 2])], names=["x", "day"])
    found = as_written(columns, pa.schema([("x", written)]))
    assert found.schema.types == [right, pa.int64()]


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.time32("ms"), pa.float16(), pa.decimal256(39, 0)])
def test_types_that_spark_does_not_read_are_known(kind: pa.DataType) -> None:
    for inside in (kind, pa.list_(kind), struct(kind), pa.map_(pa.string(), kind), pa.list_(struct(kind))):
        assert unread(inside)


@pytest.mark.parametrize("kind", [LONG, UTC, NANOS, DURATION, pa.float32(), pa.decimal256(38, 0), pa.date32()])
def test_types_that_spark_reads_are_known(kind: pa.DataType) -> None:
    for inside in (kind, pa.list_(kind), struct(kind), pa.map_(pa.string(), kind)):
        assert not unread(inside)
