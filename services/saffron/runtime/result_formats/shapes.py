"""Conversions between results as JSON and as records of the fixed schemas (schemas/*.avsc, *.proto).

A record has the fields of the JSON object, with names instead of positions. An interval is {lo, hi}. A node of a graph
is {variable, seq, before}. An event's attributes are a map of their own; the end of an imprecise time is `ts_latest`.
Integers beyond 64 bits in RETURN are decimal strings, as scaled counts always are. Arrays and objects are JSON texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from saffron.engine.operators.result_values import read_result, within_64_bits

Fields = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """The conversions of a topic.

    `loads`: parses its JSON. `record`: from a JSON object, which is consumed. `result`: back.
    """

    loads: Callable[[bytes], Any]
    record: Callable[[Fields], Fields]
    result: Callable[[Mapping[str, Any]], Fields]


class _EventRecord(Fields):
    """An event that is a record already."""


def _complex_event_loads(text: bytes) -> Fields:
    """The parsed result. An event whose own attribute is named `seq` has that name twice; both are kept."""
    result: Fields = orjson.loads(text)
    bound = result.get("events", {}).values()
    events = sum(len(one) if isinstance(one, list) else one is not None for one in bound)
    if text.count(b'"seq":') == events:
        return result
    apart: Fields = json.loads(text, object_pairs_hook=_object)
    return apart


def _object(pairs: list[tuple[str, Any]]) -> Fields:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    (_, seq), (_, ts), (_, kind), *attributes = pairs
    return _EventRecord(
        _event_record({"seq": seq, "ts": ts, "type": kind}),
        attributes={name: _scalar(value) for name, value in attributes},
    )


def _complex_event_record(result: Fields) -> Fields:
    """The record of a match, of a run that timed out, or of a graph of matches. The JSON object becomes the record."""
    result["window"] = None if result["window"] is None else _interval(result["window"])
    result["events"] = {name: _bound(_event_record, bound) for name, bound in result.get("events", {}).items()}
    result["return"] = _scalars(result.get("return", {}))
    if "nodes" in result:
        names = ("variable", "seq", "before")
        result["nodes"] = [dict(zip(names, node, strict=True)) for node in result["nodes"]]
    return result


def _complex_event(record: Mapping[str, Any]) -> Fields:
    """The JSON object of a match, of a run that timed out, or of a graph of matches."""
    window = record["window"]
    result = _only(record, "id", "query", "partition", "key", "start", "end")
    result["window"] = None if window is None else [window["lo"], window["hi"]]
    if record["count"] is not None:
        result |= _only(record, "count", "variables")
        if record["chunks"] is not None:
            result |= _only(record, "chunk", "chunks")
        result["nodes"] = [[node["variable"], node["seq"], node["before"]] for node in record["nodes"]]
    else:
        if record["events"]:  # empty under EMIT VALUES
            result["events"] = {name: _bound(_event, bound) for name, bound in record["events"].items()}
        result |= _only(record, "timeout", "waiting") if record["timeout"] else _only(record, "return")
        if record["confidence"] is not None:
            result["confidence"] = record["confidence"]
    result["detected_at"] = record["detected_at"]
    return result


def _trend_record(result: Fields) -> Fields:
    result["window"] = _interval(result["window"])
    result["return"] = _scalars(result["return"])
    return result


def _trend(record: Mapping[str, Any]) -> Fields:
    window = record["window"]
    result = _only(record, "id", "query", "partition") | {"window": [window["lo"], window["hi"]]}
    result |= _only(record, "group", "return", "exact")
    if record["shed"] is not None:
        result["shed"] = record["shed"]
    result["detected_at"] = record["detected_at"]
    return result


SHAPES: Mapping[str, Shape] = {
    "complex-events": Shape(_complex_event_loads, _complex_event_record, _complex_event),
    "trends": Shape(read_result, _trend_record, _trend),
}
"""The conversions by topic."""


def _only(record: Mapping[str, Any], *names: str) -> Fields:
    return {name: record[name] for name in names}


def _scalars(values: Mapping[str, Any]) -> Fields:
    return {name: _scalar(value) for name, value in within_64_bits(values).items()}


def _scalar(value: Any) -> Any:
    return orjson.dumps(value).decode() if isinstance(value, list | dict) else value


def _interval(pair: list[int]) -> Fields:
    return {"lo": pair[0], "hi": pair[1]}


def _bound(form: Callable[[Any], Fields], bound: Any) -> Any:
    """What a variable is bound to, in another form: an event, a list of them, or None."""
    return [form(event) for event in bound] if isinstance(bound, list) else bound and form(bound)


def _event_record(event: Fields) -> Fields:
    """The record of an event. The JSON object is consumed; a record is returned as it is.

    `ts_latest` is None where the time is precise.
    """
    if isinstance(event, _EventRecord):
        return event
    seq, ts, kind = event.pop("seq"), event.pop("ts"), event.pop("type")
    lo, hi = ts if isinstance(ts, list) else (ts, None)
    return {
        "seq": seq,
        "ts": lo,
        "ts_latest": hi,
        "type": kind,
        "attributes": {name: _scalar(value) for name, value in event.items()},
    }


def _event(record: Mapping[str, Any]) -> Fields:
    lo, hi = record["ts"], record["ts_latest"]
    return {"seq": record["seq"], "ts": lo if hi is None else [lo, hi], "type": record["type"], **record["attributes"]}
