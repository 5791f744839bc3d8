"""Blocks from lists of events, for the tests of trends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.schema_record import schema_to_record
from saffron.schema.schema import NULL_INT, Kind, Schema

KINDS = {"k": Kind.STRING, "g": Kind.INT, "x": Kind.FLOAT, "n": Kind.INT, "f": Kind.BOOL, "h": Kind.FLOAT}
SCHEMA = Schema(KINDS, {name: tuple(KINDS) for name in "ABCDE"}, {name: frozenset() for name in "ABCDE"})


def column(kind: Kind, values: Sequence[Any]) -> Column:
    if kind is Kind.STRING:
        distinct = tuple(dict.fromkeys(value for value in values if value is not None))
        codes = [-1 if value is None else distinct.index(value) for value in values]
        return Column(kind, np.array(codes, dtype=np.int32), distinct)
    if kind is Kind.FLOAT:
        return Column(kind, np.array([np.nan if value is None else value for value in values], dtype=np.float64))
    if kind is Kind.INT:
        return Column(kind, np.array([NULL_INT if value is None else value for value in values], dtype=np.int64))
    return Column(kind, np.array([-1 if value is None else value for value in values], dtype=np.int8))


def columns_of(events: Sequence[Mapping[str, Any]], kinds: Mapping[str, Kind] = KINDS) -> Columns:
    return Columns(
        seq=np.array([event["seq"] for event in events], dtype=np.int64),
        ts=np.array([event["ts"] for event in events], dtype=np.int64),
        time=np.array([event.get("time", 0) for event in events], dtype=np.int64),
        type=column(Kind.STRING, [event["type"] for event in events]),
        attributes={name: column(kind, [event.get(name) for event in events]) for name, kind in kinds.items()},
    )


def block_of(
    events: Sequence[Mapping[str, Any]],
    first: int,
    stop: int,
    *,
    watermark: int,
    end: bool = False,
    controls: tuple[Control, ...] = (),
    opened: Mapping[str, tuple[int, ...]] | None = None,
    kinds: Mapping[str, Kind] = KINDS,
) -> Block:
    """The block of positions first..stop-1; `events` are all of the stream, some may be missing (dropped whole)."""
    inside = [event for event in events if first <= event["seq"] < stop]
    return Block(
        columns=columns_of(inside, kinds),
        first_seq=first,
        next_seq=stop,
        watermark=watermark,
        end=end,
        controls=controls,
        opened=opened or {},
    )


def schema_control(position: int = 0, schema: Schema = SCHEMA) -> Control:
    return Control(position, "schema", {"schema": schema_to_record(schema)})


def query_control(
    name: str, position: int = 0, *, op: str = "add", text: str = "", slot: int = 0, since: str = "now"
) -> Control:
    body = {"op": op, "name": name, "version": 1, "text": text or name, "slot": slot, "from": since}
    return Control(position, "query", body)
