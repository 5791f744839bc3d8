"""The types of a Parquet file's columns as their writer gave them, where Spark reads them as others.

Spark has no nanoseconds, durations, or zones of a column. It reads the first two as whole numbers, and times in UTC.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MAGIC = b"PAR1"
_TAIL = 8
"""Bytes at a file's end: the length of its footer, and the mark of the format."""
_LARGEST_DECIMAL = 38


def written_schema(session: SparkSession, uri: str) -> pa.Schema:
    """The schema of a file, of which only the footer is read. ValueError, OSError: it is no Parquet file."""
    context: Any = session.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(context._jvm.java.net.URI(uri))
    system = path.getFileSystem(context._jsc.hadoopConfiguration())
    length = system.getFileStatus(path).getLen()

    def end(size: int) -> bytes:
        stream = system.open(path)
        try:
            stream.seek(max(0, length - size))
            return bytes(context._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    footer = int.from_bytes(end(_TAIL)[:4], "little")
    return pq.read_metadata(pa.BufferReader(_MAGIC + end(footer + _TAIL))).schema.to_arrow_schema()


def unread(kind: pa.DataType) -> bool:
    """True for a type that Spark does not read, or that has such a part."""
    if pa.types.is_nested(kind):
        return any(unread(kind.field(at).type) for at in range(kind.num_fields))
    decimal = pa.types.is_decimal(kind) and kind.precision > _LARGEST_DECIMAL
    return decimal or pa.types.is_time(kind) or pa.types.is_float16(kind)


def as_written(columns: pa.RecordBatch, written: pa.Schema) -> pa.RecordBatch:
    """Columns as Spark gives them, with the types of the file that they are from."""
    kinds = {field.name: field.type for field in written}
    arrays = [
        array.cast(_restored(array.type, kinds[name])) if name in kinds else array
        for name, array in zip(columns.schema.names, columns.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=columns.schema.names)


def _restored(have: pa.DataType, kind: pa.DataType) -> pa.DataType:
    """The type of a column that Spark has as `have`, where its file has `kind`."""
    if pa.types.is_int64(have) and (pa.types.is_duration(kind) or pa.types.is_timestamp(kind)):
        return kind
    if pa.types.is_timestamp(have) and pa.types.is_timestamp(kind):
        return pa.timestamp(have.unit, kind.tz)
    if pa.types.is_map(have) and pa.types.is_map(kind):
        return pa.map_(_restored(have.key_type, kind.key_type), _restored(have.item_type, kind.item_type))
    if pa.types.is_list(have) and pa.types.is_nested(kind) and kind.num_fields == 1:
        return pa.list_(have.value_field.with_type(_restored(have.value_type, kind.field(0).type)))
    if pa.types.is_struct(have) and pa.types.is_struct(kind):
        kinds = {field.name: field.type for field in kind}
        return pa.struct([field.with_type(_restored(field.type, kinds.get(field.name, field.type))) for field in have])
    return have
