"""Queries of which some cost more than others: which of them lose what, and what a report tells of masked events."""

from __future__ import annotations

import numpy as np
import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.columns import Column, Columns, masked
from saffron.engine.shed.drops.allocation import Candidate
from saffron.engine.shed.drops.event_drops import EventDrops
from saffron.engine.shed.drops.loss_curve import SHARES, LossCurve
from saffron.engine.shed.drops.partial_curve import PartialCurve
from saffron.engine.shed.drops.splits import Droppable, best_split
from saffron.engine.shed.drops.traits import Traits
from saffron.engine.shed.known import Queries
from saffron.engine.shed.load.detector import Detector
from saffron.engine.shed.load.pace import Pace
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.shedding import Shed, Shedding
from saffron.schema.schema import Kind
from tests.unit.engine.shed.shedders import shedder

DEAR_NS, CHEAP_NS = 90_000, 10_000
"""An event costs so much in two queries; 2,000 partial matches are alive, nearly all of the cheap one."""


def told(
    position: int, events: int, dear: float = 1.0, cheap: float = 1.0, service: str = "matcher"
) -> dict[str, object]:
    """A report: so many events more are done, of which each query saw these shares."""
    own = {"dear": int(events * dear * DEAR_NS), "cheap": int(events * cheap * CHEAP_NS)}
    return {
        "service": service,
        "position": position,
        "events": events,
        "processing_ns": sum(own.values()),
        "nanoseconds": own,
        "partial_matches": {"dear": 40, "cheap": 1960},
    }


def planned(detector: Detector, queries: dict[str, str], queueing: float, events: int = 100) -> Shed:
    """What is done to a block of a stream that brings twice as many events as can be done, behind 10,000 others."""
    shedding = Shedding(Overload(1000.0, exempt=0.0), detector, EventDrops(0))
    for now in range(0, int(queueing), 10):
        shedding.arrivals.arrived(200, now)
    seq = np.arange(10_000, 10_000 + events, dtype=np.int64)
    kind = Column(Kind.STRING, np.zeros(events, np.int32), ("A",))
    block = Block(Columns(seq, seq, seq, kind, {}), 10_000, 10_000 + events, 0)
    traits = {name: Traits(shedder(by)) for name, by in queries.items()}
    return shedding.plan(block, queueing, queueing, Queries(traits, dict(zip(queries, (0, 1, 2), strict=False)), {}))


def known() -> Detector:
    detector = Detector()
    detector.observe(told(10_000, 10_000))
    return detector


def gone(shed: Shed, slot: int) -> float:
    return 0.0 if shed.events.mask is None else float(masked(shed.events.mask, slot).mean())


def test_a_query_of_which_events_are_masked_does_not_seem_cheap() -> None:
    detector = known()
    both = {"dear", "cheap"}
    before = detector.costs("matcher", both)
    assert before == pytest.approx({"dear": 0.9, "cheap": 0.1})
    for number in range(50):
        position = 11_000 + 1_000 * number
        detector.forwarded(position, 1_000, 2_000, {"dear": 0.1, "cheap": 1.0})
        detector.observe(told(position, 1_000, dear=0.1))
    assert detector.costs("matcher", both) == pytest.approx(before)
    assert detector.speed("matcher").processing(2_000) == pytest.approx(0.1, rel=0.01), "ms, if none is masked"
    detector.forwarded(200_000, 1_000, 2_000, {"dear": 0.01, "cheap": 1.0})
    detector.observe(told(200_000, 1_000, dear=0.5))
    assert detector.costs("matcher", both) == pytest.approx(before), "a query that saw next to none tells nothing"


def test_masked_events_are_not_reckoned_with_in_the_mean() -> None:
    pace = Pace()
    pace.forwarded(1_000, 10.0, 1_000, 0.1)
    pace.measured(1_000, 4.0, 1_000, 5, corrects=False)
    assert pace.mean == pytest.approx(0.04)
    pace.forwarded(2_000, 10.0, 1_000, 0.001)
    pace.measured(2_000, 4.0, 1_000, 5, corrects=False)
    assert pace.mean == pytest.approx(0.04), "what nearly all took was not spent on the few that count"


def test_events_of_blocks_that_were_forwarded_by_another_are_taken_for_like_ones() -> None:
    """A reader that starts anew reports what it has done before as well."""
    pace = Pace()
    pace.forwarded(1_000, 20.0, 1_000, 0.5, {"q": 0.5})
    seen = pace.measured(1_000, 220.0, 11_000, 5, corrects=True)
    assert seen == {"q": 5_500.0}
    assert (pace.mean, pace.factor) == pytest.approx((0.04, 1.0))


def test_partial_matches_save_no_more_than_their_query_takes() -> None:
    curve = LossCurve(SHARES)
    events = {"dear": Candidate(curve, 1.0, 0.9)}
    for_nothing = PartialCurve(SHARES, np.zeros_like(SHARES))
    assert best_split(0.5, events, {"cheap": Droppable(for_nothing, 1.0, 0.1)}) > 0.2
    assert best_split(0.5, events, {"dear": Droppable(for_nothing, 1.0, 0.9)}) == 0.0
    assert best_split(1.0, events, {}) == pytest.approx(0.9), "as much as there is"


def test_the_partial_matches_of_a_cheap_query_are_not_dropped_for_a_dear_one() -> None:
    shed = planned(known(), {"dear": "bl", "cheap": "pm-bl"}, 880.0)
    assert gone(shed, 0) > 0.4
    assert (gone(shed, 1), shed.keep) == (0.0, None)
    alone = planned(known(), {"dear": "none", "cheap": "pm-bl"}, 960.0)
    assert alone.keep is not None, "there is nothing else"


def test_more_events_go_of_a_query_where_others_lose_none() -> None:
    both = planned(known(), {"dear": "bl", "cheap": "bl"}, 850.0)
    one = planned(known(), {"dear": "bl", "cheap": "none"}, 850.0)
    saved = 0.9 * gone(both, 0) + 0.1 * gone(both, 1)
    assert 0.3 < saved < 0.85
    assert gone(one, 1) == 0.0
    assert 0.9 * gone(one, 0) == pytest.approx(saved, abs=0.1)


def beside(sums: float, service: str = "greta") -> dict[str, object]:
    """A report of another reader, whose query takes so many ns of an event."""
    own = int(10_000 * sums)
    numbers = {"position": 10_000, "events": 10_000, "processing_ns": own, "nanoseconds": {"sum": own}}
    return {"service": service, "partial_matches": {"sum": 7}, **numbers}


@pytest.mark.parametrize("sums", [1_000.0, 60_000.0, 150_000.0])
def test_readers_side_by_side_lose_each_what_it_must_itself(sums: float) -> None:
    detector = known()
    detector.observe(beside(sums))
    shed = planned(detector, {"dear": "bl", "cheap": "bl", "sum": "bl"}, 900.0)
    alone = planned(known(), {"dear": "bl", "cheap": "bl"}, 900.0)
    assert gone(shed, 0) == gone(alone, 0) > 0.4
    assert gone(shed, 2) == (pytest.approx(0.0) if sums < 2_000 else pytest.approx(1 - 46_000 / sums, abs=0.1))


def test_a_slow_reader_that_may_lose_nothing_leaves_the_other_as_it_is() -> None:
    """It has no masked events, so that what others lost must not make it seem slower."""
    detector = known()
    detector.observe(beside(40_000))
    for number in range(20):
        position = 11_000 + 1_000 * number
        detector.forwarded(position, 1_000, 2_000, {"dear": 0.2, "cheap": 0.2, "sum": 1.0})
        detector.observe(told(position, 1_000, dear=0.2, cheap=0.2))
        detector.observe({**beside(40_000), "position": position, "events": 1_000, "processing_ns": 40_000_000})
    assert detector.speed("greta").processing(7) == pytest.approx(0.04, rel=0.01)
    assert gone(planned(detector, {"dear": "bl", "cheap": "bl", "sum": "none"}, 900.0), 0) > 0.4


def test_a_reader_that_is_silent_decides_nothing() -> None:
    detector = Detector()
    detector.observe(told(10_000, 10_000), 1_000)
    detector.observe(beside(10_000), 3_000)
    assert detector.readers == ["matcher", "greta"]
    detector.observe(beside(10_000), 4_001)
    assert detector.readers == ["greta"]


@pytest.mark.parametrize("wrong", [{"processing_ns": -(10**18)}, {"elapsed_ns": -(10**18), "other_ns": 0}])
def test_times_below_zero_are_no_times(wrong: dict[str, int]) -> None:
    detector = known()
    before = detector.speed("matcher").processing(2000)
    detector.observe({**told(20_000, 10_000), **wrong})
    assert detector.speed("matcher").processing(2000) == pytest.approx(before, rel=0.01)


def test_a_report_without_news_forgets_nothing() -> None:
    detector = known()
    before = detector.costs("matcher", {"dear", "cheap"})
    idle = {"events": 0, "processing_ns": 0, "nanoseconds": {}}
    detector.observe({**told(10_000, 0), **idle})
    assert detector.costs("matcher", {"dear", "cheap"}) == before
    assert gone(planned(detector, {"dear": "bl", "cheap": "bl"}, 900.0), 0) > 0.4


def test_a_query_that_is_paused_keeps_its_cost_and_takes_no_part() -> None:
    detector = known()
    for number in range(50):
        position = 11_000 + 1_000 * number
        detector.forwarded(position, 1_000, 2_000, {"cheap": 1.0})
        detector.observe(told(position, 1_000, dear=0.0))
    assert detector.costs("matcher", {"cheap"}) == {"cheap": 1.0}
    assert detector.costs("matcher", {"dear", "cheap"}) == pytest.approx({"dear": 0.9, "cheap": 0.1})
