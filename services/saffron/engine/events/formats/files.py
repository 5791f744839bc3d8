"""Files of events as raw batches, for `replay` and `produce`: NDJSON, CSV and Parquet, each also packed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from saffron.engine.events.formats.csv_files import csv_events
from saffron.engine.events.formats.tabular import parquet_events
from saffron.engine.events.formats.tabular_rows import Rows
from saffron.engine.events.raw import RawBatch, split_lines
from saffron.errors import InputError
from saffron.schema.schema import MAX_EVENT_BYTES, Schema

Codec = Literal["zstd", "gzip"]

STANDARD_INPUT = "-"
CHUNK_BYTES = 2 << 20
_KEPT_BYTES = MAX_EVENT_BYTES + 1
"""The bytes kept of an overlong line, at least: more than an event has."""

_PACKED: dict[str, Codec] = {".zst": "zstd", ".gz": "gzip"}
_FORMATS = (".ndjson", ".jsonl", ".csv", ".parquet")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SAY_SO = "its name should say so"
_UNPACK = "unpack it first"
_NO_TEXT = {
    b"\x1f\x8b": ("gzip", _SAY_SO),
    b"\x28\xb5\x2f\xfd": ("zstd", _SAY_SO),
    b"PAR1": ("Parquet", _SAY_SO),
    b"PK\x03\x04": ("zip", _UNPACK),
    b"BZh": ("bzip2", _UNPACK),
    b"\xfd7zXZ\0": ("xz", _UNPACK),
    b"\xff\xfe": ("UTF-16", "convert it: iconv -f UTF-16 -t UTF-8"),
    b"\xfe\xff": ("UTF-16", "convert it: iconv -f UTF-16 -t UTF-8"),
}
"""The first bytes of files that are no text of UTF-8 -> what they are, and what to do."""


@dataclass(frozen=True)
class Chunk:
    """Some events of one file. `batch.offsets` count the events of all files from 0, bad ones included.

    `name`: of the file, as given. `lines`: int64 [n], 1-based numbers of the line, or row, that each event stands in
    (CSV: the header is line 1).
    """

    name: str
    batch: RawBatch
    lines: NDArray[np.int64]


def read_events(
    names: Sequence[str | Path],
    *,
    schema: Schema | None = None,
    stdin: BinaryIO | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    typed: bool = True,
) -> Iterator[Chunk]:
    """The events of all files, one after another, some MiB at a time; "-" is standard input (NDJSON).

    `schema`: if given, says which cells of a CSV file are strings. `typed`: tables have a column `type`, as events do
    and messages need not. Raises InputError, with the file and a hint, for a
    file that cannot be read; every name is checked before the first chunk.
    """
    for name in names:
        _check(str(name))
    yield from _counted(chunk for name in names for chunk in _read(str(name), schema, stdin, chunk_bytes, typed))


def read_content(name: str, content: pa.Buffer, *, schema: Schema | None = None) -> Iterator[Chunk]:
    """The chunks of one file whose bytes are in memory. `name`: gives its format and compression by its endings."""
    ending, codec = _format(Path(name))
    with _opened(name, codec, lambda: pa.BufferReader(content)) as stream:
        yield from _counted(_parsed(name, ending, stream, schema, CHUNK_BYTES, typed=True))


def bare_name(path: Path) -> str:
    """A file's name without the endings of its compression and format."""
    ending, codec = _format(path)
    packed = path.with_suffix("") if codec else path
    return packed.stem if ending in _FORMATS else packed.name


def _counted(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The chunks, numbered so that offsets count the events of all files."""
    position = 0
    for chunk in chunks:
        yield replace(chunk, batch=chunk.batch.numbered(position))
        position += len(chunk.batch)


def _check(name: str) -> None:
    """Refuse a file (InputError) that is of no known kind, is a directory, or does not exist."""
    if name == STANDARD_INPUT:
        return
    path = Path(name)
    if _format(path)[0] not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise InputError(
            f"{name}: unknown kind of file; known are {known}, each also .zst or .gz ('-': NDJSON on stdin)"
        )
    if path.is_dir():
        raise InputError(f"{name}: is a directory; name the files in it (a shell's *.ndjson does)")
    if not path.exists():
        raise InputError(f"{name}: no such file{_similar(path)}")
    if not path.is_file():  # it could be read only once, and not from any place
        raise InputError(f"{name}: is a pipe or a device; give what it holds as standard input: - < {name}")


def _similar(path: Path) -> str:
    """A hint: a file beside it that is named like it but for its endings."""
    stem = path.name.split(".")[0]
    if not stem or not path.parent.is_dir():
        return ""
    found = sorted(item.name for item in path.parent.iterdir() if item.name.split(".")[0] == stem)
    return f"; did you mean {path.with_name(found[0])}?" if found else ""


def _format(path: Path) -> tuple[str, Codec | None]:
    """(ending of the format, codec or None)."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = _PACKED.get(suffixes[-1]) if suffixes else None
    if packed is not None:
        suffixes.pop()
    return (suffixes[-1] if suffixes else "", packed)


def _read(name: str, schema: Schema | None, stdin: BinaryIO | None, chunk_bytes: int, typed: bool) -> Iterator[Chunk]:
    """The chunks of one file, not numbered yet (see `_counted`). Standard input is taken as NDJSON.

    An uncompressed Parquet file is read from its path, any other file as a stream.
    """
    if name == STANDARD_INPUT:
        source = stdin if stdin is not None else sys.stdin.buffer
        # read1 gives what is there: events on a live pipe are not kept waiting for a full chunk.
        read1: Callable[[int], bytes] = getattr(source, "read1", source.read)
        yield from _lines(name, _blocks(lambda: read1(chunk_bytes)))
        return
    ending, codec = _format(Path(name))
    with _opened(name, codec, lambda: pa.OSFile(name, mode="r")) as stream:
        if ending == ".parquet" and not codec:
            yield from _rows(name, parquet_events(name, Path(name), typed=typed))
        else:
            yield from _parsed(name, ending, stream, schema, chunk_bytes, typed=typed)


def _parsed(
    name: str, ending: str, stream: pa.NativeFile, schema: Schema | None, chunk_bytes: int, *, typed: bool
) -> Iterator[Chunk]:
    """The chunks of an opened and unpacked file, by the ending of its format. Parquet is read into memory first."""
    if ending == ".parquet":
        yield from _rows(name, parquet_events(name, stream.read(), typed=typed))
    elif ending == ".csv":
        blocks = _whole_lines(_text(name, "CSV", _blocks(lambda: stream.read(chunk_bytes))), _behind_csv_line)
        yield from _rows(name, csv_events(name, blocks, schema, typed=typed))
    else:
        yield from _lines(name, _blocks(lambda: stream.read(chunk_bytes)))


@contextmanager
def _opened(name: str, codec: Codec | None, opener: Callable[[], pa.NativeFile]) -> Iterator[pa.NativeFile]:
    """The unpacked file; errors of reading become InputErrors."""
    try:
        with opener() as file:
            if codec is None:
                yield file
            else:
                with pa.CompressedInputStream(file, codec) as stream:
                    yield stream
    except PermissionError as error:
        raise InputError(f"{name}: may not be read ({error.strerror}); see its permissions") from error
    except (OSError, pa.ArrowException) as error:
        hint = f"; is it really {codec}?" if codec else ""
        raise InputError(f"{name}: cannot be read: {error}{hint}") from error


def _blocks(read: Callable[[], bytes]) -> Iterator[bytes]:
    while block := read():
        yield block


def _lines(name: str, blocks: Iterable[bytes]) -> Iterator[Chunk]:
    """Chunks of NDJSON, which end at line ends."""
    line = 1
    for data in _whole_lines(_text(name, "lines of JSON", blocks), _behind_line):
        buffer = np.frombuffer(data, dtype=np.uint8)
        starts, ends, numbers, count = split_lines(buffer)
        if len(starts):
            yield Chunk(name, RawBatch(buffer, starts, ends, numbers), numbers + line)
        line += count


def _text(name: str, read_as: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks of a file. InputError: it begins as a file of another kind does."""
    first = True
    for block in blocks:
        if first and (found := next((what for start, what in _NO_TEXT.items() if block.startswith(start)), None)):
            kind, hint = found
            if hint == _SAY_SO and name == STANDARD_INPUT:
                hint = "give it as a file whose name says so"
            raise InputError(f"{name}: is {kind}, and is read as {read_as}: {hint}")
        first = False
        yield block


def _whole_lines(blocks: Iterable[bytes], cut: Callable[[bytes], int]) -> Iterator[bytes]:
    """The bytes in pieces that end at line ends (`cut`: behind the last one), without a byte order mark.

    Of a line longer than any event only the beginning is kept, so that it does not fill the memory.
    """
    rest = b""
    first = True
    for block in blocks:
        data = rest + (block.removeprefix(_BYTE_ORDER_MARK) if first else block)
        first = False
        end = cut(data)
        if end:
            yield data[:end]
        rest = data[end:]
        if len(rest) > 2 * _KEPT_BYTES:
            rest = rest[:_KEPT_BYTES]
    if rest:
        yield rest


def _behind_line(data: bytes) -> int:
    return data.rfind(b"\n") + 1


def _behind_csv_line(data: bytes) -> int:
    """A carriage return ends a line too, but a last one may be half of a line's end."""
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1)) + 1


def _rows(name: str, batches: Iterable[Rows]) -> Iterator[Chunk]:
    """Rows that were made JSON, with their numbers."""
    for rows in batches:
        if rows.events:
            offsets = np.arange(len(rows.events), dtype=np.int64)
            yield Chunk(name, rows.batch(offsets), np.array(rows.lines, dtype=np.int64))
