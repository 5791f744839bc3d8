"""Tables from files: CSV with a header line, or an object on each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from saffron.counted import counted
from saffron.engine.events.formats.csv_records import csv_records
from saffron.errors import InputError
from saffron.mapping.message import MessageError
from saffron.mapping.tables.table import Table, row_of

_SLICE = 2_000
"""Rows between two pauses, so that other work of the process continues."""


def load(table: Table) -> Iterator[None]:
    """Reads a table's file, with pauses. InputError: it cannot be read."""
    assert table.definition.file is not None
    path = Path(table.definition.file)
    try:
        with path.open("rb") as file:
            rows = _csv(file) if path.suffix == ".csv" else _lines(file)
            for count, (line, row) in enumerate(rows, 1):
                where = f"{path.name}, line {line}"
                if isinstance(row, MessageError):
                    table.bad.add(where, str(row))
                else:
                    table.put(row, where)
                if count % _SLICE == 0:
                    yield
    except OSError as error:
        raise InputError(
            f"table {table.definition.name}: {path} cannot be read ({error.strerror}): put it there, readable"
        ) from None


def _lines(file: BinaryIO) -> Iterator[tuple[int, Mapping[str, Any] | MessageError]]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            yield number, row_of(line)
        except MessageError as error:
            yield number, error


def _csv(file: BinaryIO) -> Iterator[tuple[int, Mapping[str, Any] | MessageError]]:
    """Each record's line number, with its row, or an error where it is none. Cells missing at its end are absent.

    InputError: the header line cannot be read, or names a column twice.
    """
    columns: list[str] | None = None
    for record in csv_records(file):
        if record.wrong is not None and columns is None:
            raise InputError(f"{file.name}: the header line cannot be read: {record.wrong[1]}")
        if record.wrong is not None:
            yield record.line, MessageError(*record.wrong)
        elif columns is None:
            columns = [(cell or "").strip() for cell in record.cells]
            if twice := [one for one in columns if columns.count(one) > 1]:
                raise InputError(f"{file.name}: the header line names {twice[0]!r} twice")
        elif len(record.cells) > len(columns):
            cells = f"{counted(len(record.cells), 'cell')} for {counted(len(columns), 'column')}"
            yield record.line, MessageError("not-csv", cells)
        else:
            yield record.line, dict(zip(columns, record.cells, strict=False))
