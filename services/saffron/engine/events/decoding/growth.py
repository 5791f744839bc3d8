"""Versions of an inferred schema: the additions of later events.

Versions form a join-semilattice: types, attributes and times are united, kinds joined (`schema.widened`). So it does
not matter in which order, or by which partition, events are met; only the order of attributes is that of the first
word.
A value that no join has room for (a string among numbers) changes nothing: it is null, and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from saffron.engine.events.decoding.exact import parse_object
from saffron.engine.events.decoding.nesting import may_be_attribute
from saffron.engine.events.decoding.rules.value_kinds import kind_of
from saffron.errors import SchemaError
from saffron.schema.origin import ORDER
from saffron.schema.schema import Kind, Schema, widened

if TYPE_CHECKING:  # these bring NumPy and Numba along, for which no command of `saffron` should wait
    from saffron.engine.events.decoding.decode import Decoded
    from saffron.engine.events.raw import RawBatch

MAX_ATTRIBUTES = 1_000
"""The most attributes, and the most event types, that a stream has of its events. More are left out, and counted; a
given schema may name them."""
MAX_BYTES = 1_000_000
"""The most bytes of a stream's schema as a version's record has them (schemas/streams.yaml), which repeats the names of
attributes for each type. Names beyond are left out as those beyond MAX_ATTRIBUTES are."""
_OF_KIND, _OF_TYPE = 12, 32
"""Bytes beside an attribute's name and its kind; beside the three names of a type and its times."""


def joined(schema: Schema, other: Schema) -> Schema:
    """The least version that covers both; `schema` itself where the other one adds nothing.

    What stands in `schema` keeps its place, what the other adds comes behind. Of kinds without a join that of `schema`
    stays. Times stay where one of both is given. Attributes and types beyond MAX_ATTRIBUTES or MAX_BYTES are left out,
    unless `other` is a given schema; what merged events are ordered by is not.
    """
    room = _Room(schema, unlimited=other.given)
    kinds = dict(schema.kinds)
    for name, kind in other.kinds.items():
        if name in kinds:
            kinds[name] = widened(kinds[name], kind) or kinds[name]
        elif other.given or name in ORDER or (len(kinds) < MAX_ATTRIBUTES and room.takes_kind(name)):
            kinds[name] = kind
    types = dict(schema.types)
    for name, attributes in other.types.items():
        more = [one for one in attributes if one in kinds]
        if name in types:
            own = dict.fromkeys(types[name])
            fitting = (one for one in more if one not in own and (one in ORDER or room.takes_uses([one])))
            types[name] = (*own, *dict.fromkeys(fitting))
        elif other.given or (len(types) < MAX_ATTRIBUTES and room.takes_type(name, more)):
            types[name] = tuple(dict.fromkeys(more))
    times = schema.times if schema.given or other.given else {**other.times, **schema.times}
    if kinds == schema.kinds and types == schema.types and times == schema.times:
        return schema
    required = {name: schema.required.get(name, frozenset()) for name in types}
    return replace(schema, kinds=kinds, types=types, required=required, times=times)


def joined_in_force(schema: Schema, other: Schema) -> Schema:
    """The least version that covers both, as it comes in force behind `schema`; `schema` itself where nothing is new.

    Where times are exact they stay so: what queries keep of events with exact times has no intervals.
    """
    return joined(schema, other if schema.times else replace(other, times={}))


class _Room:
    """The bytes that a version may still grow by. `unlimited`: it takes all.

    Kinds have two fifths, so that one event type at least has room with all attributes.
    """

    def __init__(self, schema: Schema, *, unlimited: bool) -> None:
        self._schema = schema
        self._unlimited = unlimited
        self._left: tuple[int, int] | None = None

    def takes_kind(self, name: str) -> bool:
        """True if an attribute has room, which is its own then."""
        return self._takes(_width(name) + _OF_KIND, is_kind=True)

    def takes_type(self, name: str, attributes: Iterable[str]) -> bool:
        """True if an event type has room with all its attributes, which is its own then."""
        return self._takes(3 * _width(name) + _OF_TYPE + _uses(attributes))

    def takes_uses(self, attributes: Iterable[str]) -> bool:
        """True if attributes have room among those of a type, which is their own then."""
        return self._takes(_uses(attributes))

    def _takes(self, size: int, *, is_kind: bool = False) -> bool:
        if self._unlimited:
            return True
        kinds, whole = _room_of(self._schema) if self._left is None else self._left
        fits = size <= whole and not (is_kind and size > kinds)
        self._left = (kinds - size if is_kind else kinds, whole - size) if fits else (kinds, whole)
        return fits


def _room_of(schema: Schema) -> tuple[int, int]:
    """The bytes that kinds may still take in a version's record, and those that all names may."""
    kinds = sum(_width(name) + _OF_KIND for name in schema.kinds)
    types = sum(3 * _width(name) + _OF_TYPE + _uses(attributes) for name, attributes in schema.types.items())
    return 2 * MAX_BYTES // 5 - kinds, MAX_BYTES - kinds - types


def _uses(attributes: Iterable[str]) -> int:
    return sum(_width(name) + 1 for name in attributes)


def _width(name: str) -> int:
    return len(orjson.dumps(name))


def grown(schema: Schema, events: Iterable[Mapping[str, Any]]) -> Schema:
    """The least version above `schema` that knows these events (objects with a `type`); `schema` itself if it does."""
    kinds: dict[str, Kind] = {}
    types: dict[str, dict[str, None]] = {}
    for event in events:
        attributes = types.setdefault(event["type"], {})
        for name, value in event.items():
            if may_be_attribute(name):
                before = kinds.get(name) or schema.kinds.get(name, Kind.NULL)
                kinds[name] = widened(before, kind_of(value) or Kind.NULL) or before
                attributes[name] = None
    return joined(schema, Schema(kinds, {name: tuple(attributes) for name, attributes in types.items()}, {}))


def needed(schema: Schema, batch: RawBatch, decoded: Decoded) -> Schema:
    """The least version above `schema` that knows all of a batch, `decoded` by it; `schema` itself if it does."""
    if not len(decoded.fresh) and not decoded.growth:
        return schema
    schema = joined(schema, Schema(decoded.growth, {}, {}))
    events = (parse_object(batch.value(row)) for row in decoded.fresh.tolist())
    return grown(schema, (event for event in events if isinstance(event, dict)))


def knows(schema: Schema, other: Schema) -> bool:
    """True if `schema` is at or above the other version."""
    return joined(schema, other) is schema


def given_anew(schema: Schema, given: Schema) -> Schema:
    """The version in force once a schema is given to a stream that has one; `schema` itself if that says it all.

    What events had so far they may go on to have; what the given one requires is required from then on. SchemaError
    where the two do not go together.
    """
    for name, kind in given.kinds.items():
        if widened(schema.kinds.get(name, Kind.NULL), kind) is None:
            before = schema.kinds[name].value
            raise SchemaError(f"attribute {name!r} is {before} in the schema in force, and {kind.value} in the new one")
    if any(schema.times.get(name) != given.times.get(name) for name in {*schema.times, *given.times}):
        raise SchemaError("one of the schema in force and the new one has times [lo, hi] where the other one has not")
    united = joined(schema, given)
    version = replace(
        united,
        required={**united.required, **given.required},
        closed=given.closed and given.types.keys() == united.types.keys(),
        given=True,
    )
    return schema if version == schema else version
