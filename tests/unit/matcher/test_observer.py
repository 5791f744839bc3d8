"""What the matcher tells the model builder of its latencies: f without the time of drops, and g."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import orjson

from saffron.engine.events.block import Block, Control
from saffron.engine.models.transitions.latency import LatencySamples, fit
from saffron.engine.operators.operator import ResultOperator
from saffron.matcher.observer import MatcherObserver
from saffron.runtime.log.topics import Topics
from tests.unit.runtime.fakes import columns

TOPICS = Topics("t.")
KEEP = Control(0, "keep", {})
BLOCK = Block(columns([0, 1], [0, 0], [0, 0]), 0, 2, 0)


class Operator:
    """An operator that has met drop orders."""

    def __init__(self) -> None:
        self.shedding_ns = 0
        self.rows: list[Mapping[str, Any]] = []

    def dropped(self, partial_matches: int, nanoseconds: int) -> None:
        self.shedding_ns += nanoseconds
        self.rows.append({"partial_matches": partial_matches, "nanoseconds": nanoseconds})

    def cost(self) -> tuple[int, int]:
        return 10, self.shedding_ns

    def observations(self) -> Mapping[str, list[Mapping[str, Any]]]:
        rows, self.rows = self.rows, []
        return {"observations.latency": rows} if rows else {}


def told(observer: MatcherObserver, operator: Operator) -> list[Any]:
    messages = observer.messages(cast("ResultOperator", operator))
    assert all(topic == TOPICS.observations_latency for topic, _, _ in messages)
    return [orjson.loads(value) for _, _, value in messages]


def test_drops_are_samples_of_g_and_their_time_is_not_f() -> None:
    operator, observer = Operator(), MatcherObserver(TOPICS, "events", 3)
    observer.applied(BLOCK, cast("ResultOperator", operator), 600)
    operator.dropped(500, 70_000)
    observer.applied(replace(BLOCK, controls=(KEEP,)), cast("ResultOperator", operator), 70_400)
    (message,) = told(observer, operator)
    assert message == {
        "stream": "events",
        "partition": 3,
        "processing": [[10, 4, 1000]],
        "shedding": [[500, 1, 70_000]],
    }
    assert told(observer, operator) == []


def test_g_is_learned_from_them_as_f_is() -> None:
    samples = LatencySamples()
    for partial_matches in (100, 400, 1600, 6400):
        samples.shed(partial_matches, 2_000 + 30 * partial_matches)
    sums = [[count, count * load, time] for load, count, time in samples.drain()["shedding"]]
    function = fit(sums)
    assert function is not None
    assert function.shape == "linear"
    assert round(function(1000)) == 32_000
