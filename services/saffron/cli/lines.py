"""Event files as lines of JSON, in batches: what `produce` sends is what the file says, byte for byte."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import pyarrow.parquet
import zstandard

from saffron.errors import InputError

_CHUNK = 1 << 20
_ROWS = 10_000
_LINES = (".ndjson", ".jsonl", ".json")
_TABLES = (".csv", ".parquet")


def batches(files: Sequence[str]) -> Iterator[list[bytes]]:
    """Events of the files, one after another, as JSON objects without the newline; "-" is standard input."""
    for name in files:
        try:
            yield from _batches_of(name)
        except (OSError, zstandard.ZstdError, EOFError, pyarrow.ArrowException) as error:
            raise InputError(f"cannot read {name}: {error}") from error


def _batches_of(name: str) -> Iterator[list[bytes]]:
    if name == "-":
        yield from _lines(sys.stdin.buffer)
        return
    path = Path(name)
    packed = path.suffix if path.suffix in (".zst", ".gz") else ""
    kind = path.with_suffix("").suffix if packed else path.suffix
    if kind not in _LINES + _TABLES:
        raise InputError(
            f"cannot tell what {name} holds: {', '.join(_LINES + _TABLES)}, each also .zst or .gz, can be read"
        )
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


def _lines(stream: Any) -> Iterator[list[bytes]]:
    """Whole lines as they come: a pipe's events are passed on at once, a file's in chunks."""
    read = getattr(stream, "read1", stream.read)
    rest = b""
    while chunk := read(_CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        if lines := [line for line in whole if line.strip()]:
            yield lines
    if rest.strip():
        yield [rest]


def _csv(stream: Any) -> Iterator[list[bytes]]:
    """Cells that read as a number, true or false are that; an empty one is null."""
    rows = csv.DictReader(io.TextIOWrapper(stream, "utf-8", newline=""))
    batch = []
    for row in rows:
        batch.append(orjson.dumps({name: _value(cell) for name, cell in row.items()}))
        if len(batch) == _ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


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


def _parquet(stream: Any) -> Iterator[list[bytes]]:
    file = pyarrow.parquet.ParquetFile(io.BytesIO(stream.read()))
    for batch in file.iter_batches(batch_size=_ROWS):
        yield [orjson.dumps(row) for row in batch.to_pylist()]
