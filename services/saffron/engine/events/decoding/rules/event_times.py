"""The time of an event: when it happened, or an interval in which it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from saffron.engine.events.decoding.exact_json import shown
from saffron.engine.events.decoding.rules.outcomes import Event, Refused
from saffron.engine.events.decoding.rules.value_kinds import whole
from saffron.schema.iso_times import parse_iso
from saffron.schema.schema import MAX_INSTANTS, MAX_TS, Schema

DAY = 86_400_000


def times_of(event: Mapping[str, Any], time: int | None, max_future: int) -> tuple[int, int]:
    """The first and the last instant at which the event may have happened."""
    given = event.get("ts")
    if given is None:
        if time is None or time < 0:
            raise Refused("no-ts", "the event has no 'ts', and its message no time of its own")
        return time, time
    low, high = _interval(given) if isinstance(given, list) else (timestamp(given),) * 2
    if time is not None and time >= 0 and high > time + max_future:
        raise Refused("future-ts", f"ts {high} is more than {max_future} ms ahead of the message's own time {time}")
    return low, high


def _interval(given: list[Any]) -> tuple[int, int]:
    """Imprecise time [lo, hi] in ms, both included. Refused: it is no interval, or too long."""
    if len(given) != 2 or None in given or any(isinstance(bound, list) for bound in given):
        raise Refused("bad-ts", f"ts {shown(given)}: imprecise time is [lo, hi], two times and both included")
    low, high = timestamp(given[0]), timestamp(given[1])
    if low > high:
        raise Refused("bad-ts", f"ts {shown(given)}: imprecise time is [lo, hi], and here lo is later than hi")
    if high - low >= MAX_INSTANTS:
        raise Refused("bad-ts", f"ts {shown(given)}: imprecise time has at most {MAX_INSTANTS} ms from lo to hi")
    return low, high


def with_interval(event: Event, given: Any, latest: int, schema: Schema) -> Event:
    """The event with the interval [ts, `latest`] as its time. `given`: the value of `ts` in the record.

    Refused ("bad-ts"): the schema gives the event's type exact times.
    """
    if schema.distribution(event.type) is not None:
        return replace(event, latest=latest)
    if schema.given:
        why = f'the schema gives {event.type} exact times; "type": ["integer", "array"] of its ts allows intervals'
    else:
        why = "the stream's first events had exact times; give it a schema whose ts may be an array"
    raise Refused("bad-ts", f"ts {shown(given)} is an interval: {why}")


def timestamp(given: Any) -> int:
    """A time in ms since 1970, from whole ms or ISO 8601 text. Refused: it is neither, or beyond 2^53."""
    if isinstance(given, str):
        ts = parse_iso(given)
        if ts is None:
            raise Refused("bad-ts", f"ts {shown(given)} is not ISO 8601 (as 2024-05-01T12:30:00.250Z)")
    else:
        if isinstance(given, int | float) and abs(given) > MAX_TS:  # those that are no value are infinite here
            raise Refused("bad-ts", f"ts {shown(given)} is beyond 2^53 ms; is it in microseconds or nanoseconds?")
        ts = whole(given)
        if ts is None:
            raise Refused("bad-ts", f"ts {shown(given)} is neither whole milliseconds since 1970 nor ISO 8601 text")
    if abs(ts) > MAX_TS:
        raise Refused("bad-ts", f"ts {ts} is beyond 2^53 ms; is it in microseconds or nanoseconds?")
    return ts
