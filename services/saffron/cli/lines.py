"""Event files as lines of JSON, in chunks: what `produce` sends and `replay` reads is what the file says.

Rows of CSV and Parquet files become lines of JSON, so that all formats take one way.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import pyarrow.parquet
import zstandard

from saffron.engine.events.raw import RawBatch, batch_of_lines
from saffron.errors import InputError

_CHUNK = 1 << 20
_ROWS = 10_000
_LINES = (".ndjson", ".jsonl", ".json")
_TABLES = (".csv", ".parquet")


def batches(files: Sequence[str]) -> Iterator[list[bytes]]:
    """Events of the files, one after another, as JSON objects without the newline; "-" is standard input."""
    for chunk in _chunks(files):
        if lines := [line for line in chunk.split(b"\n") if line.strip()]:
            yield lines


def event_batches(files: Sequence[str]) -> Iterator[RawBatch]:
    """The same events as raw batches, numbered through all files."""
    first = 0
    for chunk in _chunks(files):
        batch = batch_of_lines(chunk, first)
        first += len(batch)
        if len(batch):
            yield batch


def _chunks(files: Sequence[str]) -> Iterator[bytes]:
    """Whole lines. InputError: a file that cannot be read, or whose name does not say what it holds."""
    for name in files:
        try:
            yield from _chunks_of(name)
        except (OSError, zstandard.ZstdError, EOFError, UnicodeDecodeError, csv.Error, pyarrow.ArrowException) as error:
            raise InputError(f"cannot read {name}: {error}") from error


def _chunks_of(name: str) -> Iterator[bytes]:
    if name == "-":
        yield from _lines(sys.stdin.buffer)
        return
    path = Path(name)
    packed = path.suffix if path.suffix in (".zst", ".gz") else ""
    kind = path.with_suffix("").suffix if packed else path.suffix
    if kind not in _LINES + _TABLES:
        known = ", ".join(_LINES + _TABLES)
        raise InputError(f"cannot tell what {name} holds: {known}, each also .zst or .gz, can be read")
    with path.open("rb") as file, _unpacked(file, packed) as stream:
        if kind == ".csv":
            yield from _csv(stream)
        elif kind == ".parquet":
            yield from _parquet(stream)
        else:
            yield from _lines(stream)


def _unpacked(file: BinaryIO, packed: str) -> Any:
    if packed == ".zst":
        return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    return gzip.open(file) if packed == ".gz" else file


def _lines(stream: Any) -> Iterator[bytes]:
    """As they come: a pipe's events are passed on at once, a file's in chunks."""
    read = getattr(stream, "read1", stream.read)
    rest: list[bytes] = []
    while chunk := read(_CHUNK):
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join((*rest, chunk[:end]))
            rest = []
        rest.append(chunk[end:])
    if last := b"".join(rest):
        yield last + b"\n"


def _csv(stream: Any) -> Iterator[bytes]:
    """Cells that read as a number, true or false are that; an empty one is null."""
    text = io.TextIOWrapper(stream, "utf-8", newline="")
    try:
        rows = csv.DictReader(text)
        while part := list(itertools.islice(rows, _ROWS)):
            yield _json_lines({name: _value(cell) for name, cell in row.items()} for row in part)
    finally:
        text.detach()  # the caller closes the stream


def _value(cell: str | None) -> int | float | str | bool | None:
    if cell is None or cell == "":
        return None
    if cell in ("true", "false"):
        return cell == "true"
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def _parquet(stream: Any) -> Iterator[bytes]:
    file = pyarrow.parquet.ParquetFile(io.BytesIO(stream.read()))
    for batch in file.iter_batches(batch_size=_ROWS):
        yield _json_lines(batch.to_pylist())


def _json_lines(rows: Iterable[dict[str, Any]]) -> bytes:
    """Timestamps of a table become ISO 8601 text, which an event's `ts` may be."""
    option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NAIVE_UTC
    try:
        return b"".join(orjson.dumps(row, option=option) for row in rows)
    except TypeError as error:
        raise InputError(f"a row cannot be an event: {error}") from error
