"""A table: rows by key, with only the columns that attributes need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any

import orjson

from saffron.engine.events.decoding.exact_json import roughly_parsed
from saffron.mapping.mapper import read_as
from saffron.mapping.message import MessageError, Number, noun, object_of, parse, written
from saffron.mapping.paths import MISSING
from saffron.mapping.table_definition import Column, TableDefinition
from saffron.schema.numbers import number_of_text, shown

_SHARED = 4_096
"""Values that are kept once for all rows: most columns have few."""
_NO_VALUE = b""
"""The value of a row whose column is null or absent."""


@dataclass
class BadRows:
    """The number of messages or lines that were no row, and sentences on the first and the last."""

    count: int = 0
    first: str = ""
    last: str = ""

    def add(self, where: str, why: str) -> None:
        self.count += 1
        self.last = f"{where}: {why}"
        self.first = self.first or self.last


@dataclass
class Table:
    """The rows of a table as JSON texts by key. `columns`: what is kept of each row; none: that it is there.

    A key is the text that stands for its value: 1, 1.0 and "1" are one key. Of several rows of a key the last counts.
    `bad`: what was no row, and is left out.
    """

    definition: TableDefinition
    columns: Sequence[Column]
    bad: BadRows = field(default_factory=BadRows)

    def __post_init__(self) -> None:
        self._cells: list[dict[bytes, bytes]] = [{} for _ in self.columns or (None,)]
        self._shared: dict[bytes, bytes] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._cells[0])

    @property
    def size(self) -> int:
        """The memory that the rows take, in bytes."""
        return self._size + sum(map(getsizeof, self._cells)) + sum(map(getsizeof, self._shared))

    def finder(self, column: Column | None) -> Callable[[bytes], bytes | None]:
        """The function from a key to the JSON of a column; None: there is no such row; empty: it has no value.

        `column`: None for whether there is a row, which every column says.
        """
        return self._cells[0 if column is None else self.columns.index(column)].get

    def put(self, row: Mapping[str, Any], where: str) -> bytes | None:
        """Takes a parsed row; returns its key; None: it is none."""
        try:
            key = key_text(self.definition.key.of(row))
            cells = [self._cell(row, column) for column in self.columns] or [_NO_VALUE]
        except MessageError as error:
            self.bad.add(where, str(error))
            return None
        self._set(key, cells)
        return key

    def apply(self, key: bytes | None, value: bytes | None, where: str) -> None:
        """Takes a message of a compacted topic. `key`: the message's; None as `value`: its row is no longer."""
        if value is None:
            self._remove(key)
            return
        try:
            row = row_of(value)
            self._require_key(key, row)
        except MessageError as error:
            self._remove(key)  # compaction would remove the row before it
            self.bad.add(where, str(error))
            return
        if self.put(row, where) is None:
            self._remove(key)

    # ------------------------------------------------------------ inside

    def _cell(self, row: Mapping[str, Any], column: Column) -> bytes:
        path, kind = column
        found = read_as(path.of(row), kind)
        if found is MISSING:
            what = "an attribute's value" if kind is None else kind.value
            raise MessageError("schema", f"its {path} is no {what}" if kind else f"its {path} is an object, no value")
        return _NO_VALUE if found is None else written(found)

    def _set(self, key: bytes, cells: Iterable[bytes]) -> None:
        """Puts the row of a key in place of the one before. `cells`: a value for each column.

        Equal values share memory, up to 4,096 different ones; `_size` counts the others, and the keys.
        """
        self._drop(key)
        self._size += getsizeof(key)
        for kept, cell in zip(self._cells, cells, strict=True):
            one = self._shared.get(cell)
            if one is None:
                one = cell
                if len(self._shared) < _SHARED:
                    self._shared[cell] = cell
                else:
                    self._size += getsizeof(cell)
            kept[key] = one

    def _drop(self, key: bytes) -> bool:
        """Remove a row. True if there was one."""
        was = False
        for kept in self._cells:
            cell = kept.pop(key, None)
            if cell is not None:
                self._size -= 0 if self._shared.get(cell) is cell else getsizeof(cell)
                was = True
        self._size -= getsizeof(key) if was else 0
        return was

    def _remove(self, key: bytes | None) -> None:
        """Removes the row that a message key means."""
        for one in () if key is None else self._meant(key):
            if self._drop(one):
                return

    def _meant(self, key: bytes) -> list[bytes]:
        """The keys that a message key can mean: its text, its value as JSON, or the key's field in it."""
        try:
            value = parse(key)
            if isinstance(value, dict):
                value = self.definition.key.of(value)
            return [key, key_text(value)]
        except MessageError:
            return [key]

    def _require_key(self, key: bytes | None, row: Mapping[str, Any]) -> None:
        """MessageError: the row's key is another than its message's, so that no tombstone would remove it."""
        own = key_text(self.definition.key.of(row))
        if key is not None and own not in self._meant(key):
            raise MessageError("key", f"the message's key is {key!r}, and the row's {own!r}")


def row_of(value: bytes) -> Mapping[str, Any]:
    """The row in a JSON text. MessageError: the text is none."""
    try:
        roughly_parsed(value)  # it refuses texts that are no UTF-8, and halves of characters
    except ValueError as error:
        raise MessageError("not-json", f"it is no JSON: {error}") from None
    return object_of(parse(value), "a row")


def key_text(value: Any) -> bytes:
    """The text of a key, as that of an event's attribute (`runtime.streams.event_keys`). MessageError: it is none."""
    if isinstance(value, Number):
        number = number_of_text(value)
        if number is None:
            raise MessageError("key", f"its key is {value}, a number beyond 64 bits: such keys are texts")
        return orjson.dumps(shown(number))
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, str) and not isinstance(value, Number):
        return value.encode("utf-8", "surrogatepass")
    what = "missing" if value is MISSING else noun(value)
    raise MessageError("key", f"its key is {what}, and should be a text, a number or a truth value")
