"""A schema from the first events of a stream that has none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from saffron.engine.events.decoding.exact import parse_object
from saffron.engine.events.decoding.growth import joined
from saffron.engine.events.decoding.nesting import may_be_attribute
from saffron.engine.events.decoding.rules.outcomes import WATERMARK_TYPE
from saffron.engine.events.decoding.rules.value_kinds import kind_of
from saffron.engine.events.raw import RawBatch
from saffron.schema.numbers import NO_NUMBERS
from saffron.schema.schema import Distribution, Kind, Schema, widened

INFER_EVENTS = 10_000
"""The number of events from which a schema is inferred."""
_FIRST = 128
"""The number of leading records of which all are parsed."""
_UNSEEN = re.compile(rb'null|"ts"\s*:\s*\[')
"""Values of which the scanner leaves no trace: a null attribute, and an interval of one instant as a time."""


def infer_schema(events: Iterable[RawBatch], limit: int = INFER_EVENTS) -> Schema:
    """The schema of the first `limit` records; those that are no events say nothing.

    Types and attributes stand in the order of their first appearance. The kind of a number is the least that has all
    of its values (`schema.widened`). Where kinds conflict, the majority wins, and of equals the one seen first. An
    attribute that was only null (or "NaN", "Infinity", which stand for no number) is NULL. Types with a ts [lo, hi]
    have uniform times. Attributes and types beyond MAX_ATTRIBUTES are left out. What comes later: `growth`.
    """
    rows, left = [], limit
    for batch in events:
        rows.append(batch.part(0, min(left, len(batch))))
        left -= len(rows[-1])
    draft = _Draft()
    for part in _growing(rows):
        draft.take(part, _unsure(draft.schema(), part) if draft.seen else range(len(part)))
    if draft.conflicts():  # the majority wins, so that each value counts
        draft = _Draft()
        for part in rows:
            draft.take(part, range(len(part)))
    found = draft.schema()
    return joined(Schema({}, {}, {}), found)


def _growing(batches: Iterable[RawBatch]) -> Iterator[RawBatch]:
    """The batches, with the first records in small parts: the attributes of most events are known soon."""
    size = _FIRST
    for batch in batches:
        start = 0
        while start < len(batch):
            yield batch.part(start, start + size)
            start, size = start + size, 4 * size


def _unsure(schema: Schema, batch: RawBatch) -> Iterable[int]:
    """The rows that may have types or attributes beyond the schema, ascending. Of others the scanner says that it has
    all.
    """
    from saffron.engine.events.decoding.decode import Decoder  # this loads Numba

    sure = Decoder(schema).knows(batch)
    text = batch.buffer[batch.starts[0] : batch.ends[-1]].tobytes()
    for found in _UNSEEN.finditer(text):
        sure[np.searchsorted(batch.starts, batch.starts[0] + found.start(), "right") - 1] = False
    rows: list[int] = np.flatnonzero(~sure).tolist()
    return rows


class _Draft:
    """The types and kinds seen so far. `seen`: whether there was an event."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[Kind]] = {}
        self._types: dict[str, dict[str, None]] = {}
        self._times: dict[str, Distribution] = {}

    @property
    def seen(self) -> bool:
        return bool(self._types)

    def take(self, batch: RawBatch, rows: Iterable[int]) -> None:
        """Note the kinds that some of the records show."""
        for row in rows:
            if batch.refused and int(batch.offsets[row]) in batch.refused:
                continue
            event = parse_object(batch.value(row))
            if isinstance(event, dict) and event["type"] != WATERMARK_TYPE:
                self._add(event)

    def conflicts(self) -> bool:
        """True if an attribute had values that no one kind has."""
        return any(len(_parties(counts)) > 1 for counts in self._counts.values())

    def _add(self, event: dict[str, Any]) -> None:
        """Note the type, the attributes and the kinds of one event. A null, or a text such as "NaN", adds no kind."""
        if isinstance(event.get("ts"), list):
            self._times[event["type"]] = "uniform"
        attributes = self._types.setdefault(event["type"], {})
        for name, value in event.items():
            if not may_be_attribute(name):
                continue
            attributes[name] = None
            counts = self._counts.setdefault(name, Counter())
            kind = None if value in NO_NUMBERS else kind_of(value)
            if kind is not None:
                counts[kind] += 1

    def schema(self) -> Schema:
        kinds = {name: _winner(counts) for name, counts in self._counts.items()}
        types = {name: tuple(attributes) for name, attributes in self._types.items()}
        required: dict[str, frozenset[str]] = {name: frozenset() for name in types}
        return Schema(kinds, types, required, closed=False, given=False, times=self._times)


def _winner(counts: Counter[Kind]) -> Kind:
    """The kind of most values; numbers are one party (`Counter` keeps the order of first appearance)."""
    parties = _parties(counts)
    if not parties:
        return Kind.NULL
    party = max(parties, key=parties.__getitem__)
    if party is not Kind.NUMBER:
        return party
    joined = Kind.NULL
    for kind in counts:
        joined = widened(joined, kind) or joined if kind.is_number else joined
    return joined


def _parties(counts: Counter[Kind]) -> Counter[Kind]:
    """The counts with all kinds of numbers added up."""
    parties: Counter[Kind] = Counter()
    for kind, count in counts.items():
        parties[Kind.NUMBER if kind.is_number else kind] += count
    return parties
