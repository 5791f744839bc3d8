"""CSV files as JSON events, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import chain, islice

import orjson

from saffron.engine.events.decoding.infer import INFER_EVENTS
from saffron.engine.events.formats.csv_records import Record, csv_records
from saffron.engine.events.formats.tabular import BATCH_ROWS, require_single
from saffron.engine.events.formats.tabular_rows import Rows
from saffron.engine.events.raw import Refusal
from saffron.errors import InputError
from saffron.schema.numbers import is_number_text
from saffron.schema.schema import Kind, Schema

_FLAGS = {"true": b"true", "false": b"false"}
_NO_VALUE = frozenset(
    ("", "-", "--", "?", ".", "n/a", "na", "#n/a", "#na", "<na>", "nan", "-nan", "null", "none", "nil", "missing",
     "unknown", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "#div/0!", "#value!", "#num!")
)  # fmt: skip
"""Texts that stand for a missing number, in lower case."""
_ODD = 0.1
"""Less than this share of other cells leaves a column one of numbers, or booleans."""


class _Cells(Enum):
    """The JSON form of a CSV column's cells."""

    NUMBERS = "numbers"
    FLAGS = "flags"
    STRINGS = "strings"
    ARRAYS = "arrays"  # of JSON, where a schema says so
    TIMES = "times"  # `ts`: numbers or text


_OF_KIND = {Kind.STRING: _Cells.STRINGS, Kind.ARRAY: _Cells.ARRAYS, Kind.BOOL: _Cells.FLAGS}
"""The form of cells by kind of attribute; other kinds are numbers."""


def csv_events(name: str, blocks: Iterable[bytes], schema: Schema | None, *, typed: bool = True) -> Iterator[Rows]:
    """The rows of a CSV file with a header line, UTF-8 (`csv_records`); `blocks` are cut at line ends.

    Without a `schema` the first 10,000 rows decide: a column has numbers (or true and false) if most of its cells are
    such and hardly any other, marks such as N/A not counted; else strings. `type` is always a string. A number keeps
    its digits. A cell that does not fit its column becomes a string, and the rules for events apply to it. Cells
    missing at the end of a row are absent. A row with more cells than the header, or that is no CSV, is refused. Raises
    InputError for a file without a usable header. `typed`: one that names a column `type`.
    """
    records = csv_records(blocks)
    header = _header(name, next(records, Record([], 1)), typed)
    sample = list(islice(records, INFER_EVENTS))
    columns = [_cells_of(column, place, sample, schema) for place, column in enumerate(header)]
    names = [orjson.dumps(column) + b":" for column in header]
    everything = chain(sample, records)
    while batch := list(islice(everything, BATCH_ROWS)):
        yield _rows(batch, names, columns)


def _header(name: str, record: Record, typed: bool) -> list[str]:
    """The names of a CSV file's columns. InputError: unreadable, without `type`, or with a name twice."""
    if record.wrong is not None:
        raise InputError(f"{name}: the header cannot be read: {record.wrong[1]}")
    header = [(column or "").strip() for column in record.cells]
    if typed and "type" not in header:
        raise InputError(f"{name}: the header line names no column 'type', but {', '.join(header) or 'nothing'}")
    require_single(f"{name}: the header line", header)
    return header


def _cells_of(name: str, place: int, sample: list[Record], schema: Schema | None) -> _Cells:
    """The JSON form of a column's cells: by its name, else by the schema, else by the cells of the sample.

    `place`: the column's index in a record.
    """
    if name in ("type", "ts"):
        return _Cells.STRINGS if name == "type" else _Cells.TIMES
    if schema is not None and name in schema.kinds:
        kind = schema.kinds[name]
        return _OF_KIND.get(kind, _Cells.NUMBERS)
    cells = [cell for record in sample if place < len(record.cells) and (cell := record.cells[place])]
    if _most(cells, [cell for cell in cells if not is_number_text(cell)]):
        return _Cells.NUMBERS
    return _Cells.FLAGS if _most(cells, [cell for cell in cells if cell.lower() not in _FLAGS]) else _Cells.STRINGS


def _most(cells: list[str], others: list[str]) -> bool:
    """True if the cells are of one kind, but for a few `others`."""
    odd = sum(cell.strip().lower() not in _NO_VALUE for cell in others)
    return 2 * len(others) < len(cells) and odd < _ODD * len(cells)


def _rows(batch: list[Record], names: list[bytes], columns: list[_Cells]) -> Rows:
    """The records as JSON events, one for each. A refused record keeps its bytes, or its cells as a JSON array.

    `names`: the columns' names in JSON, each with its colon.
    """
    events: list[bytes] = []
    refused: dict[int, Refusal] = {}
    for place, record in enumerate(batch):
        if record.wrong is not None:
            refused[place] = record.wrong
            events.append(record.text)
        elif len(record.cells) > len(names):
            why = f"line {record.line} has {len(record.cells)} cells, and the header names {len(names)} columns"
            refused[place] = ("not-csv", why)
            events.append(orjson.dumps(record.cells))
        else:
            cells = map(_json_cell, record.cells, columns)
            events.append(b"{" + b",".join(name + cell for name, cell in zip(names, cells, strict=False)) + b"}")
    return Rows(events, [record.line for record in batch], refused)


def _json_cell(cell: str | None, kind: _Cells) -> bytes:
    """The JSON of a cell; None is null, and so is "" except in a column of strings.

    A cell that does not fit its column becomes a string.
    """
    if cell is None or (not cell and kind is not _Cells.STRINGS):
        return b"null"
    if kind in (_Cells.NUMBERS, _Cells.TIMES) and is_number_text(cell):
        return cell.encode()
    if kind is _Cells.ARRAYS and _is_json_array(cell):
        return cell.encode()
    if kind is _Cells.FLAGS and cell.lower() in _FLAGS:
        return _FLAGS[cell.lower()]
    return orjson.dumps(cell)


def _is_json_array(cell: str) -> bool:
    try:
        return isinstance(orjson.loads(cell), list)
    except orjson.JSONDecodeError:
        return False
