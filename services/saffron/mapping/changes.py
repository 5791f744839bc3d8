"""What a new definition changes of a stream, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

from saffron.mapping.definition import SourceDefinition, StreamDefinition

_KNOWN = frozenset({"sources", "name", "tables", "add"})
_MEANING = {"silence": "where nothing comes to any source for so long, event time goes on with the clock"}
"""What the presence of a field means, where its name does not say it."""


def changes_of(before: StreamDefinition, after: StreamDefinition) -> Iterator[str]:
    """The changes, with what each means for events. Sources are compared by their topics."""
    for one in fields(StreamDefinition):
        old, new = getattr(before, one.name), getattr(after, one.name)
        if one.name not in _KNOWN and old != new:
            meaning = f" ({_MEANING[one.name]})" if one.name in _MEANING and new is not None else ""
            yield f"{one.name}: {_cell(old)} -> {_cell(new)}{meaning}"
    if before.tables != after.tables:
        yield f"tables: {_names(one.name for one in before.tables)} -> {_names(one.name for one in after.tables)}"
    for name in {**before.add, **after.add}:
        if before.add.get(name) != after.add.get(name):
            what = "changed" if name in before.add and name in after.add else "is new" if name in after.add else "ends"
            yield f"{name}, of a table, {what}; it counts for messages that are not yet read"
    for source in after.sources:
        known = before.source(source.topic)
        if known is None:
            yield f"source {source.topic} is new, as number {source.number}: it is read from its beginning"
        elif changed := _changed(known, source):
            yield f"source {source.topic}: {', '.join(changed)} changed; it counts for messages that are not yet read"
    for source in before.sources:
        if after.source(source.topic) is None:
            yield f"source {source.topic} is read no longer; its position is kept, and its events stay"


def _changed(before: SourceDefinition, after: SourceDefinition) -> list[str]:
    return [one.name for one in fields(SourceDefinition) if getattr(before, one.name) != getattr(after, one.name)]


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "-"


def _cell(value: object) -> object:
    return "-" if value is None else value
