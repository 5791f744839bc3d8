"""`$watermark` records: how far event time is, and the source partition that says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.engine.events.decoding.exact_json import shown
from saffron.engine.events.decoding.rules.event_times import timestamp
from saffron.engine.events.decoding.rules.outcomes import WATERMARK_TYPE, Mark, Refused, Source
from saffron.engine.events.decoding.rules.value_kinds import whole
from saffron.schema.schema import MAX_TS

_OF_A_MARK = ("type", "ts", "end", "source", "sources", "silent", "of", "among", "version", "lookups")


def mark_of(event: Mapping[str, Any]) -> Mark:
    """A `$watermark` record: its ts (ms), end, and source. Refused: an unknown attribute, or no ts."""
    if more := [name for name in event if name not in _OF_A_MARK]:
        raise Refused("schema", f"a {WATERMARK_TYPE} has no attribute {more[0]!r}; it has {', '.join(_OF_A_MARK)}")
    source = _source(event)
    silent = source is not None and source.silent
    if event.get("ts") is None and not silent:
        raise Refused("no-ts", f"a {WATERMARK_TYPE} needs a 'ts'")
    ts = -MAX_TS if event.get("ts") is None else timestamp(event["ts"])
    return Mark(ts, _flag(event, "end"), source)


def _source(event: Mapping[str, Any]) -> Source | None:
    """The source partition that a `$watermark` names, or None. Refused: the partition does not fit its source."""
    if not any(name in event for name in ("source", "sources", "silent")):
        return None
    number, count = (whole(event.get(name)) for name in ("source", "sources"))
    of, version = (whole(event.get(name, 0)) for name in ("of", "version"))
    among = str(event.get("among", "")).split()
    if of is None or version is None or not all(map(str.isdecimal, among)) or (among and str(of) not in among):
        raise Refused("schema", f"'of', 'among' and 'version' of a {WATERMARK_TYPE} are none of a merged stream")
    if number is None or count is None or not 0 <= number < count:
        raise Refused(
            "schema",
            f"'source' and 'sources' of a {WATERMARK_TYPE} should be a partition of the source and how many it has, "
            f"and are {shown(event.get('source'))} and {shown(event.get('sources'))}",
        )
    lookups = tuple(filter(None, str(event.get("lookups", "")).split("\n")))
    return Source(number, count, _flag(event, "silent"), of, tuple(map(int, among)), version, lookups)


def _flag(event: Mapping[str, Any], name: str) -> bool:
    given = event.get(name, False)
    if not isinstance(given, bool):
        raise Refused("schema", f"{name!r} of a {WATERMARK_TYPE} should be true or false, and is {shown(given)}")
    return given
