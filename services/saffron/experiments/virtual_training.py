"""The training share: a run without shedding that gives the server's capacity, the cost of counts, and the models."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.models.reader import AnyModel
from saffron.engine.models.transitions.latency import LatencySamples
from saffron.engine.models.transitions.model import LatencyModel
from saffron.engine.models.transitions.trainer import TransitionCounts, train_latency, train_transitions
from saffron.errors import InputError
from saffron.experiments.kind_rates import KindRates
from saffron.experiments.virtual_cost import ORDER_NS, Cost, StatedCost, Work, fit
from saffron.experiments.virtual_learning import VERSION, Learning, learn
from saffron.experiments.virtual_server import Server

_TRANSITIONS = "observations.transitions"
_FEATURES = "observations.features"


@dataclass(frozen=True)
class Sample:
    """A sample of one block: counts, measured ns, the partial matches alive in its middle, and observations."""

    work: Work
    measured: int
    alive: int
    rows: Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Trained:
    """The outcome of training. `capacity`: events a second of the server. `seconds`: the real time of its engines.

    `models`: as a builder would publish them. `rates`: of kinds of events, by query.
    """

    capacity: float
    seconds: float
    cost: Cost
    models: tuple[AnyModel, ...]
    rates: Mapping[str, KindRates]


def train(
    server: Server, blocks: Iterable[Block], stream: str, stated: Mapping[str, float] | None, features: Learning
) -> Trained:
    """Apply the blocks, and learn from them. `stated`: ns a check by query; None: fitted to measured times."""
    samples: list[Sample] = []
    before = 0
    for block in blocks:
        began = time.thread_time_ns()
        _, work = server.apply(block)
        measured = time.thread_time_ns() - began
        matcher = server.engines.matcher
        alive = sum(matcher.statistics()["partial_matches"].values())
        samples.append(Sample(work, measured, (before + alive) // 2, matcher.observations()))
        before = alive
    if not any(sample.work.events for sample in samples):
        raise InputError("no events to train on: raise --train, or give more events")
    cost: Cost = StatedCost(stated) if stated is not None else fit([(one.work, one.measured) for one in samples])
    spent = [cost.of(sample.work) for sample in samples]
    total = sum(sum(own.values()) for own in spent)
    events = sum(sample.work.events for sample in samples)
    if total <= 0:
        raise InputError("the training share cost nothing: state a cost above 0, or give more events")
    rows = [row for sample in samples for row in sample.rows.get(_FEATURES, ())]
    lessons = learn(rows, features)
    models = (_latency(stream, samples, spent), *_transitions(samples, spent), *lessons.models)
    seconds = sum(sample.measured for sample in samples) / 1e9
    return Trained(events / total * 1e9, seconds, cost, models, lessons.rates)


def _latency(stream: str, samples: Sequence[Sample], spent: Sequence[Mapping[str, float]]) -> LatencyModel:
    """The latency model: f from the virtual costs, g from the cost of an order."""
    book = LatencySamples()
    for sample, own in zip(samples, spent, strict=True):
        book.processed(sample.alive, sample.work.events, round(sum(own.values())))
        book.shed(sample.alive, round(ORDER_NS * sample.alive))
    sums = {
        function: [[weight, weight * load, nanoseconds] for load, weight, nanoseconds in rows]
        for function, rows in book.drain().items()
    }
    return train_latency(stream, sums["processing"], sums["shedding"], VERSION, {})


def _transitions(samples: Sequence[Sample], spent: Sequence[Mapping[str, float]]) -> list[AnyModel]:
    """The models of transitions, with times fitted to the costs of each query's blocks, as the builder does."""
    books: dict[str, TransitionCounts] = {}
    for sample, own in zip(samples, spent, strict=True):
        observed = sample.rows.get(_TRANSITIONS, ())
        for name in dict.fromkeys(str(row["query"]) for row in observed):
            rows = [row for row in observed if row["query"] == name]
            _observe(books.setdefault(name, _empty(rows[0])), rows, round(own.get(name, 0.0)))
    return [
        train_transitions(counts, VERSION, {}) for counts in books.values() if counts.is_sane and counts.is_trainable
    ]


def _empty(row: Mapping[str, Any]) -> TransitionCounts:
    window = row["window"]
    return TransitionCounts(
        str(row["query"]), int(row["query_version"]), int(row["states"]), int(window["size"]), bool(window["events"])
    )


def _observe(counts: TransitionCounts, rows: Sequence[Mapping[str, Any]], nanoseconds: int) -> None:
    """Adds a query's observations of one block to its counts. `nanoseconds`: the block's cost for the query.

    "events" and "lived" are of the whole query, so that the greatest of its `rows` counts.
    """
    counts.events += max(int(row.get("events", 0)) for row in rows)
    counts.lived += max(int(row.get("lived", 0)) for row in rows)
    cells = {(int(row["from"]), int(row["to"])): int(row["count"]) for row in rows}
    for (source, target), count in cells.items():
        counts.add(source, target, count)
    for row in rows:
        for followed in row.get("followed", ()):
            counts.add_followed(*followed)
    counts.add_time(cells, nanoseconds)
