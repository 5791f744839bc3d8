"""Blocks as bytes: one Arrow IPC stream a message, so that any Arrow reader opens it.

The fields, by position:

- "$seq", left out where it is dense; "$latest", left out where all times are exact;
- "$ts", "$time", "$type";
- "$dropped" and "$key", where there are any (the only uint64);
- "$trace", where there is any (the metadata then have "saffron.traced");
- the attributes by name.

Strings are dictionary-encoded, and so are the texts of arrays, as large strings. Numbers of kind NUMBER are 16 bytes,
two float64 (see `schema.numbers`). Nulls are Arrow nulls, with the kind's sentinel (see `Kind`) in the buffers under
them, so that reading is a copy of the buffers. The metadata of the Arrow schema have the format's version under
"saffron.version", and the rest as JSON (schemas/windows.yaml) under "saffron".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column, Columns, is_null
from saffron.engine.events.packed import PackedColumns
from saffron.errors import LogError
from saffron.schema.schema import NULL_CODE, Kind

VERSION = 1
_KEY = b"saffron"
_SEQ = "$seq"
_TS = "$ts"
_LATEST = "$latest"
_DROPPED = "$dropped"
_KEYS = "$key"
_TRACE = "$trace"
_VERSION_KEY = b"saffron.version"
_TRACED_KEY = b"saffron.traced"
_FIXED = 3
"""Number of columns that every block has."""
_SIZE = 4
"""Bytes of a size in an Arrow stream."""
_PAIR = pa.binary(16)
_ARROW = {
    kind: _PAIR if kind is Kind.NUMBER else pa.from_numpy_dtype(np.dtype(kind.dtype))
    for kind in Kind
    if kind is kind.column
}
_TEXTS = {Kind.STRING: pa.utf8(), Kind.ARRAY: pa.large_utf8()}
"""Kind -> Arrow's type of its texts, which distinguishes arrays from strings."""
_KIND = {arrow: kind for kind, arrow in _ARROW.items()}
_KIND |= {pa.dictionary(pa.int32(), texts): kind for kind, texts in _TEXTS.items()}

T = TypeVar("T")


def encode_block(block: Block) -> bytes:
    """The block as one message."""
    columns = block.columns
    if isinstance(columns, PackedColumns):
        return _with_header(columns.message, block)
    n = len(columns)
    dense = n == block.next_seq - block.first_seq
    fields: list[tuple[str, Any]] = []
    if not dense:
        fields.append((_SEQ, _int64(columns.seq)))
    if columns.latest is not None:
        fields.append((_LATEST, _int64(columns.latest)))
    fields += [(_TS, _int64(columns.ts)), ("$time", _int64(columns.time)), ("$type", _arrow(columns.type))]
    fields += [
        (name, pa.Array.from_buffers(pa.uint64(), n, [None, _buffer(bits)], 0))
        for name, bits in ((_DROPPED, columns.dropped), (_KEYS, columns.key))
        if bits is not None
    ]
    metadata = _metadata(block)
    if columns.trace is not None:
        fields.append((_TRACE, _arrow(columns.trace)))
        metadata[_TRACED_KEY] = b"1"
    fields += [(name, _arrow(column)) for name, column in columns.attributes.items()]
    schema = pa.schema([pa.field(name, array.type) for name, array in fields], metadata=metadata)
    batch = pa.RecordBatch.from_arrays([array for _, array in fields], schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def decode_block(message: bytes) -> Block:
    """The block in a message. Its arrays are writable copies, as kernels are compiled for those.

    Raises LogError where the message is torn, of another version, or no block.
    """
    return _whole(message, lambda: _block(message, packed=False))


def open_block(message: bytes) -> Block:
    """The block in a message, whose columns are decoded when they are first asked for (see `PackedColumns`).

    Raises LogError as `decode_block`. Where only columns are torn, it comes when they are asked for.
    """
    return _whole(message, lambda: _block(message, packed=True))


def _block(message: bytes, *, packed: bool) -> Block:
    """The block in a message. `packed`: its columns stay encoded if they are plain and its positions have no gaps.

    A torn message raises an error of Arrow or Python, of which `_whole` makes a LogError.
    """
    with pa.ipc.open_stream(message) as reader:
        schema = reader.schema
        header = _parse_header(schema.metadata)
        batch = reader.read_next_batch()
    first_seq, next_seq = header["first_seq"], header["next_seq"]
    if packed and _is_plain(schema) and batch.num_rows == next_seq - first_seq:
        decode = partial(_whole, message, lambda: _columns(batch, first_seq, next_seq))
        return Block(PackedColumns.of(message, batch.num_rows, decode), **header)
    return Block(_columns(batch, first_seq, next_seq), **header)


def _is_plain(schema: Any) -> bool:
    """True if the events have the columns of every block only, and attributes."""
    has_bits = len(schema) > _FIXED and schema.field(_FIXED).type == pa.uint64()
    return schema.field(0).name == _TS and not has_bits and _TRACED_KEY not in schema.metadata


def _whole(message: bytes, read: Callable[[], T]) -> T:
    """What `read` makes of a message; the errors of Arrow, and of what is not there, as LogError."""
    try:
        return read()
    except LogError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, IndexError, StopIteration) as error:
        raise LogError(f"a message of {len(message)} bytes is no whole block: {error}") from error


def _with_header(message: bytes, block: Block) -> bytes:
    """The message with the header of `block`, whose columns are those in it.

    An Arrow stream is a message with the schema, which has the header, then those with columns. A message begins with
    a mark and its size, of four bytes each.
    """
    with pa.ipc.open_stream(message) as reader:
        schema = reader.schema
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema.with_metadata(_metadata(block))):
        pass
    begin = 2 * _SIZE + int.from_bytes(message[_SIZE : 2 * _SIZE], "little")
    return sink.getvalue().to_pybytes()[: -2 * _SIZE] + message[begin:]


def _metadata(block: Block) -> dict[bytes | str, bytes | str]:
    return {_VERSION_KEY: str(VERSION).encode(), _KEY: orjson.dumps(_header(block))}


def _header(block: Block) -> dict[str, Any]:
    """The header of a block, as JSON values, under "saffron" in the message's metadata (schemas/windows.yaml)."""
    features = {str(key): list(vector) for key, vector in block.features.items()}
    return {
        "kind": "block",
        "claim": block.claim,
        "counter": block.counter,
        "first_seq": block.first_seq,
        "next_seq": block.next_seq,
        "watermark": block.watermark,
        "end": block.end,
        "controls": [
            {"position": control.position, "kind": control.kind, "body": control.body} for control in block.controls
        ],
        "opened": block.opened,
        "input": block.input,
        **({"features": features} if features else {}),
    }


def _parse_header(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """The fields of a `Block` other than columns, from the metadata of its Arrow message.

    Raises LogError for a message that Saffron did not write, or of another format version.
    """
    if not metadata or _KEY not in metadata:
        raise LogError("an Arrow message without a header of Saffron's: it was not written by `windowing` or `shedder`")
    version = metadata.get(_VERSION_KEY, b"?").decode("utf-8", "replace")
    if version != str(VERSION):
        raise LogError(
            f"a block of format {version}, and this version of Saffron reads {VERSION}: "
            "upgrade every service before the one that writes"
        )
    data = orjson.loads(metadata[_KEY])
    return {
        **{name: data[name] for name in ("first_seq", "next_seq", "watermark", "claim", "counter", "end", "input")},
        "controls": tuple(Control(item["position"], item["kind"], item["body"]) for item in data["controls"]),
        "opened": {name: tuple(positions) for name, positions in data["opened"].items()},
        "features": {int(key): tuple(vector) for key, vector in data.get("features", {}).items()},
    }


def _buffer(data: Any) -> pa.Buffer:
    array: Any = np.ascontiguousarray(data)
    return pa.py_buffer(array)


def _int64(data: NDArray[np.int64]) -> Any:
    return pa.Array.from_buffers(pa.int64(), len(data), [None, _buffer(data)])


def _arrow(column: Column) -> Any:
    data = np.ascontiguousarray(column.data)
    nulls = is_null(column.kind, data)
    count = int(np.count_nonzero(nulls))
    validity = _buffer(np.packbits(~nulls, bitorder="little")) if count else None
    array: Any = pa.Array.from_buffers(_ARROW[column.kind], len(data), [validity, _buffer(data)], count)
    if not column.kind.has_texts:
        return array
    return pa.DictionaryArray.from_arrays(array, _texts(column.values, _TEXTS[column.kind]), safe=False)


def _texts(values: tuple[str, ...], kind: Any) -> Any:
    """The strings as an array. (`pa.array` would import pandas, if it is there, which takes a second.)"""
    joined = "".join(values)
    data = joined.encode()
    parts = values if len(data) == len(joined) else [value.encode() for value in values]
    width = np.int32 if kind == pa.utf8() else np.int64
    bounds = np.fromiter(accumulate(map(len, parts), initial=0), width, len(values) + 1)
    return pa.Array.from_buffers(kind, len(values), [None, _buffer(bounds), pa.py_buffer(data)], 0)


def _columns(batch: Any, first_seq: int, next_seq: int) -> Columns:
    """The columns of a block. LogError: its positions do not fit its number of events."""
    fields = list(zip(batch.schema.names, batch.columns, strict=True))
    if fields[0][0] == _SEQ:
        seq = _copy(fields.pop(0)[1], np.dtype(np.int64))
    elif next_seq - first_seq == batch.num_rows:
        seq = np.arange(first_seq, next_seq, dtype=np.int64)
    else:
        raise LogError(f"a block of {batch.num_rows} events that covers {next_seq - first_seq}")
    latest = _copy(fields.pop(0)[1], np.dtype(np.int64)) if fields[0][0] == _LATEST else None
    (_, ts), (_, time), (_, kind) = fields[:_FIXED]
    del fields[:_FIXED]
    bits = {}
    while fields and fields[0][1].type == pa.uint64():
        name, array = fields.pop(0)
        bits[name] = _copy(array, np.dtype(np.uint64))
    traced = _TRACED_KEY in (batch.schema.metadata or {})
    trace = _column(fields.pop(0)[1]) if traced else None
    return Columns(
        seq=seq,
        ts=_copy(ts, np.dtype(np.int64)),
        time=_copy(time, np.dtype(np.int64)),
        type=_column(kind),
        attributes={name: _column(array) for name, array in fields},
        dropped=bits.get(_DROPPED),
        latest=latest,
        key=bits.get(_KEYS),
        trace=trace,
    )


def _column(array: Any) -> Column:
    """A column from an Arrow array. LogError: a string code lies outside the dictionary."""
    kind = _KIND[array.type]
    if not kind.has_texts:
        return Column(kind, _copy(array, np.dtype(kind.dtype)))
    codes = _copy(array.indices, np.dtype(np.int32))
    array.dictionary.validate(full=True)
    values = tuple(array.dictionary.to_pylist())
    if len(codes) and not NULL_CODE <= int(codes.min()) <= int(codes.max()) < len(values):
        raise LogError("a block's string codes lie outside its dictionary")
    return Column(kind, codes, values)


def _copy(array: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    data: Any = array.buffers()[1]
    if data is None or data.size < (array.offset + len(array)) * dtype.itemsize:
        if len(array) == 0:
            return np.empty(0, dtype=dtype)
        raise LogError("a block's column is cut short")
    return np.frombuffer(data, dtype=dtype, count=len(array), offset=array.offset * dtype.itemsize).copy()
