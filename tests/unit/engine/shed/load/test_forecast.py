"""Blocks that are forwarded behind others: how many partial matches they will meet, and that the loop stays calm."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from saffron.engine.events.block import Block
from saffron.engine.models.transitions.latency import LatencyFunction
from saffron.engine.models.transitions.model import LatencyModel
from saffron.engine.shed.drops.event_drops import EventDrops
from saffron.engine.shed.drops.traits import Traits
from saffron.engine.shed.known import Queries
from saffron.engine.shed.load.detector import Detector
from saffron.engine.shed.load.forecast import Forecast
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.shedding import Shedding
from tests.unit.engine.shed.blocks import columns
from tests.unit.engine.shed.shedders import shedder

BOUND = 1000.0
BLOCK_MS, REPORT_MS = 10, 50
BASE, EACH = 0.03, 0.03
TOOTH = 50
"""Events from one that completes all partial matches to the next; each other begins one."""


def test_what_was_reported_is_believed_until_something_came_of_it() -> None:
    forecast = Forecast()
    assert forecast.expected(7) == 7
    forecast.forwarded(100, 7)
    forecast.reported(50, 3, 10.0)
    assert forecast.expected(7) == 7


def test_of_partial_matches_that_come_and_go_the_mean_is_expected_and_little_of_what_is_known() -> None:
    forecast, random = Forecast(), np.random.default_rng(0)
    for seq, (known, came) in enumerate(random.integers(0, 60, (400, 2)).tolist(), 1):
        forecast.forwarded(seq, known)
        forecast.reported(seq, came, 20.0)
    assert 15 < forecast.expected(0) < 30
    assert 30 < forecast.expected(60) < 45


@pytest.mark.parametrize("swing", [2.0, 400.0])
def test_partial_matches_that_stay_are_expected_as_they_are(swing: float) -> None:
    forecast = Forecast()
    for seq in range(1, 400):
        alive = round(1000 + swing * np.sin(seq / 30))
        forecast.forwarded(seq, alive)
        forecast.reported(seq, alive, 20.0)
    assert forecast.expected(1300) == pytest.approx(1300, rel=0.05)


class Pipeline:
    """A reader beside the shedder: blocks are forwarded before others are done, and reports come late."""

    def __init__(self) -> None:
        function = LatencyFunction("linear", 1e6 * BASE, 1e6 * EACH, 0.0)
        detector = Detector(model=LatencyModel("events", (0, 0), function, None, 1, {}))
        self.shedding = Shedding(Overload(BOUND, exempt=0.0), detector, EventDrops(0))
        self.free, self.tooth, self.alive = 0.0, 0, 0
        self.flying: deque[tuple[float, int, int, float, int]] = deque()  # done, next position, events, ms, alive
        self.latencies: list[float] = []
        self.waited: list[float] = []

    def run(self, rate: float, seconds: int) -> None:
        """`rate`: events a ms. Of each block are noted how long it had waited when it was taken, and its latency."""
        waiting: deque[tuple[int, int, int]] = deque()  # appended, first position, events
        seq = forwarded = done = 0
        for now in range(BLOCK_MS, 1000 * seconds, BLOCK_MS):
            size = int(rate * now) - seq
            waiting.append((now, seq, size))
            self.shedding.arrivals.arrived(size, now)
            seq += size
            if now % REPORT_MS == 0:
                done = self._report(now, done)
            while waiting and self.shedding.may_follow(done):
                appended, first, events = waiting.popleft()
                self._take(Block(columns(first, events), first, first + events, 0), appended, now, forwarded - done)
                forwarded = first + events

    def _take(self, block: Block, appended: int, now: int, in_flight: int) -> None:
        since = now - appended + BLOCK_MS
        shed = self.shedding.plan(block, since, now, Queries({"q": Traits(shedder("bl"))}, {"q": 0}, {}), in_flight)
        spent = 0.0
        for gone in [0] * len(block.columns) if shed.events.mask is None else shed.events.mask.tolist():
            self.tooth += 1
            spent += 0 if gone else BASE + EACH * self.alive
            self.alive = 0 if self.tooth % TOOTH == 0 else self.alive + (not gone)
        self.free = max(self.free, now) + spent
        self.flying.append((self.free, block.next_seq, len(block.columns), spent, self.alive))
        self.latencies.append(self.free - appended + BLOCK_MS)
        self.waited.append(since)

    def _report(self, now: int, done: int) -> int:
        """What is done by now; without anything the reader only lives."""
        over = []
        while self.flying and self.flying[0][0] <= now:
            over.append(self.flying.popleft())
        if over or not done:
            _, done, _, _, alive = over[-1] if over else (0.0, done, 0, 0.0, 0)
            spent, events = sum(one[3] for one in over), sum(one[2] for one in over)
            load = {"service": "matcher", "partial_matches": {"q": alive}, "position": done, "events": max(1, events)}
            self.shedding.detector.observe({**load, "processing_ns": int(1e6 * spent)})
        return done


def test_the_backlog_of_a_pipeline_does_not_come_and_go_with_what_is_alive() -> None:
    pipeline = Pipeline()
    pipeline.run(1.5 / (BASE + EACH * TOOTH / 2), 30)
    late = np.array(pipeline.waited[len(pipeline.waited) // 3 :])
    assert np.quantile(pipeline.latencies, 0.999) < BOUND
    assert late.min() > 200, "it is never all gone, which much too much must have been shed for"
    assert np.quantile(late, 0.99) - np.quantile(late, 0.01) < 300
