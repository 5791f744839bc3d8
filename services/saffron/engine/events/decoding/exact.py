"""The exact path of decoding: one event by a full JSON parser, with every rule spelled out and every breach explained.

The scanner (`scan.py`) leaves to this what it is not sure of; the tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from saffron.engine.events.decoding.exact_json import parsed, shown
from saffron.engine.events.decoding.nesting import Flat, TooDeepError, flattened
from saffron.engine.events.decoding.rules.event_times import DAY, times_of, with_interval
from saffron.engine.events.decoding.rules.outcomes import WATERMARK_TYPE, Bad, Event, Mark, Refused, Scalar
from saffron.engine.events.decoding.rules.value_kinds import NO_NUMBER, fit, why_no_value, wider_kind
from saffron.engine.events.decoding.rules.watermarks import mark_of
from saffron.engine.events.raw import not_utf8
from saffron.schema.schema import MAX_EVENT_BYTES, Kind, Schema


def decode_exactly(value: bytes, schema: Schema, time: int | None, max_future: int = DAY) -> Event | Mark | Bad:
    """Decode one record. `time`: the message's own time in ms, None where it has none (a file)."""
    try:
        flat = _parse(value)
        event = flat.fields
        kind = _type_of(event)
        if kind == WATERMARK_TYPE:
            return mark_of(event)
        ts = times_of(event, time, max_future)
        made = _typed(flat, kind, ts[0], schema) if schema.given else _as_far_as_it_goes(event, kind, ts[0], schema)
        gaps = tuple(name for name in flat.gaps if name in made.values)
        if gaps and schema.given:
            raise Refused("schema", f"attribute {gaps[0]!r} of type {kind} has {NO_NUMBER}")
        if flat.doubled or gaps:
            made = replace(made, misfits=(*made.misfits, *flat.doubled, *gaps))
        return made if ts[0] == ts[1] else with_interval(made, event["ts"], ts[1], schema)
    except Refused as refused:
        return refused.bad


def parse_object(value: bytes) -> dict[str, Any] | Bad:
    """The JSON object in `value` as a flat one, with its `type` checked; for inference, before there is a schema."""
    try:
        event = _parse(value).fields
        _type_of(event)
    except Refused as refused:
        return refused.bad
    return event


def _parse(value: bytes) -> Flat:
    """The flat event of a record. Refused: it is too large, empty, not JSON, no object, or too deep."""
    if len(value) > MAX_EVENT_BYTES:
        most = f"longer than {MAX_EVENT_BYTES} bytes, the most that are read"
        raise Refused("too-large", f"the event is {most}; is there one event on each line, or in each message?")
    if not value:
        raise Refused("not-json", "the message is empty")
    try:
        event = parsed(value)
    except ValueError as error:
        raise Refused("not-json", f"not JSON: {f'it {why}' if (why := not_utf8(value)) else error}") from None
    if not isinstance(event, dict):
        raise Refused("not-an-object", f"an event is a JSON object, and this is {shown(event)}")
    try:
        return flattened(event)
    except (TooDeepError, RecursionError) as error:
        raise Refused("too-deep", str(error)) from None


def _type_of(event: Mapping[str, Any]) -> str:
    """The type of an event. Refused: it has none, or one that begins with $ and is not `$watermark`."""
    kind = event.get("type")
    if isinstance(kind, str) and kind:
        if kind.startswith("$") and kind != WATERMARK_TYPE:
            raise Refused("no-type", f"type {shown(kind)} begins with $, as Saffron's own do, and is none of them")
        return kind
    found = "it has none" if kind is None else f"this is {shown(kind)}"
    raise Refused("no-type", f"an event needs a 'type' that is a string and not empty, and {found}")


def _as_far_as_it_goes(event: Mapping[str, Any], kind: str, ts: int, schema: Schema) -> Event:
    """The event under an inferred schema: mistyped values are null, unknown attributes left out, both counted."""
    values: dict[str, Scalar] = {}
    growth: dict[str, Kind] = {}
    misfits: list[str] = []
    unknown = 0
    usual = frozenset(schema.types.get(kind, ()))
    fresh = kind not in schema.types
    for name, item in event.items():
        if name in ("type", "ts"):
            continue
        fresh |= name not in usual
        if name not in schema.kinds:
            unknown += 1
        elif item is not None:
            fitted = fit(item, schema.kinds[name])
            if (wider := wider_kind(item, schema.kinds[name])) is not None:
                growth[name] = wider
            if fitted is None:
                misfits.append(name)
            else:
                values[name] = fitted
    return Event(kind, ts, values, tuple(misfits), unknown, fresh=fresh, growth=growth)


def _typed(flat: Flat, kind: str, ts: int, schema: Schema) -> Event:
    """The event under a given schema, where any breach refuses it."""
    event = flat.fields
    if kind not in schema.types:
        raise Refused("schema", f"type {shown(kind)} is not in the schema, which has {', '.join(schema.types)}")
    attributes = schema.types[kind]
    values: dict[str, Scalar] = {}
    growth: dict[str, Kind] = {}
    unknown = 0
    for name, item in event.items():
        if name in ("type", "ts"):
            continue
        if name not in attributes:
            if schema.closed:
                raise Refused("schema", f"type {kind} has no attribute {name!r}; it has {', '.join(attributes)}")
            unknown += 1
        elif item is not None:
            fitted = fit(item, schema.kinds[name])
            wider = wider_kind(item, schema.kinds[name])
            if wider is Kind.LONG or (wider is Kind.NUMBER and schema.kinds[name] is Kind.FLOAT):
                growth[name] = wider
            elif fitted is None:
                expected = schema.kinds[name].noun
                detail = f"attribute {name!r} of type {kind} should be {expected}, and is {shown(item)}"
                raise Refused("schema", detail + why_no_value(item))
            if fitted is not None:
                values[name] = fitted
    _require_no_object(flat, kind, schema)
    for name in attributes:
        if name in schema.required.get(kind, ()) and name not in values and name not in growth:
            raise Refused("schema", f"attribute {name!r} of type {kind} is required, and is absent or null")
    misfits = tuple(name for name in growth if name not in values)
    return Event(kind, ts, values, misfits, unknown, growth=growth)


def _require_no_object(flat: Flat, kind: str, schema: Schema) -> None:
    """Refused: an object stands where the schema has a value, and nothing within it."""
    attributes = schema.types[kind]
    for name in flat.objects:
        if name not in attributes or flat.fields.get(name) is not None or schema.kinds[name] is Kind.NULL:
            continue
        if not any(one.startswith(f"{name}.") for one in attributes):
            expected = schema.kinds[name].noun
            raise Refused("schema", f"attribute {name!r} of type {kind} should be {expected}, and is an object")
