"""Rows of CSV in a message, as objects of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from saffron.counted import counted
from saffron.engine.events.formats.csv_records import Record, csv_records
from saffron.mapping.definition import CsvForm
from saffron.mapping.message import MessageError


def rows_of(value: bytes, form: CsvForm, most: int) -> Iterator[Mapping[str, str | None] | MessageError]:
    """The rows in order, each a text by column; an error for each that is none. An empty cell is null, `""` is not.

    Cells that a row lacks at its end are absent. MessageError: the header line cannot be read, or is too long for so
    many rows (`most`: characters that it may have, times their number).
    """
    records = csv_records([value], form.separator)
    columns = form.columns
    if columns is None:
        header = next(records, None)
        if header is None:
            return
        columns = _header(header)
        if sum(map(len, columns)) * max(value.count(b"\n"), value.count(b"\r")) > most:
            raise MessageError("too-large", "the header line is too long for so many rows")
    for record in records:
        if record.wrong is not None:
            yield MessageError(*record.wrong)
        elif len(record.cells) > len(columns):
            cells = f"line {record.line} has {counted(len(record.cells), 'cell')}"
            yield MessageError("not-csv", f"{cells} for {counted(len(columns), 'column')}")
        else:
            yield dict(zip(columns, record.cells, strict=False))


def records_of(value: bytes, form: CsvForm) -> Sequence[Record]:
    """The records of a message, with the header line where there is one."""
    return list(csv_records([value], form.separator))


def row_alone(records: Sequence[Record], form: CsvForm, number: int) -> bytes:
    """A message with row `number` of `records` alone, behind the header line where there is one."""
    headed = form.columns is None
    lines = [records[0], records[number + 1]] if headed else [records[number]]
    return b"\n".join(_line(one, form.separator) for one in lines)


def _line(record: Record, separator: str) -> bytes:
    """A record as a line of CSV; a refused record as it came."""
    if record.wrong is not None:
        return record.text
    cells = ("" if cell is None else '"' + cell.replace('"', '""') + '"' for cell in record.cells)
    return separator.join(cells).encode("utf-8", "surrogateescape")


def _header(record: Record) -> tuple[str, ...]:
    if record.wrong is not None:
        raise MessageError(record.wrong[0], f"the header line cannot be read: {record.wrong[1]}")
    columns = tuple((cell or "").strip() for cell in record.cells)
    if twice := sorted({one for one in columns if columns.count(one) > 1}):
        raise MessageError("not-csv", f"the header line names {twice[0]!r} twice")
    return columns
