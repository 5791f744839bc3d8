"""Blocks as bytes: one Arrow IPC stream a message, so that any Arrow reader opens it.

Fields, by position: "$seq" (left out where it is dense), "$ts", "$time", "$type", "$dropped" (where there is a mask),
then the attributes by name. Strings are dictionary-encoded. Nulls are Arrow nulls, and under them the buffers hold the
kind's sentinel (see `Kind`), so that reading is a copy of the buffers. All else is JSON in the schema's metadata, under
the key "saffron"; `peek_header` reads that alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.schema import NULL_CODE, NULL_INT, Kind
from saffron.errors import LogError

VERSION = 1
_KEY = b"saffron"
_ARROW = {Kind.INT: pa.int64(), Kind.FLOAT: pa.float64(), Kind.BOOL: pa.int8(), Kind.STRING: pa.int32()}
_CODE = pa.dictionary(pa.int32(), pa.utf8())
_KIND = {pa.int64(): Kind.INT, pa.float64(): Kind.FLOAT, pa.int8(): Kind.BOOL, _CODE: Kind.STRING}


@dataclass(frozen=True)
class Header:
    """A block but for its columns: see `Block` for the meaning of each part. `events`: how many it holds."""

    first_seq: int
    next_seq: int
    watermark: int
    claim: int
    counter: int
    end: bool
    controls: tuple[Control, ...]
    opened: Mapping[str, tuple[int, ...]]
    input: Mapping[str, Any]
    dense: bool
    masked: bool

    @property
    def next_counter(self) -> int:
        """The counter that the block after this one must carry."""
        return self.counter + (self.next_seq - self.first_seq) + len(self.controls)


def encode_block(block: Block) -> bytes:
    """The block as one message."""
    columns = block.columns
    n = len(columns)
    dense = n == block.next_seq - block.first_seq
    fields: list[tuple[str, pa.Array]] = []
    if not dense:
        fields.append(("$seq", _whole(columns.seq)))
    fields += [("$ts", _whole(columns.ts)), ("$time", _whole(columns.time)), ("$type", _arrow(columns.type))]
    if columns.dropped is not None:
        fields.append(("$dropped", pa.array(columns.dropped)))
    fields += [(name, _arrow(column)) for name, column in columns.attributes.items()]
    header = orjson.dumps(_header(block, dense=dense))
    schema = pa.schema([pa.field(name, array.type) for name, array in fields], metadata={_KEY: header})
    batch = pa.RecordBatch.from_arrays([array for _, array in fields], schema=schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def decode_block(message: bytes) -> Block:
    """The block in a message. Its arrays are writable copies, as kernels are compiled for those.

    Raises LogError where the message is torn, of another version, or no block.
    """
    try:
        with pa.ipc.open_stream(message) as reader:
            header = _parse_header(reader.schema.metadata)
            batch = reader.read_next_batch()
        columns = _columns(batch, header)
    except LogError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, IndexError, StopIteration) as error:
        raise LogError(f"a message of {len(message)} bytes is no whole block: {error}") from error
    return Block(
        columns=columns,
        first_seq=header.first_seq,
        next_seq=header.next_seq,
        watermark=header.watermark,
        claim=header.claim,
        counter=header.counter,
        end=header.end,
        controls=header.controls,
        opened=header.opened,
        input=header.input,
    )


def peek_header(message: bytes) -> Header:
    """The header alone, without the columns; LogError as `decode_block`."""
    try:
        with pa.ipc.open_stream(message) as reader:
            return _parse_header(reader.schema.metadata)
    except LogError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise LogError(f"a message of {len(message)} bytes is no block: {error}") from error


def _header(block: Block, *, dense: bool) -> dict[str, Any]:
    return {
        "v": VERSION,
        "seq": [block.first_seq, block.next_seq],
        "watermark": block.watermark,
        "claim": block.claim,
        "counter": block.counter,
        "end": block.end,
        "controls": [[control.position, control.kind, control.body] for control in block.controls],
        "opened": block.opened,
        "input": block.input,
        "dense": dense,
        "masked": block.columns.dropped is not None,
    }


def _parse_header(metadata: Mapping[bytes, bytes] | None) -> Header:
    if not metadata or _KEY not in metadata:
        raise LogError("an Arrow message without a header of Saffron's: it was not written by `windowing` or `shedder`")
    data = orjson.loads(metadata[_KEY])
    if data["v"] != VERSION:
        raise LogError(
            f"a block of format {data['v']}, and this version of Saffron reads {VERSION}: "
            "upgrade every service before the one that writes"
        )
    return Header(
        first_seq=data["seq"][0],
        next_seq=data["seq"][1],
        watermark=data["watermark"],
        claim=data["claim"],
        counter=data["counter"],
        end=data["end"],
        controls=tuple(Control(position, kind, body) for position, kind, body in data["controls"]),
        opened={name: tuple(positions) for name, positions in data["opened"].items()},
        input=data["input"],
        dense=data["dense"],
        masked=data["masked"],
    )


def _whole(data: NDArray[np.int64]) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(data), [None, pa.py_buffer(np.ascontiguousarray(data))])


def _arrow(column: Column) -> pa.Array:
    data = np.ascontiguousarray(column.data)
    nulls = _nulls(column.kind, data)
    count = int(np.count_nonzero(nulls))
    validity = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if count else None
    array = pa.Array.from_buffers(_ARROW[column.kind], len(data), [validity, pa.py_buffer(data)], count)
    if column.kind is not Kind.STRING:
        return array
    return pa.DictionaryArray.from_arrays(array, pa.array(column.values, type=pa.utf8()), safe=False)


def _nulls(kind: Kind, data: NDArray[Any]) -> NDArray[np.bool_]:
    if kind is Kind.FLOAT:
        return np.isnan(data)
    if kind is Kind.INT:
        return np.equal(data, NULL_INT)
    return np.less(data, 0)


def _columns(batch: pa.RecordBatch, header: Header) -> Columns:
    arrays = list(batch.columns)
    names = batch.schema.names
    arrays.reverse()  # so that pop() takes them in order
    n = batch.num_rows
    if header.dense:
        if header.next_seq - header.first_seq != n:
            raise LogError(f"a block of {n} events claims to cover {header.next_seq - header.first_seq}")
        seq = np.arange(header.first_seq, header.next_seq, dtype=np.int64)
    else:
        seq = _copy(arrays.pop(), np.dtype(np.int64))
    ts = _copy(arrays.pop(), np.dtype(np.int64))
    time = _copy(arrays.pop(), np.dtype(np.int64))
    kind = _column(arrays.pop())
    dropped = _copy(arrays.pop(), np.dtype(np.uint64)) if header.masked else None
    attributes = {name: _column(array) for name, array in zip(names[-len(arrays) :], reversed(arrays), strict=True)}
    return Columns(seq, ts, time, kind, attributes if arrays else {}, dropped)


def _column(array: pa.Array) -> Column:
    kind = _KIND[array.type]
    if kind is not Kind.STRING:
        dtype = {Kind.INT: np.int64, Kind.FLOAT: np.float64, Kind.BOOL: np.int8}[kind]
        return Column(kind, _copy(array, np.dtype(dtype)))
    codes = _copy(array.indices, np.dtype(np.int32))
    values = tuple(array.dictionary.to_pylist())
    if len(codes) and not NULL_CODE <= int(codes.min()) <= int(codes.max()) < len(values):
        raise LogError("a block's string codes lie outside its dictionary")
    return Column(kind, codes, values)


def _copy(array: pa.Array, dtype: np.dtype[Any]) -> NDArray[Any]:
    data = array.buffers()[1]
    if data is None or data.size < (array.offset + len(array)) * dtype.itemsize:
        if len(array) == 0:
            return np.empty(0, dtype=dtype)
        raise LogError("a block's column is cut short")
    return np.frombuffer(data, dtype=dtype, count=len(array), offset=array.offset * dtype.itemsize).copy()
