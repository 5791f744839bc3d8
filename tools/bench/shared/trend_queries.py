"""The trend queries and streams of the benchmark: GRETA's Q1 to Q3 with their ten predicates, and seeded streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import zstandard
from bench.shared.stock import QUOTES

from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.decoding.ndjson import decode_ndjson
from saffron.schema.schema import Kind, Schema

FACTORS = (1.0, 1.05, 1.1, 1.15, 1.2)
_SEED = 2017
_SHAPES = {
    "Q1": "RETURN sector, COUNT(*) PATTERN Quote E+ WHERE [symbol, sector] AND {} GROUP BY sector WITHIN {}",
    "Q2": "RETURN mapper, SUM(E.cpu) PATTERN SEQ(Start S, Measurement E+, End F) WHERE [job, mapper] AND {}"
    " GROUP BY mapper WITHIN {}",
    "Q2 per job": "RETURN job, COUNT(*), SUM(E.cpu) PATTERN Load E+ WHERE [job] AND {} GROUP BY job WITHIN {}",
    "Q3": "RETURN segment, COUNT(*), AVG(E.speed) PATTERN SEQ(NOT Ground G, Position E+) WHERE [vehicle, segment]"
    " AND {} GROUP BY segment WITHIN {}",
}
_ASKED = {"Q1": "price", "Q2": "load", "Q2 per job": "cpu", "Q3": "speed"}


@dataclass(frozen=True)
class Workload:
    """A query over a stream (`stream_of`)."""

    name: str
    stream: str
    text: str


def papers() -> Iterator[Workload]:
    """Each query with each predicate, and without one. Windows are the paper's, or as long as the data are sparse."""
    windows = {
        "Q1": ("quotes", "10 minutes SLIDE 10 seconds"),
        "Q2": ("cluster", "1 minute SLIDE 30 seconds"),
        "Q2 per job": ("cluster_load", "1 day SLIDE 12 hours"),
        "Q3": ("aircraft", "5 minutes SLIDE 1 minute"),
    }
    for name, (stream, window) in windows.items():
        for predicate in ("", *predicates(_ASKED[name])):
            text = _SHAPES[name].format(predicate or "E.ts >= 0", window)
            yield Workload(f"{name} {predicate or 'no predicate'}", stream, text)


def predicates(attribute: str) -> Iterator[str]:
    for operator in ("<", ">"):
        for factor in FACTORS:
            scaled = f"E.{attribute}" if factor == 1.0 else f"E.{attribute} * {factor}"
            yield f"{scaled} {operator} NEXT(E).{attribute}"


@cache
def stream_of(name: str, folder: Path | None) -> tuple[Schema, Columns] | None:
    """A stream by name; None where it is one of the data sets that only `folder` has."""
    if name == "quotes":
        return decode_ndjson(zstandard.ZstdDecompressor().stream_reader(QUOTES.open("rb")).read())
    if name == "cluster":
        return cluster(300_000)
    path = None if folder is None else folder / f"{name}.ndjson.zst"
    if path is None or not path.exists():
        return None
    return decode_ndjson(zstandard.ZstdDecompressor().stream_reader(path.open("rb")).read())


def cluster(events: int) -> tuple[Schema, Columns]:
    """The paper's cluster stream: 3,000 a second, ids in 0..10, cpu and memory in 0..1000, load Poisson(100)."""
    rng = np.random.Generator(np.random.PCG64(_SEED))
    types = rng.choice(3, events, p=(0.05, 0.9, 0.05))
    values = {
        "job": rng.integers(0, 11, events),
        "mapper": rng.integers(0, 11, events),
        "cpu": rng.integers(0, 1001, events),
        "memory": rng.integers(0, 1001, events),
        "load": rng.poisson(100, events),
    }
    return _columns(np.arange(events) // 3, types, ("Start", "Measurement", "End"), values)


def uniform(events: int, groups: int = 1) -> tuple[Schema, Columns]:
    """A stream with one event of type A a millisecond: v uniform in 0..1, key one of `groups`."""
    rng = np.random.Generator(np.random.PCG64(_SEED + events + groups))
    values = {"v": rng.random(events), "key": rng.integers(0, groups, events)}
    return _columns(np.arange(events), np.zeros(events, np.int64), ("A",), values)


def _columns(
    ts: np.ndarray, types: np.ndarray, names: tuple[str, ...], values: dict[str, np.ndarray]
) -> tuple[Schema, Columns]:
    kinds = {name: Kind.FLOAT if data.dtype.kind == "f" else Kind.INT for name, data in values.items()}
    schema = Schema(kinds, dict.fromkeys(names, tuple(kinds)), dict.fromkeys(names, frozenset()))
    return schema, Columns(
        seq=np.arange(len(ts), dtype=np.int64),
        ts=ts.astype(np.int64),
        time=np.zeros(len(ts), np.int64),
        type=Column(Kind.STRING, types.astype(np.int32), names),
        attributes={name: Column(kinds[name], data) for name, data in values.items()},
    )
