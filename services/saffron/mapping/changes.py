"""Sentences on the changes that a new definition makes to a stream."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields

from saffron.mapping.definition import SourceDefinition, Start, StreamDefinition
from saffron.schema.iso_times import iso_text

_KNOWN = frozenset({"sources", "name", "tables", "add"})
_MEANING = {"silence": "where nothing comes to any source for so long, event time goes on with the clock"}
"""Explanations of fields whose names do not explain them."""


def changes_of(before: StreamDefinition, after: StreamDefinition, once: Collection[str] = frozenset()) -> Iterator[str]:
    """The changes between two definitions, with the effect of each on events. Sources are compared by their topics.

    `once`: those that the stream has read at some time.
    """
    for one in fields(StreamDefinition):
        old, new = getattr(before, one.name), getattr(after, one.name)
        if one.name not in _KNOWN and old != new:
            meaning = f" ({_MEANING[one.name]})" if one.name in _MEANING and new is not None else ""
            yield f"{one.name}: {_cell(old)} -> {_cell(new)}{meaning}"
    if before.tables != after.tables:
        yield f"tables: {_names(one.name for one in before.tables)} -> {_names(one.name for one in after.tables)}"
        for name in sorted({one.name for one in before.tables} - {one.name for one in after.tables}):
            yield f"table {name} ends: what queries look up in it (IN {name}) is null for messages not yet read"
    for name in {**before.add, **after.add}:
        if before.add.get(name) != after.add.get(name):
            what = "changed" if name in before.add and name in after.add else "is new" if name in after.add else "ends"
            yield f"{name}, of a table, {what}; it counts for messages that are not yet read"
    for source in after.sources:
        known = before.source(source.topic)
        if known is None and source.topic in once:
            yield f"source {source.topic} is back, as number {source.number}: it is read on from its position"
        elif known is None:
            yield f"source {source.topic} is new, as number {source.number}: it is read from {_start(source)}"
        elif changed := _changed(known, source):
            yield f"source {source.topic}: {', '.join(changed)} changed; it counts for messages that are not yet read"
    for source in before.sources:
        if after.source(source.topic) is None:
            yield f"source {source.topic} is read no longer; its position is kept, and its events stay"
    given = _types(after)
    gone = [] if given is None else sorted((_types(before, others=False) or set()) - given)
    if gone:
        yield f"no source has events of type {', '.join(gone)} any longer: queries that read it find no new ones"


def _start(source: SourceDefinition) -> str:
    match source.start:
        case Start.EARLIEST:
            return "its beginning"
        case Start.LATEST:
            return "its end on"
        case time:
            return f"{iso_text(time * 1_000_000, 'Z')} on"


def _types(definition: StreamDefinition, *, others: bool = True) -> set[str] | None:
    """The types that the events of a stream may have; None: any, where a source takes them from its messages as they
    are. `others`: false leaves such sources out.
    """
    found: set[str] = set()
    for source in definition.sources:
        rule = source.type
        if rule.constant is None and not rule.names and others:
            return None
        found |= set(rule.names.values()) if rule.constant is None else {rule.constant}
    return found


def _changed(before: SourceDefinition, after: SourceDefinition) -> list[str]:
    return [one.name for one in fields(SourceDefinition) if getattr(before, one.name) != getattr(after, one.name)]


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "-"


def _cell(value: object) -> object:
    return "-" if value is None else value
