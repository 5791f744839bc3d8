"""Random events and queries whose numbers lie where float64 stops telling them apart; blocks of them, by their JSON."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import orjson
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Columns
from saffron.engine.events.decoding.decode import Decoder
from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.trends.core import order
from saffron.engine.trends.ordered import ordered
from saffron.engine.trends.store import tree_codes
from saffron.schema.schema import Schema

Event = dict[str, Any]

WIDE = (2**53, 2**53 + 1, 2**53 + 2, 2**60, 2**60 + 1, 2**63 - 1, -(2**53) - 1)
FRACTIONS = (0.5, 2.0**53 + 2, 2.0**60, 2.0**63, -0.0, 1.0)
POOLS: tuple[tuple[float, ...], ...] = (
    (0, 1, 2, 3),
    (*WIDE, 1),
    (0, 1, 0.5, 2.5, 1.0),
    (*WIDE, *FRACTIONS, 1, 0),
    (2**60, 2**60 + 1, 2.0**60, 0.5),
)
OPERATORS = ("=", "=", "!=", "<", "<=", ">", ">=")


def hard_for_trees(rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few vertices make a tree, and codes run out and be forgotten after few numbers."""
    monkeypatch.setattr(ordered, "SHORT", rng.choice((0, 2, ordered.SHORT)))
    monkeypatch.setattr(order, "_STEP", rng.choice((2.0, 2.0**20)))
    monkeypatch.setattr(tree_codes, "_FEW", rng.choice((0, 4096)))


def stream(rng: random.Random, size: int) -> list[Event]:
    """Events of types A and B; x and y draw from pools of their own."""
    pools = {name: rng.choice(POOLS) for name in "xy"}
    events, ts = [], 0
    for seq in range(size):
        values = {name: None if rng.random() < 0.05 else rng.choice(pool) for name, pool in pools.items()}
        ts += rng.choice((0, 10, 10))
        events.append({"seq": seq, "ts": ts, "type": rng.choice("AB"), **values})
    return events


def number(rng: random.Random) -> str:
    """A literal; a whole number is written with a fraction or an exponent, too."""
    found = rng.choice([*WIDE, 0, 1, 0.5, 2.5, 2**53 - 1])
    return str(found) if isinstance(found, float) else f"{found}{rng.choice(('', '', '.0', 'e0'))}"


def comparison(rng: random.Random, sides: Sequence[str]) -> str:
    """Two of these, or one with literals."""
    left = rng.choice(sides)
    if rng.random() < 0.1:
        return f"{left} IN ({', '.join(number(rng).lstrip('-') for _ in range(2))})"
    right = rng.choice(sides) if rng.random() < 0.7 else number(rng)
    return f"{left} {rng.choice(OPERATORS)} {right}"


def condition(rng: random.Random, sides: Sequence[str]) -> str:
    """A comparison that a pattern with a closure may have: not of a whole list and of its current event at once."""
    while True:
        text = comparison(rng, sides)
        closed = any(f"{name}[]" in text or "[last]" in text for name in "ab")
        if not (closed and "[i" in text) and text.count("..") <= 1:
            return text


def batch(events: Sequence[Event]) -> RawBatch:
    """Their JSON, without positions."""
    return batch_of_values([record(event) for event in events])


def record(event: Event) -> bytes:
    parts = (f"{orjson.dumps(name).decode()}:{written(value)}" for name, value in event.items() if name != "seq")
    return f"{{{','.join(parts)}}}".encode()


def written(value: Any) -> str:
    """JSON; of a whole float all digits, since the shortest text that reads as it may stand for another number."""
    whole = isinstance(value, float) and value.is_integer()
    return f"{int(value)}.0" if whole else orjson.dumps(value).decode()


def schema_of(events: Sequence[Event]) -> Schema:
    return infer_schema([batch(events)])


def columns_of(events: Sequence[Event], schema: Schema) -> Columns:
    decoded = Decoder(schema).decode(batch(events))
    assert not decoded.growth
    seq = np.array([event["seq"] for event in events], np.int64)
    time = np.zeros(len(seq), np.int64)
    return Columns(seq, decoded.ts, time, decoded.type, decoded.attributes, latest=decoded.latest)


def control(schema: Schema, position: int = 0) -> Control:
    return Control(position, "schema", {"schema": schema_to_record(schema)})


def query(text: str, position: int = 0, **more: Any) -> Control:
    body = {"op": "add", "name": "q", "version": 1, "text": text, "slot": 0, "from": "now", "shed": "gspice-h"}
    return Control(position, "query", {**body, **more})


def blocks(
    events: Sequence[Event],
    cuts: Sequence[int],
    schemas: Sequence[tuple[int, Schema]],
    controls: Sequence[Control] = (),
) -> list[Block]:
    """The stream cut at `cuts`; `schemas`: from which event on which is in force, the first from 0 on."""
    bounds = sorted({0, len(events), *cuts, *(at for at, _ in schemas)})
    made = []
    for low, high in pairwise(bounds):
        schema = [one for at, one in schemas if at <= low][-1]
        own = tuple(control(one, low) for at, one in schemas if at == low)
        made.append(
            Block(
                columns=columns_of(events[low:high], schema),
                first_seq=low,
                next_seq=high,
                watermark=int(columns_of(events[high - 1 : high], schema).ts[0]),
                end=high == len(events),
                controls=(*own, *(controls if low == 0 else ())),
            )
        )
    return made
