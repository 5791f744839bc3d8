"""A Hadoop cluster's log, seeded: the event types that SASE++ asks about (section 6.5), in columns.

A cluster of 200 hosts runs some ten jobs at a time, each of about fifty mappers and five reducers. Every 15 seconds
each host reports its load (Metric, half of the events, which no query reads). The cluster then reports the spread of
load over its hosts (LoadStd), and whether that is small (Balance) or not (Imbalance, 5 % of the time, in bursts). The
log is a row of segments; a job never crosses from one into the next, which is what a log per day looks like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saffron.engine.events.columns import Column, Columns
from saffron.schema.schema import Kind, Schema

Ints = NDArray[np.int64]

SEGMENT = 1_000_000
_SEED = 20146
_HOSTS = 200
_TICK = 15_000  # ms between two reports
_PAUSE = 3_600_000  # ms between two segments: no window of minutes sees two
_GAP = 20_000  # ms between the starts of two jobs
_TASK = ("job", "task", "host")
TYPES: Mapping[str, tuple[str, ...]] = {
    "JobStart": ("job",),
    "JobEnd": ("job",),
    "MapStart": _TASK,
    "MapEnd": (*_TASK, "period"),
    "ReduceStart": _TASK,
    "ReduceEnd": (*_TASK, "period"),
    "DataPull": (*_TASK, "period", "size"),
    "DataIO": (*_TASK, "size"),
    "LoadStd": ("val",),
    "Balance": (),
    "Imbalance": (),
    "Metric": ("host", "val"),
}
_KINDS = {
    "job": Kind.STRING,
    "task": Kind.STRING,
    "host": Kind.STRING,
    "period": Kind.INT,
    "size": Kind.INT,
    "val": Kind.FLOAT,
}
_MAPS, _REDUCES = 200, 20  # at most, in a job
_TASKS = tuple(f"m_{k:06}" for k in range(_MAPS)) + tuple(f"r_{k:06}" for k in range(_REDUCES))
_PER_JOB = 260  # events of a job, about


def schema(*, imprecise: bool = False) -> Schema:
    """The schema of the log. `imprecise`: the cluster's reports on itself happened at some time in the 15 s before."""
    reported = dict.fromkeys(("LoadStd", "Balance", "Imbalance"), "uniform") if imprecise else {}
    return Schema(_KINDS, TYPES, dict.fromkeys(TYPES, frozenset()), given=True, times=reported)


@dataclass(frozen=True)
class _Part:
    """Events of one type: their times, and the attributes that they have."""

    type: str
    ts: Ints
    attributes: Mapping[str, NDArray[np.generic]]


def segments(events: int, *, imprecise: bool = False) -> Iterator[Columns]:
    """The first `events` events of the log, a million at a time, in order; always the same."""
    seq = ts = 0
    for number in range(-(-events // SEGMENT)):
        columns = _segment(number, min(SEGMENT, events - seq), seq, ts, imprecise=imprecise)
        yield columns
        seq, ts = seq + len(columns), int(columns.ts[-1]) + _PAUSE


def _segment(number: int, events: int, seq: int, ts: int, *, imprecise: bool) -> Columns:
    rng = np.random.Generator(np.random.PCG64([_SEED, number]))
    per_ms = _PER_JOB / _GAP + (_HOSTS + 2) / _TICK
    jobs = int(SEGMENT / per_ms / _GAP * 1.2) + 10  # too many: the rest is cut off
    parts = [*_jobs(rng, jobs), *_cluster(rng, jobs * _GAP)]
    order = np.argsort(np.concatenate([part.ts for part in parts]), kind="stable")[:events]
    names = tuple(f"job_{number:03}_{job:06}" for job in range(jobs))
    return _columns(parts, order, names, seq, ts, imprecise=imprecise)


def _columns(parts: list[_Part], order: Ints, jobs: tuple[str, ...], seq: int, ts: int, *, imprecise: bool) -> Columns:
    hosts = tuple(f"host{k:03}" for k in range(_HOSTS))
    values = {"job": jobs, "task": _TASKS, "host": hosts}
    names = tuple(TYPES)
    types = np.concatenate([np.full(len(part.ts), names.index(part.type), np.int32) for part in parts])[order]
    when = np.concatenate([part.ts for part in parts])[order] + ts
    attributes = {}
    for name, kind in _KINDS.items():
        each = [part.attributes.get(name, np.full(len(part.ts), kind.null, kind.dtype)) for part in parts]
        attributes[name] = Column(kind, np.concatenate(each).astype(kind.dtype)[order], values.get(name, ()))
    latest = None
    if imprecise:
        reported = np.isin(types, [names.index(one) for one in ("LoadStd", "Balance", "Imbalance")])
        latest = np.where(reported, when + _TICK - 1, when)
    return Columns(
        seq=np.arange(seq, seq + len(order)),
        ts=when,
        time=np.zeros(len(order), np.int64),
        type=Column(Kind.STRING, types, names),
        attributes=attributes,
        latest=latest,
    )


def _jobs(rng: np.random.Generator, jobs: int) -> Iterator[_Part]:
    starts = np.arange(jobs) * _GAP + rng.integers(0, _GAP, jobs)
    yield _Part("JobStart", starts, {"job": np.arange(jobs)})
    maps = _tasks(rng, starts, np.minimum(10 + rng.geometric(1 / 40, jobs), _MAPS), first=0, spread=60_000)
    took = rng.lognormal(10.2, 0.5, len(maps.ts)).astype(np.int64)  # about 30 s
    yield _Part("MapStart", maps.ts, maps.attributes)
    yield _Part("MapEnd", maps.ts + took, {**maps.attributes, "period": took})
    written = rng.integers(1, 1 << 20, len(took))
    yield _Part("DataIO", maps.ts + took, {**maps.attributes, "size": written})
    ends = np.zeros(jobs, np.int64)
    np.maximum.at(ends, maps.attributes["job"].astype(np.int64), maps.ts + took)
    counts = np.minimum(1 + rng.poisson(4, jobs), _REDUCES)
    reduces = _tasks(rng, starts + 30_000, counts, first=_MAPS, spread=30_000)
    pulls, ready = _pulls(rng, reduces)
    yield from pulls
    took = ready - reduces.ts + rng.integers(1_000, 30_000, len(ready))
    yield _Part("ReduceStart", reduces.ts, reduces.attributes)
    yield _Part("ReduceEnd", reduces.ts + took, {**reduces.attributes, "period": took})
    np.maximum.at(ends, reduces.attributes["job"].astype(np.int64), reduces.ts + took)
    yield _Part("JobEnd", ends + 1_000, {"job": np.arange(jobs)})


def _tasks(rng: np.random.Generator, starts: Ints, counts: Ints, first: int, spread: int) -> _Part:
    """`counts` tasks for each job, each started within `spread` ms."""
    job = np.repeat(np.arange(len(starts)), counts)
    task = np.arange(len(job)) - np.repeat(np.cumsum(counts) - counts, counts) + first
    host = rng.integers(0, _HOSTS, len(job))
    return _Part("", starts[job] + rng.integers(0, spread, len(job)), {"job": job, "task": task, "host": host})


def _pulls(rng: np.random.Generator, reduces: _Part) -> tuple[list[_Part], Ints]:
    """The pulls of each reducer, one after the other, and the time of its last. One in fifty takes 8 times as long."""
    counts = rng.integers(5, 16, len(reduces.ts))
    reducer = np.repeat(np.arange(len(counts)), counts)
    took = rng.lognormal(8.5, 0.4, len(reducer)) * np.where(rng.random(len(reducer)) < 0.02, 8, 1)  # about 5 s
    total = np.cumsum(took)
    before = np.concatenate([[0.0], total])[np.cumsum(counts) - counts]
    ts = reduces.ts[reducer] + (total - before[reducer]).astype(np.int64)
    ready = np.zeros(len(counts), np.int64)
    np.maximum.at(ready, reducer, ts)
    given = {name: values[reducer] for name, values in reduces.attributes.items()}
    size = rng.integers(1, 1 << 20, len(reducer))
    pulled = _Part("DataPull", ts, {**given, "period": took.astype(np.int64), "size": size})
    return [pulled, _Part("DataIO", ts, {**given, "size": -size})], ready


def _cluster(rng: np.random.Generator, length: int) -> Iterator[_Part]:
    ticks = np.arange(0, length, _TICK)
    val = np.empty(len(ticks))
    noise = rng.normal(size=len(ticks))
    level = 0.0
    for k, step in enumerate(noise):
        level = 0.7 * level + step
        val[k] = level
    val = np.round(10 + val, 3)
    yield _Part("LoadStd", ticks, {"val": val})
    unequal = val > np.quantile(val, 0.95)
    yield _Part("Balance", ticks[~unequal], {})
    yield _Part("Imbalance", ticks[unequal], {})
    host = np.tile(np.arange(_HOSTS), len(ticks))
    ts = np.repeat(ticks, _HOSTS) + rng.integers(0, _TICK, len(host))
    yield _Part("Metric", ts, {"host": host, "val": np.round(rng.random(len(host)), 3)})
