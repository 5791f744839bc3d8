"""A query that is replaced or removed leaves nothing behind in the shedder."""

from __future__ import annotations

from typing import Any

import pytest

from saffron.engine.events.block import Control
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.losses.losses import Correction
from saffron.engine.shed.operator import ShedderOperator
from tests.unit.engine.shed.blocks import block, checkpoint, query


def operator() -> ShedderOperator:
    """Version 1 of `q` is in force from position 0, and has lost half of its matches."""
    shedder = ShedderOperator(0, "events", Overload(1000.0))
    shedder.apply(block(0, 100, 0, query(0, "add", "q")), now_ms=0)
    shedder.observe(load(100, 50, 50.0))
    assert shedder.statistics()["missed"]["q"] == pytest.approx(0.5)
    return shedder


def load(position: int, found: int, loss: float, name: str = "q") -> dict[str, Any]:
    return {
        "service": "matcher",
        "position": position,
        "events": 100,
        "processing_ns": 1000,
        "nanoseconds": {name: 1000},
        "partial_matches": {name: 7},
        "found": {name: found},
        "loss": {name: loss},
        "loss_ratio": {name: 4.0},
        "sampled": {name: [100.0, 50.0, 50.0, 50.0]},
        "compared": {name: 50},
    }


def changed(shedder: ShedderOperator, position: int, *controls: Control) -> None:
    shedder.apply(block(position, 100, position + len(controls), *controls), now_ms=0)


def replaced() -> ShedderOperator:
    """Version 2 is in force from position 150 on."""
    shedder = operator()
    changed(shedder, 100, query(150, "remove", "q", 1), query(150, "add", "q", 2))
    return shedder


def test_a_shedder_that_begins_again_estimates_what_comes_from_then_on() -> None:
    first, again = operator(), ShedderOperator(0, "events", Overload(1000.0))
    again.resume(first.apply(block(100, 100, 101, query(110, "add", "r")), now_ms=0))
    again.resume(first.apply(block(200, 100, 202, checkpoint(250, q=1, r=1)), now_ms=0))
    changed(again, 300, query(300, "add", "s"))
    for found, loss in ((50_000, 50_000.0), (50_060, 50_040.0)):
        for name in "qrs":
            again.observe(load(400, found, loss, name) | {"sampled": {}})
    told = again.statistics()["missed"]
    assert [round(told[name], 2) for name in "qrs"] == [0.4, 0.4, 0.5], "s was added here: all its counts are"


def test_a_new_version_begins_with_no_losses() -> None:
    shedder = replaced()
    assert shedder.statistics()["missed"] == {"q": 0.0}
    assert shedder._losses.correction("q") == Correction()
    assert shedder._detector._taken.of("q") == 1.0, "nobody has told how long it takes"


@pytest.mark.parametrize("position", [149, 150])
def test_what_a_reader_says_late_of_the_version_before_is_not_taken_for_the_new_one(position: int) -> None:
    shedder = replaced()
    shedder.observe(load(position, 60, 60.0))
    assert shedder.statistics()["missed"] == {"q": 0.0}
    assert shedder._losses.correction("q") == Correction()
    assert shedder._detector._taken.of("q") == 1.0
    shedder.observe(load(200, 30, 10.0))
    assert shedder.statistics()["missed"]["q"] == pytest.approx(0.25)
    assert shedder._losses.correction("q").partial == 4.0
    assert shedder._detector._taken.of("q") == 10.0


def test_names_that_are_gone_leave_nothing() -> None:
    shedder = ShedderOperator(0, "events", Overload(1000.0))
    position = 0
    for name in "abcdefgh":
        changed(shedder, position, query(position, "add", name))
        shedder.observe(load(position + 100, 5, 1.0, name))
        changed(shedder, position + 100, query(position + 100, "remove", name))
        shedder.observe(load(position + 200, 5, 1.0, name))
        position += 200
    held = shedder._losses._queries, shedder._detector._taken._by_query, shedder._shed._counts, shedder._view.since
    assert not any(held)


def test_a_paused_query_is_the_same_one_behind() -> None:
    shedder = operator()
    changed(shedder, 100, query(110, "pause", "q"), query(120, "resume", "q"))
    assert shedder.statistics()["missed"]["q"] == pytest.approx(0.5)


@pytest.mark.parametrize("position", [100, 150])
def test_what_was_decided_for_a_query_does_not_reach_the_one_that_has_its_slot_now(position: int) -> None:
    shedder = operator()
    controls = query(position, "remove", "q", 1), query(position, "add", "r", 2)
    passed = shedder.apply(block(100, 100, 102, *controls), now_ms=20_000, appended_ms=0)
    assert passed.columns.dropped is not None, "an outage leaves nothing to those in force before"
    assert passed.columns.seq[passed.columns.dropped != 0].tolist() == list(range(100, position))
    assert shedder.statistics()["shed_events"] == {"r": 0}
