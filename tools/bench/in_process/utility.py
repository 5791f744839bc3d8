"""The cost of shedding events: features, look-ups, trees and draws per event, and the building of models.

A stream of six types with two attributes under a pane of 10 events. Each figure is the least time of the thread over
--runs runs, in ns an event.

- "array": the utility of an event whose key's slot is known (asked: 5 ns).
- "hash table": of a key by itself (30 ns).
- "forest": ten trees, each event walked (1,000 ns); then the rest of that time where keys are memoised.
- "whole": features, utilities and the draw, as the shedder does them.

One core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from bench.shared.table import arguments, report

from saffron.engine.events.column_operations import slice_columns
from saffron.engine.events.columns import Column, Columns
from saffron.engine.models.events.event_shedding import EventShedding
from saffron.engine.models.events.event_trainer import train_events
from saffron.engine.models.features.event_conditions import Comparison
from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.features.feature_counts import FeatureCounts
from saffron.engine.models.features.feature_keys import FeatureKeys, Features
from saffron.engine.models.features.features import Binned, FeatureSpec, Pane
from saffron.engine.models.features.forest import Forest
from saffron.engine.models.features.key_table import key_table, look_up
from saffron.engine.models.transitions.trainer import TransitionCounts, train_transitions
from saffron.schema.schema import Kind

TYPES = tuple("ABCDEF")
EVENTS, BLOCK, INTERVALS = 8192 * 40, 8192, 20
SPEC = FeatureSpec(
    known=tuple((name,) for name in TYPES),
    pane=Pane(10),
    frequency_edges=(1, 2, 3, 5, 8),
    attributes=(Binned("price", (1.0, 2.0, 4.0, 6.0, 8.0)),),
    conditions=(Comparison("price", ">", "prev"),),
)


def stream() -> Columns:
    """Types as in gSPICE's D5, prices uniform from 1 to 10."""
    rng = np.random.default_rng(5)
    shares = np.array([40.7, 6.8, 2.5, 40.7, 6.8, 2.5])
    seq = np.arange(EVENTS, dtype=np.int64)
    kinds = rng.choice(6, EVENTS, p=shares / shares.sum()).astype(np.int32)
    prices = {name: Column(Kind.FLOAT, rng.uniform(1, 10, EVENTS)) for name in ("price", "prev")}
    return Columns(seq, seq, seq, Column(Kind.STRING, kinds, TYPES), prices)


def counted(events: Columns) -> FeatureCounts:
    """A match is a dear C and the nearest D before it; the stream is observed in equal intervals."""
    counts, keys = FeatureCounts("q", 1, SPEC.identity), FeatureKeys(SPEC)
    found = keys.apply(events).keys
    price = np.asarray(events.attributes["price"].data)
    for part in np.array_split(np.arange(EVENTS), INTERVALS):
        last = part[(events.type.data[part] == 2) & (price[part] > 5)]
        others = part[events.type.data[part] == 3]
        place = np.searchsorted(others, last) - 1
        pairs = [[int(found[others[p]]), int(found[e])] for p, e in zip(place, last, strict=True) if p >= 0]
        seen, number = np.unique(found[part], return_counts=True)
        row = {"occurrences": dict(zip(seen.tolist(), number.tolist(), strict=True)), "matches": pairs}
        counts.add({"query": "q", "query_version": 1, "spec": SPEC.identity, "features": keys.news(), **row})
    return counts


def least(runs: int, work: Callable[[], object]) -> float:
    """Seconds of the thread, the least of so many runs; the first one, which compiles, is not counted."""
    work()
    times = []
    for _ in range(runs):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return min(times)


def passed(parts: list[Columns], shedding: EventShedding) -> None:
    """All blocks through a shedder of events at half of the load."""
    keys = FeatureKeys(SPEC)
    for part in parts:
        shedding.dropped(keys.apply(part), part.seq, 0.5, seed=1)


def measured(model: EventModel, events: Columns, runs: int) -> list[dict[str, Any]]:
    """A row for each figure."""
    parts = [slice_columns(events, at, at + BLOCK) for at in range(0, EVENTS, BLOCK)]
    features = FeatureKeys(SPEC).apply(events)
    vectors, found = features.rows(), np.empty(EVENTS)
    table = key_table(model.keys.keys, model.keys.values)
    known = EventShedding(model, "gspice-h")
    known.utilities(features)
    keys = FeatureKeys(SPEC)
    works: list[tuple[str, Callable[[], object], float]] = [
        ("features and key", lambda: [keys.apply(part) for part in parts], 0),
        ("utility, array", lambda: known.utilities(features), 5),
        ("utility, hash table", lambda: look_up(features.keys, table.keys, table.values, table.table, found), 30),
        ("tree, every event", lambda: _walked(model.tree, vectors), 0),
        ("forest, every event", lambda: _walked(model.forest, vectors), 1000),
        ("forest, memoised", lambda: _memoised(model, features), 0),
        ("draw", lambda: known.dropped(features, events.seq, 0.5, seed=1), 0),
    ]
    works.append(("whole, gspice-h", lambda: passed(parts, EventShedding(model, "gspice-h")), 0))
    return [
        {"step": name, "ns an event": least(runs, work) / EVENTS * 1e9, "asked": asked or ""}
        for name, work, asked in works
    ]


def _walked(trees: Forest | None, vectors: Any) -> object:
    return None if trees is None else trees.utilities(vectors)


def _memoised(model: EventModel, features: Features) -> object:
    return EventShedding(model, "gspice-forest").utilities(features)


def transition_model(window: int) -> object:
    """A model of nine steps over a window of so many events, as pSPICE's figure 9 has it."""
    counts = TransitionCounts("q", 1, 11, window, True)
    rng = np.random.default_rng(1)
    cells = {(s, t): 10_000 if s == t else 100 for s in range(10) for t in (s, s + 1)}
    for (source, target), count in cells.items():
        counts.add(source, target, count)
    for _ in range(500):
        sample = {cell: int(rng.integers(0, count)) for cell, count in cells.items()}
        counts.add_time(sample, sum(sample.values()) * 20)
    return train_transitions(counts, (1, 1), {})


def _built(window: int) -> dict[str, Any]:
    seconds = least(2, lambda: transition_model(window))
    return {
        "model": f"transitions, window {window:,}, 500 samples",
        "seconds": seconds,
        "asked": {6_000: 1.0, 32_000: 2.4}[window],
    }


def main() -> None:
    chosen = arguments(__doc__ or "")
    events = stream()
    counts = counted(events)
    model = train_events(counts, SPEC, (1, 1), {})
    rows = measured(model, events, chosen.runs)
    size = f"{len(model.keys.keys):,} keys, {model.matches:,.0f} matches, {EVENTS:,} events"
    report(f"Shedding of events: {size}", rows, chosen.json)
    building = [
        {
            "model": "events, with trees",
            "seconds": least(1, lambda: train_events(counts, SPEC, (1, 1), {})),
            "asked": "",
        },
        *(_built(window) for window in (6_000, 32_000)),
    ]
    report("Building models", building, None)


if __name__ == "__main__":
    main()
