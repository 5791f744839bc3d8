"""When an outage begins and is over."""

from __future__ import annotations

from saffron.engine.shed.load.outage import DROP, KEEP, NORMAL, Outage
from saffron.engine.shed.load.settings import Overload


def test_an_outage_is_over_once_its_backlog_is_dropped() -> None:
    watch = Outage(Overload(1000.0))
    assert watch.taken(10.0, 5.0) == NORMAL
    assert watch.taken(8_000.0, 7_990.0) == DROP
    assert watch.taken(8_001.0, 1_500.0) == DROP
    assert watch.taken(8_002.0, 900.0) == NORMAL
    assert watch.taken(8_100.0, 990.0) == NORMAL, "an overload is none"
    assert watch.taken(8_200.0, 3_000.0) == NORMAL


def test_a_start_with_a_backlog_is_an_outage() -> None:
    assert Outage(Overload(1000.0)).taken(99_000.0, 98_000.0) == DROP
    assert Outage(Overload(1000.0, "catch-up")).taken(99_000.0, 98_000.0) == KEEP
    assert Outage(Overload(1000.0)).taken(99_000.0, 800.0) == NORMAL
