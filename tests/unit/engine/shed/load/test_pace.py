"""What a reader is measured to take of an event, and how much of its time is left for events."""

from __future__ import annotations

import pytest

from saffron.engine.shed.drops.event_drops import EventDrops
from saffron.engine.shed.load.detector import Detector
from saffron.engine.shed.load.pace import Pace
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.shedding import Shedding


def test_a_slow_first_block_weighs_as_its_events_do() -> None:
    pace = Pace()
    assert pace.mean == 0
    pace.measured(200, 45.0, 200, 10, corrects=False)
    assert pace.mean == pytest.approx(0.225)
    for _ in range(3):
        pace.measured(0, 2.0, 1_000, 30, corrects=False)
    assert pace.mean < 0.02
    assert 28 < pace.mean_alive < 30


def test_what_else_a_reader_does_leaves_less_time_for_events() -> None:
    pace = Pace()
    pace.forwarded(100, 30.0, 100)
    assert pace.flying(0) == 30.0
    for _ in range(100):
        pace.lived(25.0, 10.0, 10.0, 0.0)
    assert pace.free == pytest.approx(0.6)
    assert pace.flying(0) == pytest.approx(50.0)
    pace.lived(400.0, 10.0, 390.0, 0.0)  # a long one counts as long as it was
    assert 0.35 < pace.free < 0.45
    for _ in range(400):
        pace.lived(25.0, 0.0, 25.0, 0.0)
    assert pace.free == 0.05


def test_a_reader_that_waits_for_blocks_is_given_more_in_advance() -> None:
    detector = Detector()
    shedding = Shedding(Overload(1000.0), detector, EventDrops(0))

    def told(position: int, processing: float, other: float) -> None:
        """A report of 25 ms, 100 events and two partial matches."""
        numbers = {"position": position, "events": 100, "processing_ns": int(processing * 1e6)}
        numbers |= {"elapsed_ns": 25_000_000, "other_ns": int(other * 1e6)}
        detector.observe({"service": "matcher", "partial_matches": {"q": 2}, **numbers})

    for number in range(200):
        told(100 * number, 20.0, 5.0)
    assert detector.idle == 0.0
    detector.forwarded(20_400, 500, 2, {"q": 1.0})  # which is 100 ms of processing, and so 125
    assert not shedding.may_follow(19_900)
    for number in range(200, 400):
        told(100 * number, 20.0, 0.0)
    assert detector.idle == pytest.approx(0.2, rel=0.02)
    detector.forwarded(40_400, 500, 2, {"q": 1.0})
    assert shedding.may_follow(39_900)


def test_a_slow_commit_is_remembered_for_a_while() -> None:
    pace = Pace()
    pace.lived(25.0, 5.0, 10.0, 300.0)
    pace.lived(25.0, 5.0, 10.0, 0.0)
    assert pace.commit == pytest.approx(300.0, rel=0.01)
    for _ in range(80):
        pace.lived(25.0, 5.0, 10.0, 20.0)
    assert pace.commit == pytest.approx(150.0, rel=0.02)
