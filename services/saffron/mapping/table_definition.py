"""The tables of a stream in a definition, and the attributes that are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from saffron.mapping.kinds import As
from saffron.mapping.paths import Path


@dataclass(frozen=True)
class TableDefinition:
    """A table: the rows of a compacted topic, or of a file (CSV by its ending, else an object on each line).

    `key`: where a row has its key. One of `topic` and `file` is there.
    """

    name: str
    key: Path
    topic: str | None = None
    file: str | None = None


@dataclass(frozen=True)
class AddRule:
    """An attribute from a table: the row's value at `take`; if that is None, whether there is a row.

    `key`: the attribute of the event whose value is the row's key. `kind`: what the value is read as.
    """

    table: str
    key: str
    take: Path | None = None
    kind: As | None = None


Column = tuple[Path, As | None]
"""A column kept of each row: the value at a path, read as a kind."""

NO_ADDS: Mapping[str, AddRule] = MappingProxyType({})


def columns_of(table: str, adds: Mapping[str, AddRule]) -> tuple[Column, ...]:
    """The columns of a table that attributes are taken from, each once."""
    taken = ((one.take, one.kind) for one in adds.values() if one.table == table and one.take is not None)
    return tuple(dict.fromkeys(taken))
