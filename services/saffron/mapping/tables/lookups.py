"""Look-ups of a batch of flat events: attributes of tables are written into their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from saffron.engine.events.decoding.exact_json import roughly_parsed
from saffron.mapping.message import parse, written
from saffron.mapping.table_definition import AddRule
from saffron.mapping.tables.table import Table

Keys = Callable[[Sequence[bytes], Sequence[Mapping[str, Any]], str], Sequence[bytes | None]]
"""A function from events, their values and an attribute to the key of each event."""


@dataclass(frozen=True)
class Added:
    """Events with the attributes of tables. `own`: by event the attributes of these names that it brought itself.

    `not_found`: by attribute the events whose key no row has.
    """

    values: Sequence[bytes]
    own: Mapping[int, Sequence[str]]
    not_found: Mapping[str, int]


def added(events: Sequence[bytes], adds: Mapping[str, AddRule], tables: Mapping[str, Table], keys: Keys) -> Added:
    """The flat events with the attributes `adds`. An event's own attribute of such a name is left out."""
    if not adds:
        return Added(events, {}, {})
    parsed = list(map(roughly_parsed, events))
    own = {row: names for row, event in enumerate(parsed) if (names := [name for name in adds if name in event])}
    texts = [event[:-1] for event in events]
    for row, names in own.items():
        texts[row] = _without(events[row], names)[:-1]
    not_found: Counter[str] = Counter()
    for name, rule in adds.items():
        find = tables[rule.table].finder(None if rule.take is None else (rule.take, rule.kind))
        head = b"," + orjson.dumps(name) + b":"
        for row, key in enumerate(keys(events, parsed, rule.key)):
            if key is None:
                continue
            cell = find(key)
            if rule.take is None:
                cell = b"false" if cell is None else b"true"
            if cell is None:
                not_found[name] += 1
            elif cell:
                texts[row] += head + cell
    return Added([text + b"}" for text in texts], own, not_found)


def own_detail(names: Sequence[str]) -> str:
    """Why an event with attributes of its own of these names is a dead letter, where misfits are."""
    return f"{names[0]!r} comes from a table, and the message brings its own"


def _without(event: bytes, names: Sequence[str]) -> bytes:
    """A flat event without some attributes, numbers as they were written."""
    return written({name: value for name, value in parse(event).items() if name not in names})
