"""The exact path of decoding: one event by a full JSON parser, with every rule spelled out and every breach explained.

The scanner (`scan.py`) leaves to this what it is not sure of; the tests hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from saffron.engine.events.decoding.exact_json import parsed, shown
from saffron.engine.events.decoding.nesting import ArrayText, Flat, TooDeepError, flattened
from saffron.schema.numbers import NO_NUMBERS, kind_of_number, number_of
from saffron.schema.schema import MAX_EVENT_BYTES, MAX_INSTANTS, MAX_TS, Kind, Schema, widened
from saffron.schema.times import parse_iso

WATERMARK_TYPE = "$watermark"

Scalar = int | float | str | bool | None
Reason = Literal[
    "too-large",
    "not-json",
    "not-csv",
    "not-an-object",
    "too-deep",
    "no-type",
    "no-ts",
    "future-ts",
    "bad-ts",
    "schema",
    "no-frame",
    "unknown-schema",
    "bad-payload",
]
"""Why a record is no event, for counting."""

DAY = 86_400_000
_NO_NUMBER = "a number that neither int64 nor float64 holds exactly: write it as a string"
_OF_A_MARK = ("type", "ts", "end", "source", "sources", "silent", "of", "among", "version", "lookups")


@dataclass(frozen=True)
class Event:
    """A good event. `values`: those attributes of the schema that are there and not null, by name.

    `misfits`: attributes whose value is of another kind, and null, or displaced, or has a gap (see `Flat`).
    `unknown`: how many the schema does not have. `latest`: it happened at one of ts..latest; None: exactly at ts.
    `fresh`: it has a type, or more attributes than an inferred schema knows its type to have. `growth`: attributes that
    have values which their kinds do not have, and the kinds of these values.
    """

    type: str
    ts: int
    values: Mapping[str, Scalar]
    misfits: tuple[str, ...] = ()
    unknown: int = 0
    latest: int | None = None
    fresh: bool = False
    growth: Mapping[str, Kind] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """Partition `number` of the `count` that a routed stream is made from; `silent`: none need wait for it now.

    Of a merged stream: `of` is the number of the partition's source, `among` has those of all sources, and `count` is
    of the partitions of all; `version` of the definition says so. Of others `among` is empty. `lookups`: names of
    those that all events of the partition have from here on, as queries ask for them (`schema.table_names`).
    """

    number: int
    count: int
    silent: bool = False
    of: int = 0
    among: tuple[int, ...] = ()
    version: int = 0
    lookups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mark:
    """A `$watermark`: nothing with a smaller ts will come; `end`: every window opened so far closes.

    `source`: of a re-keyed stream, which source partition says so, for itself alone.
    """

    ts: int
    end: bool
    source: Source | None = None


@dataclass(frozen=True)
class Bad:
    """Why a record is no event: a short code, and a sentence for people."""

    reason: Reason
    detail: str


class _Refused(Exception):
    def __init__(self, reason: Reason, detail: str) -> None:
        self.bad = Bad(reason, detail)


def decode_exactly(value: bytes, schema: Schema, time: int | None, max_future: int = DAY) -> Event | Mark | Bad:
    """Decode one record. `time`: the message's own time in ms, None where it has none (a file)."""
    try:
        flat = _parse(value)
        event = flat.fields
        kind = _type_of(event)
        if kind == WATERMARK_TYPE:
            return _mark(event)
        ts = _times_of(event, time, max_future)
        made = _typed(event, kind, ts[0], schema) if schema.given else _as_far_as_it_goes(event, kind, ts[0], schema)
        gaps = tuple(name for name in flat.gaps if name in made.values)
        if gaps and schema.given:
            raise _Refused("schema", f"attribute {gaps[0]!r} of type {kind} has {_NO_NUMBER}")
        if flat.doubled or gaps:
            made = replace(made, misfits=(*made.misfits, *flat.doubled, *gaps))
        return made if ts[0] == ts[1] else _spread(made, event["ts"], ts[1], schema)
    except _Refused as refused:
        return refused.bad


def parse_object(value: bytes) -> dict[str, Any] | Bad:
    """The JSON object in `value` as a flat one, with its `type` checked; for inference, before there is a schema."""
    try:
        event = _parse(value).fields
        _type_of(event)
    except _Refused as refused:
        return refused.bad
    return event


def fit(value: Scalar, kind: Kind) -> Scalar:
    """`value` as the kind's Python type, or None where it is not of that kind. A whole float is an integer too.

    INT takes all that LONG takes: it should then become LONG (see `kind_of`).
    """
    found = kind_of(value)
    if found is None or widened(found, kind) is not kind:
        return int(value) if found is Kind.LONG and kind is Kind.INT else None  # type: ignore[arg-type]
    if isinstance(value, bool | str) or value is None:
        return value
    return int(value) if kind.is_whole else float(value) + 0.0 if kind is Kind.FLOAT else number_of(value)


def kind_of(value: Scalar) -> Kind | None:
    """The least kind that has the value; None for null, and for numbers that are no values (see `number_of`)."""
    if isinstance(value, bool):
        return Kind.BOOL
    if isinstance(value, ArrayText):
        return Kind.ARRAY
    if isinstance(value, str) or value is None:
        return Kind.STRING if isinstance(value, str) else None
    number = number_of(value)
    return None if number is None else kind_of_number(number)


def _parse(value: bytes) -> Flat:
    """The flat event of a record. _Refused: it is too large, empty, not JSON, no object, or too deep."""
    if len(value) > MAX_EVENT_BYTES:
        most = f"longer than {MAX_EVENT_BYTES} bytes, the most that are read"
        raise _Refused("too-large", f"the event is {most}; is there one event on each line, or in each message?")
    if not value:
        raise _Refused("not-json", "the message is empty")
    try:
        event = parsed(value)
    except ValueError as error:
        raise _Refused("not-json", f"not JSON: {error}") from None
    if not isinstance(event, dict):
        raise _Refused("not-an-object", f"an event is a JSON object, and this is {shown(event)}")
    try:
        return flattened(event)
    except TooDeepError as error:
        raise _Refused("too-deep", str(error)) from None


def _type_of(event: Mapping[str, Any]) -> str:
    """The type of an event. _Refused: it has none, or one that begins with $ and is not `$watermark`."""
    kind = event.get("type")
    if isinstance(kind, str) and kind:
        if kind.startswith("$") and kind != WATERMARK_TYPE:
            raise _Refused("no-type", f"type {shown(kind)} begins with $, as Saffron's own do, and is none of them")
        return kind
    found = "it has none" if kind is None else f"this is {shown(kind)}"
    raise _Refused("no-type", f"an event needs a 'type' that is a string and not empty, and {found}")


def _times_of(event: Mapping[str, Any], time: int | None, max_future: int) -> tuple[int, int]:
    """The first and the last instant at which the event may have happened."""
    given = event.get("ts")
    if given is None:
        if time is None or time < 0:
            raise _Refused("no-ts", "the event has no 'ts', and its message no time of its own")
        return time, time
    low, high = _interval(given) if isinstance(given, list) else (_timestamp(given),) * 2
    if time is not None and time >= 0 and high > time + max_future:
        raise _Refused("future-ts", f"ts {high} is more than {max_future} ms ahead of the message's own time {time}")
    return low, high


def _interval(given: list[Any]) -> tuple[int, int]:
    """Imprecise time [lo, hi] in ms, both included. _Refused: it is no interval, or too long."""
    if len(given) != 2 or None in given or any(isinstance(bound, list) for bound in given):
        raise _Refused("bad-ts", f"ts {shown(given)}: imprecise time is [lo, hi], two times and both included")
    low, high = _timestamp(given[0]), _timestamp(given[1])
    if low > high:
        raise _Refused("bad-ts", f"ts {shown(given)}: imprecise time is [lo, hi], and here lo is later than hi")
    if high - low >= MAX_INSTANTS:
        raise _Refused("bad-ts", f"ts {shown(given)}: imprecise time has at most {MAX_INSTANTS} ms from lo to hi")
    return low, high


def _spread(event: Event, given: Any, latest: int, schema: Schema) -> Event:
    """The event with the interval [ts, `latest`] as its time. `given`: the value of `ts` in the record.

    _Refused ("bad-ts"): the schema gives the event's type exact times.
    """
    if schema.distribution(event.type) is not None:
        return replace(event, latest=latest)
    if schema.given:
        why = f'the schema gives {event.type} exact times; "type": ["integer", "array"] of its ts allows intervals'
    else:
        why = "the stream's first events had exact times; give it a schema whose ts may be an array"
    raise _Refused("bad-ts", f"ts {shown(given)} is an interval: {why}")


def _timestamp(given: Any) -> int:
    """A time in ms since 1970, from whole ms or ISO 8601 text. _Refused: it is neither, or beyond 2^53."""
    if isinstance(given, str):
        ts = parse_iso(given)
        if ts is None:
            raise _Refused("bad-ts", f"ts {shown(given)} is not ISO 8601 (as 2024-05-01T12:30:00.250Z)")
    else:
        ts = _whole(given)
        if ts is None:
            raise _Refused("bad-ts", f"ts {shown(given)} is neither whole milliseconds since 1970 nor ISO 8601 text")
    if abs(ts) > MAX_TS:
        raise _Refused("bad-ts", f"ts {ts} is beyond 2^53 ms; is it in microseconds or nanoseconds?")
    return ts


def _mark(event: Mapping[str, Any]) -> Mark:
    """A `$watermark` record: its ts (ms), end, and source. _Refused: an unknown attribute, or no ts."""
    if more := [name for name in event if name not in _OF_A_MARK]:
        raise _Refused("schema", f"a {WATERMARK_TYPE} has no attribute {more[0]!r}; it has {', '.join(_OF_A_MARK)}")
    source = _source(event)
    silent = source is not None and source.silent
    if event.get("ts") is None and not silent:
        raise _Refused("no-ts", f"a {WATERMARK_TYPE} needs a 'ts'")
    ts = -MAX_TS if event.get("ts") is None else _timestamp(event["ts"])
    return Mark(ts, _flag(event, "end"), source)


def _source(event: Mapping[str, Any]) -> Source | None:
    """The source partition that a `$watermark` names, or None. _Refused: the partition does not fit its source."""
    if not any(name in event for name in ("source", "sources", "silent")):
        return None
    number, count = (_whole(event.get(name)) for name in ("source", "sources"))
    of, version = (_whole(event.get(name, 0)) for name in ("of", "version"))
    among = str(event.get("among", "")).split()
    if of is None or version is None or not all(map(str.isdecimal, among)) or (among and str(of) not in among):
        raise _Refused("schema", f"'of', 'among' and 'version' of a {WATERMARK_TYPE} are none of a merged stream")
    if number is None or count is None or not 0 <= number < count:
        raise _Refused(
            "schema",
            f"'source' and 'sources' of a {WATERMARK_TYPE} should be a partition of the source and how many it has, "
            f"and are {shown(event.get('source'))} and {shown(event.get('sources'))}",
        )
    lookups = tuple(filter(None, str(event.get("lookups", "")).split("\n")))
    return Source(number, count, _flag(event, "silent"), of, tuple(map(int, among)), version, lookups)


def _whole(given: Any) -> int | None:
    fitted = fit(given, Kind.INT) if not isinstance(given, dict | list) else None
    return fitted if isinstance(fitted, int) else None


def _flag(event: Mapping[str, Any], name: str) -> bool:
    given = event.get(name, False)
    if not isinstance(given, bool):
        raise _Refused("schema", f"{name!r} of a {WATERMARK_TYPE} should be true or false, and is {shown(given)}")
    return given


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
            if (wider := _wider(item, schema.kinds[name])) is not None:
                growth[name] = wider
            if fitted is None:
                misfits.append(name)
            else:
                values[name] = fitted
    return Event(kind, ts, values, tuple(misfits), unknown, fresh=fresh, growth=growth)


def _wider(value: Scalar, kind: Kind) -> Kind | None:
    """The kind that an attribute of this kind should become for the value; None: it has it, or no kind has both.

    "NaN" and the like stand for numbers that are none: they make no attribute one of strings.
    """
    found = None if value in NO_NUMBERS else kind_of(value)
    wider = None if found is None else widened(found, kind)
    return None if wider is kind else wider


def _typed(event: Mapping[str, Any], kind: str, ts: int, schema: Schema) -> Event:
    """The event under a given schema, where any breach refuses it."""
    if kind not in schema.types:
        raise _Refused("schema", f"type {shown(kind)} is not in the schema, which has {', '.join(schema.types)}")
    attributes = schema.types[kind]
    values: dict[str, Scalar] = {}
    growth: dict[str, Kind] = {}
    unknown = 0
    for name, item in event.items():
        if name in ("type", "ts"):
            continue
        if name not in attributes:
            if schema.closed:
                raise _Refused("schema", f"type {kind} has no attribute {name!r}; it has {', '.join(attributes)}")
            unknown += 1
        elif item is not None:
            fitted = fit(item, schema.kinds[name])
            wider = _wider(item, schema.kinds[name])
            if wider is Kind.LONG or (wider is Kind.NUMBER and schema.kinds[name] is Kind.FLOAT):
                growth[name] = wider
            elif fitted is None:
                expected = schema.kinds[name].noun
                detail = f"attribute {name!r} of type {kind} should be {expected}, and is {shown(item)}"
                raise _Refused("schema", detail + _why_no_value(item))
            if fitted is not None:
                values[name] = fitted
    for name in attributes:
        if name in schema.required.get(kind, ()) and name not in values and name not in growth:
            raise _Refused("schema", f"attribute {name!r} of type {kind} is required, and is absent or null")
    misfits = tuple(name for name in growth if name not in values)
    return Event(kind, ts, values, misfits, unknown, growth=growth)


def _why_no_value(item: Scalar) -> str:
    if isinstance(item, bool | str) or item is None or number_of(item) is not None:
        return ""
    return f", {_NO_NUMBER}"
