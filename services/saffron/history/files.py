"""Input files, listed by Spark (directories, globs, any file system it knows), and their events as pieces.

The order of arrival is that of the arguments, then of the file names of each, then of the events in a file. Many tasks
read Parquet and plain JSON lines in blocks. One task reads each compressed file and each CSV file, whose cells may
contain line ends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import orjson
import pyarrow as pa

from saffron.engine.events.decoding.growth import joined
from saffron.engine.events.decoding.infer import INFER_EVENTS, infer_schema
from saffron.engine.events.decoding.newest import newest
from saffron.engine.events.formats.files import read_content
from saffron.engine.events.formats.tabular import table_events
from saffron.engine.events.raw import RawBatch, batch_of_values, trim_lines
from saffron.engine.events.schema_record import schema_from_record, schema_to_record
from saffron.errors import InputError
from saffron.history.decoding import Piece
from saffron.history.written import as_written, unread, written_schema
from saffron.schema.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LINES, TABLE, WHOLE = "lines", "table", "whole"
_KINDS: Mapping[str, tuple[str, ...]] = {
    LINES: ("ndjson", "jsonl", "json"),
    TABLE: ("parquet",),
    WHOLE: ("csv", "gz", "zst"),
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
Pieces = Callable[[Iterable[pa.RecordBatch]], Iterator[Piece]]


@dataclass(frozen=True)
class File:
    """A file. `number`: its index in the order of arrival; `place`: the index of its argument; `uri`: Spark's name.

    `written`: the schema of a Parquet file.
    """

    number: int
    argument: str
    place: int
    uri: str
    kind: str
    written: pa.Schema | None = None

    @property
    def name(self) -> str:
        """The name as a user writes it."""
        return _name(self.uri)


@dataclass(frozen=True)
class FileGroup:
    """The files of one argument and kind: the frame that Spark reads, and the function from its batches to pieces."""

    frame: DataFrame
    pieces: Pieces


def listed(session: SparkSession, arguments: Sequence[str]) -> list[File]:
    """All files in the order of arrival; InputError for an argument without files, or a file of unknown kind."""
    found: list[File] = []
    for place, argument in enumerate(arguments):
        rows = session.read.format("binaryFile").load(argument).select("_metadata.file_path").collect()
        if not rows:
            raise InputError(f"{argument}: no files there (names that begin with . or _ are left out)")
        for uri in sorted(row[0] for row in rows):
            kind = _kind(uri)
            written = _written(session, uri) if kind == TABLE else None
            found.append(File(len(found), argument, place, uri, kind, written))
    return found


def _written(session: SparkSession, uri: str) -> pa.Schema:
    """The schema of a Parquet file; InputError if it has none, or a column that Spark cannot read."""
    try:
        schema = written_schema(session, uri)
    except (ValueError, OSError) as error:
        raise InputError(f"{_name(uri)}: no Parquet file: {error}") from error
    for field in schema:
        if unread(field.type):
            raise InputError(
                f"{_name(uri)}: column {field.name!r} has the type {field.type}, which Spark does not read. "
                "`saffron replay` does; or write the column as text"
            )
    return schema


def _kind(uri: str) -> str:
    """The kind of a file by its ending; InputError for an unknown one."""
    ending = uri.rsplit(".", 1)[-1]
    for kind, endings in _KINDS.items():
        if ending in endings:
            return kind
    known = ", ".join(f".{one}" for one in (*_KINDS[LINES], *_KINDS[TABLE], "csv"))
    raise InputError(
        f"{_name(uri)}: unknown kind of file; known are {known}, each also .zst or .gz. "
        "Name the files (a pattern as DIR/*.parquet does) rather than the directory"
    )


def _name(uri: str) -> str:
    """The path of a local file, else the decoded URI."""
    return re.sub("^file:/+", "/", unquote(uri))


def parts_of(session: SparkSession, files: Sequence[File], schema: Schema | None) -> Iterator[FileGroup]:
    """The parts to read. `schema`: as given by the user, which decides the cells of a CSV file that are strings."""
    for place, kind in sorted({(file.place, file.kind) for file in files}):
        chosen = [file for file in files if (file.place, file.kind) == (place, kind)]
        numbers = {file.uri: file.number for file in chosen}
        reader = session.read.option("pathGlobFilter", f"*.{{{','.join(_KINDS[kind])}}}")
        argument = chosen[0].argument
        if kind == LINES:
            read = reader.option("lineSep", "\n").text(argument)
            columns = ("cast(value as binary) as value", "_metadata.file_block_start as block")
            yield FileGroup(read.selectExpr(*columns, _FILE), line_pieces(numbers))
        elif kind == TABLE:
            read = reader.option("mergeSchema", "true").parquet(argument)
            if "type" not in read.columns:
                raise InputError(f"{argument}: has no column 'type', which names the type of each event")
            schemas = {file.uri: file.written for file in chosen if file.written is not None}
            rows = read.selectExpr("*", "_metadata.row_index as `$row`", _FILE)
            yield FileGroup(rows, table_pieces(numbers, schemas))
        else:
            read = reader.format("binaryFile").load(argument)
            yield FileGroup(read.selectExpr("content", _FILE), whole_pieces(numbers, schema))


_FILE = "_metadata.file_path as `$file`"


def inferred_schema(session: SparkSession, files: Sequence[File]) -> Schema:
    """The inferred schema of all events: that of the first ones, as in a replay, extended by all later events."""
    first = first_schema(session, files)
    found: list[tuple[int, int, bytes]] = []
    for part in parts_of(session, files, None):
        rows = part.frame.mapInArrow(_growth(part.pieces, first), "file int, block bigint, version binary").collect()
        found += [(row[0], row[1], bytes(row[2])) for row in rows]
    versions = (schema_from_record(orjson.loads(version)) for _, _, version in sorted(found, key=lambda one: one[:2]))
    return reduce(joined, versions, first)


def first_schema(session: SparkSession, files: Sequence[File]) -> Schema:
    """The schema inferred from the first events in the order of arrival, as in a replay."""
    left, batches = INFER_EVENTS, []
    for file in files:
        if left <= 0:
            break
        (part,) = parts_of(session, [file], None)
        frame = part.frame.where(part.frame["`$file`"] == file.uri)
        values = [bytes(row[0]) for row in frame.mapInArrow(_values(part.pieces), "value binary").take(left)]
        left -= len(values)
        batches.append(batch_of_values(values))
    return infer_schema(batches)


def _growth(pieces: Pieces, schema: Schema) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The task that extends `schema` by the events of each piece; it yields only the versions that differ."""

    def versions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A batch of one row for each piece that needs another version: file, block, and the version's JSON."""
        for piece in pieces(batches):
            version = newest(schema, [piece.records])
            if version is not schema:
                record = orjson.dumps(schema_to_record(version))
                columns: dict[str, Any] = {
                    "file": pa.array([piece.file], pa.int32()),
                    "block": pa.array([piece.block], pa.int64()),
                    "version": pa.array([record], pa.binary()),
                }
                yield pa.RecordBatch.from_pydict(columns)

    return versions


def _values(pieces: Pieces) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The task that yields the text of each record, empty for refused ones."""

    def values(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for piece in pieces(batches):
            refused = piece.records.refused
            places = enumerate(piece.records.offsets.tolist())
            texts = [b"" if offset in refused else piece.records.value(row) for row, offset in places]
            yield pa.RecordBatch.from_pydict({"value": pa.array(texts, pa.binary())})

    return values


# ---------------------------------------------------------------- in a task


def line_pieces(numbers: Mapping[str, int]) -> Pieces:
    """The function from lines ("value") of blocks of files to pieces. `numbers`: by URI."""

    def pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
        """The pieces of the lines, their numbers going on where a block comes in several batches.

        Blank lines are left out, and not numbered.
        """
        seen: Counter[tuple[int, int]] = Counter()
        for batch in batches:
            blocks = np.asarray(batch.column("block").to_numpy(zero_copy_only=False))
            for file, start, stop in _runs(batch, blocks):
                at = (numbers[file], int(blocks[start]))
                records = _lines(batch.column("value").slice(start, stop - start), at[1], seen[at])
                seen[at] += len(records)
                if len(records):
                    yield Piece(*at, records)

    return pieces


def _lines(values: Any, block: int, before: int) -> RawBatch:
    """The lines that are not blank, numbered from `before` on."""
    _, bounds, data = values.buffers()
    limits = np.frombuffer(bounds, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    buffer = np.frombuffer(data if data is not None else b"", np.uint8)
    starts, ends = limits[:-1].copy(), limits[1:].copy()
    if block == 0 and before == 0 and buffer[starts[0] : starts[0] + 3].tobytes() == _BYTE_ORDER_MARK:
        starts[0] += 3
    kept = trim_lines(buffer, starts, ends)
    number = np.arange(before, before + int(np.count_nonzero(kept)), dtype=np.int64)
    return RawBatch(buffer, starts[kept], ends[kept], number)


def table_pieces(numbers: Mapping[str, int], written: Mapping[str, pa.Schema]) -> Pieces:
    """The function from rows of Parquet files, with their numbers ("$row"), to pieces. `written`: schemas by URI."""

    def pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
        for batch in batches:
            rows = np.asarray(batch.column("$row").to_numpy(zero_copy_only=False))
            plain = batch.drop_columns(["$row", "$file"])
            names = plain.schema.names
            for file, start, stop in _runs(batch, np.zeros_like(rows)):
                rows_of_file = as_written(plain.slice(start, stop - start), written[file])
                (made,) = table_events(_name(file), names, [rows_of_file])
                yield Piece(numbers[file], 0, made.batch(rows[start:stop].astype(np.int64)))

    return pieces


def whole_pieces(numbers: Mapping[str, int], schema: Schema | None) -> Pieces:
    """The function from whole files ("content") to pieces."""

    def pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
        for batch in batches:
            uris: list[Any] = batch.column("$file").to_pylist()
            for uri, content in zip(uris, batch.column("content"), strict=True):
                for chunk in read_content(_name(uri), content.as_buffer(), schema=schema):
                    yield Piece(numbers[uri], 0, chunk.batch)

    return pieces


def _runs(batch: pa.RecordBatch, blocks: Any) -> Iterator[tuple[str, int, int]]:
    """(file, start, stop) of each range of rows from one block of one file."""
    coded: Any = batch.column("$file").dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False)
    cuts = np.flatnonzero((np.diff(codes) != 0) | (np.diff(blocks) != 0)) + 1
    edges = [0, *cuts.tolist(), batch.num_rows] if batch.num_rows else [0]
    for start, stop in pairwise(edges):
        yield coded.dictionary[int(codes[start])].as_py(), start, stop
