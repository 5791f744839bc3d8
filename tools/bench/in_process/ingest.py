"""Nested JSON to flat events: a definition's kernel beside orjson with the same picks in Python. One core.

With `--flink 1` also beside Flink's JSON format (a JDK and Maven are needed).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import orjson
from bench.shared.flink_format import VERSION, WAYS, seconds
from bench.shared.table import arguments, median, report

from saffron.engine.events.decoding.decode import Decoder
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.flat.flattening import Flattened, Flattener
from saffron.schema.schema import Kind, Schema

_EVENTS = 200_000
_BEGUN = 1_777_629_600_000
_ONLY = """
stream: shop
sources:
- topic: orders
  type: Order
  only: true
  ts: {field: meta.ts, format: epoch_ms}
  attributes: {user: user.id, country: user.geo.country, order: order.id, total: order.total, express: flags.express}
"""
_ALL = """
stream: shop
sources:
- topic: orders
  type: Order
  ts: {field: meta.ts, format: epoch_ms}
"""
_KINDS = {
    "user": Kind.STRING, "country": Kind.STRING, "order": Kind.STRING, "total": Kind.FLOAT, "express": Kind.BOOL,
}  # fmt: skip


def main() -> None:
    chosen = arguments(__doc__ or "", flink=0)
    draw = random.Random(1)
    values = [orjson.dumps(_message(number, draw)) for number in range(_EVENTS)]
    batch = batch_of_values(values, times=np.full(_EVENTS, _BEGUN))
    only, whole = (Flattener(read_definition(text).sources[0]) for text in (_ONLY, _ALL))
    decoder = Decoder(Schema(_KINDS, {"Order": tuple(_KINDS)}, {}))
    rows = [
        _row("orjson, six picks in Python", lambda: [_picked(value) for value in values], chosen.runs),
        _row("definition, six of twenty leaves, flat JSON", lambda: only.flatten(batch), chosen.runs),
        _row("the same, and into columns", lambda: decoder.decode(_flat(only.flatten(batch))), chosen.runs),
        _row("definition, all leaves, flat JSON", lambda: whole.flatten(batch), chosen.runs),
    ]
    if chosen.flink:
        found = seconds(values, chosen.runs)
        rows += [_figures(f"{WAYS[way]} ({VERSION})", found[way]) for way in found]
    size = sum(map(len, values)) / len(values)
    report(f"nested JSON of {size:.0f} bytes in three levels, {chosen.runs} runs", rows, chosen.json)


def _message(number: int, draw: random.Random) -> dict[str, Any]:
    """An order as shops have it: twenty leaves."""
    geo = {"country": "DE", "city": "Berlin", "lat": 52.52, "lon": 13.405}
    return {
        "meta": {"event_id": f"ev-{number:08d}", "source": "web-shop", "version": 3, "ts": _BEGUN + number},
        "user": {"id": f"u{number % 5000}", "tier": "gold", "geo": geo},
        "order": {
            "id": f"O-{number}", "total": draw.randint(1, 99_999) / 100, "currency": "EUR", "items_count": 3,
            "coupon": None, "note": "leave it at the door",
        },
        "device": {"os": "android", "app": "5.1.2", "screen": {"w": 1080, "h": 2400}},
        "flags": {"gift": False, "express": True},
    }  # fmt: skip


def _picked(value: bytes) -> tuple[Any, ...]:
    whole = orjson.loads(value)
    user, order = whole["user"], whole["order"]
    express = whole["flags"]["express"]
    return whole["meta"]["ts"], user["id"], user["geo"]["country"], order["id"], order["total"], express


def _flat(flat: Flattened) -> RawBatch:
    return RawBatch(flat.buffer, flat.starts, flat.ends, flat.rows)


def _row(name: str, run: Callable[[], object], runs: int) -> dict[str, Any]:
    times = []
    for _ in range(runs + 1):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return _figures(name, times[1:])  # the first run warms caches


def _figures(name: str, times: Sequence[float]) -> dict[str, Any]:
    middle = median(times)
    return {"by": name, "seconds (median)": round(middle, 4), "events/s": round(_EVENTS / middle)}


if __name__ == "__main__":
    main()
