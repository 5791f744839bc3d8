"""CSV as records: the cells, or the reason why the bytes are no record.

RFC 4180 with any line ends: cells apart by commas (or another character), a quote inside quotes doubled. As PostgreSQL
reads it, an empty cell is null and a quoted empty one the empty string.
"""

from __future__ import annotations

import codecs
import csv
import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Self

from saffron.engine.events.raw import Refusal, not_utf8
from saffron.schema.schema import MAX_EVENT_BYTES

_TOO_LARGE = ("too-large", f"the row is longer than {MAX_EVENT_BYTES} bytes, the most that are read")


class Record(NamedTuple):
    """A record of CSV. `cells`: None for null. `line`: the 1-based number of its first line.

    `wrong`: the reason why it is no record; then `text` has its bytes.
    """

    cells: list[str | None]
    line: int
    wrong: Refusal | None = None
    text: bytes = b""


def csv_records(blocks: Iterable[bytes], separator: str = ",") -> Iterator[Record]:
    """All records but blank lines. `blocks` are cut at line ends. `separator`: one character, and no quote.

    A quoted cell must end within the longest event and before the end of the file, and a separator or line end must
    follow. Otherwise its first line is wrong, and reading goes on with the next line.
    """
    lines = _Lines(blocks, separator)
    try:
        while not lines.over:
            try:
                for row in csv.reader(lines, strict=True, delimiter=separator):
                    yield from lines.record(row)
            except csv.Error as error:
                yield lines.wrong(str(error))
    finally:
        lines.close()


class _LongCells:
    """The process's limit of a cell's length, raised while a long record is read: other users of `csv` have theirs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers = 0
        self._limit = 0

    def begin(self) -> None:
        with self._lock:
            if not self._readers:
                self._limit = csv.field_size_limit()
                csv.field_size_limit(max(self._limit, MAX_EVENT_BYTES))
            self._readers += 1

    def end(self) -> None:
        with self._lock:
            self._readers -= 1
            if not self._readers:
                csv.field_size_limit(self._limit)


_LONG_CELLS = _LongCells()


class _Lines:
    """The lines of a file, each once; those that the record at hand has taken can be put back but for the first."""

    def __init__(self, blocks: Iterable[bytes], separator: str) -> None:
        self._cell = _cell(separator)
        self._source = (line for block in _unmarked(blocks) for line in block.splitlines(keepends=True))
        self._waiting: deque[bytes] = deque()
        self._taken: list[bytes] = []
        self._size = 0
        self._line = 1
        self._long = False
        self.over = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        if self._size > MAX_EVENT_BYTES:
            raise csv.Error("unexpected end of data")
        line = self._waiting.popleft() if self._waiting else next(self._source, None)
        if line is None:
            self.over = not self._taken
            raise StopIteration
        self._taken.append(line)
        self._size += len(line)
        if not self._long and self._size > csv.field_size_limit():
            self._long = True
            _LONG_CELLS.begin()
        return line.decode("utf-8", "surrogateescape")

    def record(self, row: list[str]) -> Iterator[Record]:
        """The record that the reader has made of the lines taken; nothing for a blank line."""
        raw, line = b"".join(self._taken), self._line
        self._forget(len(self._taken))
        cells: list[str | None] = [cell or None for cell in row]
        if b'""' in raw:
            for place in _quoted_empty(raw, self._cell):
                cells[place] = ""
        if len(raw) > MAX_EVENT_BYTES:
            yield _wrong(raw, line, _TOO_LARGE)
        elif not raw.isascii() and (where := not_utf8(raw)):
            yield _wrong(raw, line, ("not-csv", f"line {line} {where}"))
        elif row:
            yield Record(cells, line)

    def wrong(self, why: str) -> Record:
        """The first line that the reader has taken is no record; the others are put back."""
        first, line, several = self._taken[0], self._line, len(self._taken) > 1
        self._waiting.extendleft(reversed(self._taken[1:]))
        self._forget(1)
        if len(first) > MAX_EVENT_BYTES:
            return _wrong(first, line, _TOO_LARGE)
        if several or why == "unexpected end of data":
            why = "a quote is not closed"
        return _wrong(first, line, ("not-csv", f"line {line} is no row of CSV: {why}"))

    def close(self) -> None:
        """The end of a record, or of all reading."""
        if self._long:
            self._long = False
            _LONG_CELLS.end()

    def _forget(self, lines: int) -> None:
        self._line += lines
        self._taken.clear()
        self._size = 0
        self.close()


def _unmarked(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The blocks without the byte order mark that Excel puts before the first one."""
    mark = codecs.BOM_UTF8
    for block in blocks:
        yield block.removeprefix(mark)
        mark = b""


def _wrong(raw: bytes, line: int, why: Refusal) -> Record:
    return Record([], line, why, raw.rstrip(b"\r\n")[: MAX_EVENT_BYTES + 1])


def _cell(separator: str) -> re.Pattern[str]:
    """The pattern of one cell and the separator behind it; group 1 matches in a quoted cell."""
    one = re.escape(separator)
    return re.compile(rf'"((?:[^"]|"")*)"(?:{one}|$)|[^{one}"][^{one}]*(?:{one}|$)|{one}|$')


def _quoted_empty(raw: bytes, cell: re.Pattern[str]) -> list[int]:
    """Places of the cells of a record that are two quotes."""
    text = raw.decode("utf-8", "surrogateescape").rstrip("\r\n")
    return [place for place, found in enumerate(cell.finditer(text)) if found[1] == ""]
