"""A schema from the first events of a stream that has none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from saffron.engine.events.decoding.exact import WATERMARK_TYPE, kind_of, parse_object
from saffron.engine.events.decoding.nesting import may_be_attribute
from saffron.engine.events.raw import RawBatch
from saffron.schema.numbers import NO_NUMBERS
from saffron.schema.schema import Distribution, Kind, Schema, widened

INFER_EVENTS = 10_000
"""How many events a schema is inferred from."""


def infer_schema(events: Iterable[RawBatch], limit: int = INFER_EVENTS) -> Schema:
    """The schema of the first `limit` records; those that are no events say nothing.

    Types and attributes stand in the order of their first appearance. The kind of a number is the least that has all
    of its values (`schema.widened`). Where kinds conflict, the majority wins, and of equals the one seen first. An
    attribute that was only null (or "NaN", "Infinity", which stand for no number) is NULL. Types with a ts [lo, hi]
    have uniform times. What comes later: `growth`.
    """
    draft = _Draft()
    left = limit
    for batch in events:
        for row in range(min(left, len(batch))):
            if batch.refused and int(batch.offsets[row]) in batch.refused:
                continue
            event = parse_object(batch.value(row))
            if isinstance(event, dict) and event["type"] != WATERMARK_TYPE:
                draft.add(event)
        left -= min(left, len(batch))
    return draft.schema()


class _Draft:
    def __init__(self) -> None:
        self._counts: dict[str, Counter[Kind]] = {}
        self._types: dict[str, dict[str, None]] = {}
        self._times: dict[str, Distribution] = {}

    def add(self, event: dict[str, Any]) -> None:
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
    parties: Counter[Kind] = Counter()
    for kind, count in counts.items():
        parties[Kind.NUMBER if kind.is_number else kind] += count
    if not parties:
        return Kind.NULL
    party = max(parties, key=parties.__getitem__)
    if party is not Kind.NUMBER:
        return party
    joined = Kind.NULL
    for kind in counts:
        joined = widened(joined, kind) or joined if kind.is_number else joined
    return joined
