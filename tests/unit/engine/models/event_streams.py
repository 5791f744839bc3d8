"""Random events and specifications for tests of features."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from saffron.engine.events.columns import Column, Columns
from saffron.engine.models.features.event_conditions import OPERATORS, Comparison, Computed, Number
from saffron.engine.models.features.feature_counts import FeatureCounts
from saffron.engine.models.features.feature_keys import FeatureKeys
from saffron.engine.models.features.features import Binned, FeatureSpec, Pane, Value
from saffron.schema.schema import NULL_INT, Kind

SYMBOLS = ("IBM", "MSFT", "KO")
SPEC = FeatureSpec(known=(("A",), ("B",), ("C",)), pane=Pane(3), attributes=(Binned("price", (1.0, 2.5)),))


def random_events(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Events in order, with nulls, ties in time and values at the edges of bins."""
    ts, events = 0, []
    for _ in range(count):
        ts += rng.choice((0, 0, 1, 3, 20))
        events.append(
            {
                "type": rng.choice("ABCD"),
                "ts": ts,
                "symbol": rng.choice((*SYMBOLS, "XOM", None)),
                "id": rng.choice((None, 1, 2, 3)),
                "price": rng.choice((None, 0.0, 1.0, 2.5, 5.0, -math.inf, math.inf)),
                "prev": rng.choice((None, 1.0, 2.5)),
                "up": rng.choice((None, False, True)),
            }
        )
    return events


def random_spec(rng: random.Random) -> FeatureSpec:
    """Any combination of features over such events."""
    choices: list[tuple[tuple[str, ...], list[tuple[Value, ...]]]] = [
        (("type",), [("A",), ("B",), ("C",)]),
        (("type",), []),
        (("type", "symbol"), [("A", "IBM"), ("A", None), ("B", "KO"), ("C", None)]),
        (("symbol", "id"), [("IBM", 1), (None, 2), ("KO", None)]),
    ]
    kinds, values = rng.choice(choices)
    edges = tuple(sorted(rng.sample((-1.0, 0.0, 1.0, 2.5, 3.0, 5.0), rng.randrange(6))))
    operators = rng.sample(OPERATORS, rng.randrange(3))
    conditions = [Comparison(random_number(rng), operator, random_number(rng)) for operator in operators]
    return FeatureSpec(
        kinds=kinds,
        known=tuple(values),
        pane=Pane(rng.choice((1, 2, 3, 7, 40)), rng.random() < 0.5),
        frequency_edges=tuple(sorted(rng.sample(range(1, 12), rng.randrange(6)))),
        attributes=(Binned("price", edges), Binned("up", (1.0,)), Binned("id", (2.0, 3.0)))[: rng.randrange(4)],
        conditions=tuple(conditions),
        seed=rng.getrandbits(60),
    )


def random_number(rng: random.Random, depth: int = 2) -> Number:
    """A number computed from such an event."""
    if not depth or rng.random() < 0.4:
        return rng.choice(("price", "prev", "id", "up", 0.0, -1.0, 2.5))
    operator = rng.choice(("+", "-", "*", "/", "%", "abs", "sqrt", "negative"))
    operands = (random_number(rng, depth - 1), random_number(rng, depth - 1))
    if operator in ("abs", "sqrt", "negative"):
        return Computed(operator.replace("negative", "-"), operands[:1])
    return Computed(operator, operands)


def as_columns(events: Sequence[dict[str, Any]], first: int = 0) -> Columns:
    """The events as columns; strings are coded for each call anew."""
    ts = np.array([event["ts"] for event in events], dtype=np.int64)
    return Columns(
        seq=np.arange(first, first + len(events), dtype=np.int64),
        ts=ts,
        time=np.zeros(len(events), dtype=np.int64),
        type=_strings([event["type"] for event in events]),
        attributes={
            "symbol": _strings([event["symbol"] for event in events]),
            "id": Column(
                Kind.INT, np.array([NULL_INT if e["id"] is None else e["id"] for e in events], dtype=np.int64)
            ),
            "price": _floats([event["price"] for event in events]),
            "prev": _floats([event["prev"] for event in events]),
            "up": Column(Kind.BOOL, np.array([-1 if e["up"] is None else e["up"] for e in events], dtype=np.int8)),
        },
    )


def observed(seed: int, rows: int, events: int) -> tuple[FeatureCounts, FeatureKeys]:
    """A match is an A with a price above 2.5 and the B right behind it; other events are for nothing."""
    rng, keys = random.Random(seed), FeatureKeys(SPEC)
    found = FeatureCounts("q", 1, SPEC.identity)
    for _ in range(rows):
        happened = random_events(rng, events)
        features = keys.apply(as_columns(happened))
        matches = [
            [int(features.keys[i]), int(features.keys[i + 1])]
            for i in range(events - 1)
            if happened[i]["type"] == "A" and (happened[i]["price"] or 0) > 2.5 and happened[i + 1]["type"] == "B"
        ]
        occurrences = dict(zip(*(part.tolist() for part in np.unique(features.keys, return_counts=True)), strict=True))
        row = {"occurrences": occurrences, "matches": matches, "features": keys.news()}
        assert found.add({"query": "q", "query_version": 1, "spec": SPEC.identity, **row})
    return found, keys


def _strings(values: Sequence[str | None]) -> Column:
    codes: dict[str, int] = {}
    data = [-1 if value is None else codes.setdefault(value, len(codes)) for value in values]
    return Column(Kind.STRING, np.array(data, dtype=np.int32), tuple(codes))


def _floats(values: Sequence[float | None]) -> Column:
    return Column(Kind.FLOAT, np.array([math.nan if value is None else value for value in values], dtype=np.float64))
