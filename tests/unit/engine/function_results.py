"""Events and results for tests of functions in queries."""

from __future__ import annotations

import json
import random
from typing import Any

from saffron.engine.events.block import Block, Control
from saffron.engine.events.column_operations import slice_columns
from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema(
    {"x": Kind.FLOAT, "n": Kind.LONG, "s": Kind.STRING, "t": Kind.BOOL, "l": Kind.ARRAY},
    {"A": ("x", "n", "s", "t", "l"), "B": ("x", "n", "s", "t", "l")},
    {},
    given=True,
)
WITHIN = " WITHIN 9 ms "


def random_events(rng: random.Random, count: int) -> list[dict[str, Any]]:
    made = []
    for ts in range(count):
        event: dict[str, Any] = {"type": rng.choice("AB"), "ts": ts, "x": rng.choice([0, 0.5, 1, 1.5, 2, -1])}
        event |= {"s": rng.choice(["ab", "AB", "Ab", "é", "É", ""])} if rng.random() < 0.9 else {}
        event |= {"t": rng.random() < 0.5, "n": 2**62 + rng.randrange(2), "l": [rng.choice(["a", 1])]}
        event["low"] = event["s"].lower() if "s" in event else None
        event["floor"] = int(event["x"] // 1)
        made.append(event)
    return made


def results(query: str, events: list[dict[str, Any]], cuts: list[int], name: str = "q") -> list[dict[str, Any]]:
    """Of the query by itself, taken up from a snapshot behind each cut."""
    schema, columns = decode_ndjson("\n".join(map(json.dumps, events)).encode())
    kind = TrendOperator if "COUNT(" in query else MatchOperator
    operator = kind(partition=0, compiled=False)
    added = {"op": "add", "name": name, "version": 1, "text": query, "slot": 0, "from": "now", "shed": "none"}
    known = Control(0, "schema", {"schema": schema_to_record(schema)})
    controls: tuple[Control, ...] = (known, Control(0, "query", added))
    lines: list[bytes] = []
    for begin, stop in zip([0, *cuts], [*cuts, len(columns)], strict=True):
        last = stop == len(columns)
        watermark = 10**6 if last else int(columns.ts[stop])
        part = slice_columns(columns, begin, stop)
        found = operator.apply(Block(part, begin, stop, watermark, end=last, controls=controls))
        lines += found.json(0, len(found))
        assert operator.statuses()[name].state == "active", operator.statuses()
        controls = ()
        state = operator.snapshot()
        operator = kind(partition=0, compiled=False)
        operator.restore(state)
    return [json.loads(line) for line in lines]


def without_ids(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = [list((one.get("key") or one.get("group") or {}).values()) for one in found]
    plain = [{k: v for k, v in one.items() if k not in ("id", "key", "group")} for one in found]
    return [{**one, "by": key} for one, key in zip(plain, keys, strict=True)]
