"""The schema of some records by its definition: each is parsed, and all that it shows is noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from saffron.engine.events.decoding.exact import parse_object
from saffron.engine.events.decoding.nesting import may_be_attribute
from saffron.engine.events.decoding.rules.outcomes import WATERMARK_TYPE
from saffron.engine.events.decoding.rules.value_kinds import kind_of
from saffron.schema.numbers import NO_NUMBERS
from saffron.schema.schema import Distribution, Kind, Schema, widened


def inferred(records: Iterable[bytes]) -> Schema:
    kinds: dict[str, list[Kind]] = {}
    types: dict[str, list[str]] = {}
    times: dict[str, Distribution] = {}
    for record in records:
        event = parse_object(record)
        if not isinstance(event, dict) or event["type"] == WATERMARK_TYPE:
            continue
        if isinstance(event.get("ts"), list):
            times[event["type"]] = "uniform"
        known = types.setdefault(event["type"], [])
        for name, value in event.items():
            if may_be_attribute(name):
                known += [name] if name not in known else []
                found = None if value in NO_NUMBERS else kind_of(value)
                kinds.setdefault(name, []).extend([] if found is None else [found])
    return Schema(
        {name: winner(values) for name, values in kinds.items()},
        {name: tuple(attributes) for name, attributes in types.items()},
        {name: frozenset() for name in types},
        closed=False,
        given=False,
        times=times,
    )


def winner(kinds: list[Kind]) -> Kind:
    """That of most values, of equals the first; numbers are one party, with the least kind that has them all."""
    if not kinds:
        return Kind.NULL
    party = Counter(Kind.NUMBER if kind.is_number else kind for kind in kinds).most_common(1)[0][0]
    if party is not Kind.NUMBER:
        return party
    least = Kind.NULL
    for kind in kinds:
        least = (widened(least, kind) or least) if kind.is_number else least
    return least
