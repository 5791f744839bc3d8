"""Tables as JSON events, row by row: CSV and Parquet."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from saffron.engine.events.as_json import as_json
from saffron.engine.events.infer import INFER_EVENTS
from saffron.engine.events.schema import Kind, Schema
from saffron.errors import InputError

Rows = tuple[list[bytes], list[int]]
"""JSON events, and the 1-based number of the row or line of each."""

BATCH_ROWS = 8192

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", flags=re.ASCII)
_FLAGS = {"true": b"true", "false": b"false"}


class _Cells(Enum):
    """How the cells of a CSV column are written as JSON."""

    NUMBERS = "numbers"
    FLAGS = "flags"
    STRINGS = "strings"
    TIMES = "times"  # `ts`: numbers or text


def csv_events(name: str, blocks: Iterable[bytes], schema: Schema | None) -> Iterator[Rows]:
    """The rows of a CSV file with a header line, UTF-8, commas, quotes doubled inside quotes.

    Empty cells are null. A column whose cells in the first 10,000 rows are all numbers (all true or false) is one of
    numbers (booleans), else of strings, unless a `schema` says what it is; `type` is always a string. A number is
    written as it stands. A cell that does not fit its column becomes a string, a row with more cells than the header
    an array: the rules for events then deal with them. Raises InputError for a file without a usable header.
    """
    reader = csv.reader(_text_lines(name, blocks))
    header = _header(name, reader)
    rows = ((row, reader.line_num) for row in _checked(name, reader) if row)
    sample = list(islice(rows, INFER_EVENTS))
    columns = [_cells_of(column, place, sample, schema) for place, column in enumerate(header)]
    names = [orjson.dumps(column) + b":" for column in header]
    everything = chain(sample, rows)
    while batch := list(islice(everything, BATCH_ROWS)):
        yield [_csv_event(row, names, columns) for row, _ in batch], [line for _, line in batch]


def parquet_events(name: str, source: Path | bytes) -> Iterator[Rows]:
    """The rows of a Parquet file; a `ts` that is a timestamp becomes milliseconds, other ones ISO 8601 text."""
    file = pq.ParquetFile(pa.BufferReader(source) if isinstance(source, bytes) else source)
    return table_events(name, file.schema_arrow.names, file.iter_batches(batch_size=BATCH_ROWS))


def table_events(name: str, columns: Sequence[str], batches: Iterable[pa.RecordBatch]) -> Iterator[Rows]:
    """The rows of Arrow batches, as of a Parquet file's; `name` is what an error calls the table."""
    if "type" not in columns:
        raise InputError(f"{name}: has no column 'type', which names the type of each event")
    row = 1
    for batch in batches:
        plain = {column: _plain(column, array) for column, array in zip(batch.schema.names, batch.columns, strict=True)}
        events = [orjson.dumps(event, default=as_json) for event in pa.RecordBatch.from_pydict(plain).to_pylist()]
        yield events, list(range(row, row + len(events)))
        row += len(events)


def _text_lines(name: str, blocks: Iterable[bytes]) -> Iterator[str]:
    """Lines with their ends, so that quoted cells may hold line ends."""
    rest = b""
    number = 0
    for block in chain(blocks, [b""]):
        data = rest + block
        end = len(data) if not block else data.rfind(b"\n") + 1
        for line in data[:end].splitlines(keepends=True):  # of bytes: only at \n, \r and \r\n
            number += 1
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{name}, line {number}: is not UTF-8 ({error.reason}); convert the file first"
                ) from None
        rest = data[end:]


def _header(name: str, reader: Iterator[list[str]]) -> list[str]:
    header = [column.strip() for column in next(_checked(name, reader), [])]
    if "type" not in header:
        raise InputError(f"{name}: the header line names no column 'type', but {', '.join(header) or 'nothing'}")
    twice = {column for column in header if header.count(column) > 1}
    if twice:
        raise InputError(f"{name}: the header line names {', '.join(sorted(twice))} twice")
    return header


def _checked(name: str, reader: Iterator[list[str]]) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise InputError(f"{name}, line {getattr(reader, 'line_num', 0)}: is not CSV: {error}") from error


def _cells_of(name: str, place: int, sample: list[tuple[list[str], int]], schema: Schema | None) -> _Cells:
    if name in ("type", "ts"):
        return _Cells.STRINGS if name == "type" else _Cells.TIMES
    if schema is not None and name in schema.kinds:
        kind = schema.kinds[name]
        return _Cells.STRINGS if kind is Kind.STRING else _Cells.FLAGS if kind is Kind.BOOL else _Cells.NUMBERS
    cells = [row[place] for row, _ in sample if place < len(row) and row[place]]
    if cells and all(_NUMBER.fullmatch(cell) for cell in cells):
        return _Cells.NUMBERS
    return _Cells.FLAGS if cells and all(cell.lower() in _FLAGS for cell in cells) else _Cells.STRINGS


def _csv_event(row: list[str], names: list[bytes], columns: list[_Cells]) -> bytes:
    if len(row) > len(names):
        return orjson.dumps(row)
    cells = [_json_cell(cell, kind) for cell, kind in zip(row, columns, strict=False)]
    return b"{" + b",".join(name + cell for name, cell in zip(names, cells, strict=False)) + b"}"


def _json_cell(cell: str, kind: _Cells) -> bytes:
    if not cell:
        return b"null"
    if kind in (_Cells.NUMBERS, _Cells.TIMES) and _NUMBER.fullmatch(cell):
        return cell.encode()
    if kind is _Cells.FLAGS and cell.lower() in _FLAGS:
        return _FLAGS[cell.lower()]
    return orjson.dumps(cell)


def _plain(name: str, array: Any) -> Any:
    """The column with timestamps in a form that JSON can carry."""
    if not pa.types.is_timestamp(array.type):
        return array
    if name == "ts":
        return array.cast(pa.timestamp("ms", tz=array.type.tz), safe=False).cast(pa.int64())
    return array.cast(pa.timestamp("us", tz=array.type.tz), safe=False)
