"""Rows of CSV in a message, as objects of texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saffron.engine.events.formats.csv_records import Record, csv_records
from saffron.mapping.definition import CsvForm
from saffron.mapping.message import MessageError


def rows_of(value: bytes, form: CsvForm) -> Iterator[Mapping[str, str | None] | MessageError]:
    """The rows in order, each a text by column; an error for each that is none. An empty cell is null, `""` is not.

    Cells that a row lacks at its end are absent. MessageError: the header line cannot be read.
    """
    records = csv_records([value], form.separator)
    columns = form.columns
    if columns is None:
        header = next(records, None)
        if header is None:
            return
        columns = _header(header)
    for record in records:
        if record.wrong is not None:
            yield MessageError(*record.wrong)
        elif len(record.cells) > len(columns):
            yield MessageError(
                "not-csv", f"line {record.line} has {len(record.cells)} cells, and there are {len(columns)} columns"
            )
        else:
            yield dict(zip(columns, record.cells, strict=False))


def _header(record: Record) -> tuple[str, ...]:
    if record.wrong is not None:
        raise MessageError(record.wrong[0], f"the header line cannot be read: {record.wrong[1]}")
    columns = tuple((cell or "").strip() for cell in record.cells)
    if twice := sorted({one for one in columns if columns.count(one) > 1}):
        raise MessageError("not-csv", f"the header line names {twice[0]!r} twice")
    return columns
