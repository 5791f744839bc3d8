"""Queries of which some cost more than others: which of them lose what, and what a report tells of masked events."""

from __future__ import annotations

import numpy as np
import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.columns import Column, Columns, masked
from saffron.engine.events.schema import Kind
from saffron.engine.shed.allocation import Candidate
from saffron.engine.shed.detector import Detector
from saffron.engine.shed.event_drops import EventDrops
from saffron.engine.shed.loss_curve import SHARES, LossCurve
from saffron.engine.shed.means import Droppable, best_split
from saffron.engine.shed.pace import Pace
from saffron.engine.shed.partial_curve import PartialCurve
from saffron.engine.shed.settings import Overload
from saffron.engine.shed.shedding import Queries, Shed, Shedding
from saffron.engine.shed.traits import Traits

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
    traits = {name: Traits(shedder) for name, shedder in queries.items()}
    return shedding.plan(block, queueing, queueing, Queries(traits, dict(zip(queries, (0, 1, 2), strict=False)), {}))


def known() -> Detector:
    detector = Detector()
    detector.observe(told(10_000, 10_000))
    return detector


def gone(shed: Shed, slot: int) -> float:
    return 0.0 if shed.mask is None else float(masked(shed.mask, slot).mean())


def test_a_query_of_which_events_are_masked_does_not_seem_cheap() -> None:
    detector = known()
    before = detector.shares()
    assert before == pytest.approx({"dear": 0.9, "cheap": 0.1})
    for number in range(50):
        position = 11_000 + 1_000 * number
        detector.forwarded(position, 190, 2_000, {"dear": 100, "cheap": 1_000})
        detector.observe(told(position, 1_000, dear=0.1))
    assert detector.shares() == pytest.approx(before)
    assert detector.processing(2_000) == pytest.approx(0.1, rel=0.01), "ms of an event of which none is masked"
    detector.forwarded(200_000, 20, 2_000, {"dear": 10, "cheap": 1_000})
    detector.observe(told(200_000, 1_000, dear=0.5))
    assert detector.shares() == pytest.approx(before), "a query that saw next to none tells nothing"


def test_masked_events_are_not_reckoned_with_in_the_mean() -> None:
    pace = Pace()
    pace.forwarded(1_000, 10.0, 100.0)
    pace.measured(1_000, 4.0, 1_000, 5, corrects=False)
    assert pace.mean == pytest.approx(0.04)
    pace.forwarded(2_000, 10.0, 1.0)
    pace.measured(2_000, 4.0, 1_000, 5, corrects=False)
    assert pace.mean == pytest.approx(0.04), "what nearly all took was not spent on the few that count"


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


def test_a_query_of_a_reader_that_is_not_the_slowest_loses_nothing() -> None:
    detector = known()
    detector.observe(
        {
            **told(10_000, 10_000, service="greta"),
            "nanoseconds": {"sum": 10_000},
            "processing_ns": 10_000,
            "partial_matches": {"sum": 7},
        }
    )
    shed = planned(detector, {"dear": "bl", "cheap": "bl", "sum": "bl"}, 900.0)
    assert gone(shed, 0) > 0.4
    assert gone(shed, 2) == 0.0
