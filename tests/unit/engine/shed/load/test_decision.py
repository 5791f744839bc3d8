"""What is decided of one block where both events and partial matches may go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from saffron.engine.models.transitions.latency import LatencyFunction
from saffron.engine.shed.load.decision import Decider, Decision, Situation
from saffron.engine.shed.load.regression import Regression
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.load.speed import Speed

BOUND = 1000.0
BASE, EACH = 0.1, 0.01
AT = Situation(queueing=950.0, flying=0.0, events=100, rate=2.0, waiting=1900.0, alive=100, droppable=100, met=100.0)
"""Twice as much comes as can be done, and the queue has come far into the safety buffer."""


SPEED = Speed(LatencyFunction("linear", 1e6 * BASE, 1e6 * EACH, 0.0))


def same(share: float) -> float:
    return share


def test_what_one_block_must_save_beyond_the_plan_is_divided_as_the_plan_is() -> None:
    asked: list[float] = []

    def split(share: float) -> float:
        asked.append(share)
        return 1.0 if share < 0.8 else 0.0

    decided = Decider(Overload(BOUND)).decide(AT, SPEED, events=True, partial=True, split=split, lossless=same)
    (planned,) = asked
    assert planned < 0.8 < decided.share, "most of the block goes for the sake of this block alone"
    assert decided.keep is None, "partial matches would be lost to the rest of their windows"


@pytest.mark.parametrize("part", [0.0, 0.5])
def test_partial_matches_save_what_events_are_not_to(part: float) -> None:
    decider = Decider(Overload(BOUND))
    decided = decider.decide(AT, SPEED, events=True, partial=True, split=lambda share: part, lossless=same)
    assert decided.keep is not None
    assert decided.keep < AT.droppable
    left = AT.events * (1 - decided.share) * SPEED.processing(float(decided.keep))
    assert left < AT.events / AT.rate, "the queue shrinks"


@pytest.mark.parametrize(("queueing", "share"), [(300.0, 0.0), (420.0, 0.9), (950.0, 0.9)])
def test_events_that_are_worth_nothing_go_once_there_is_a_queue(queueing: float, share: float) -> None:
    """Above half of the latency at which others begin to go, that is 400 ms."""
    at = replace(AT, queueing=queueing, events=10, waiting=2 * queueing)
    decided = Decider(Overload(BOUND)).decide(
        at, SPEED, events=True, partial=True, split=lambda share: 0.1, lossless=lambda share: max(share, 0.9)
    )
    assert decided == Decision(share), "and partial matches stay where that is enough"


def test_partial_matches_go_where_events_do_not_reach_far_enough() -> None:
    flat, at = Speed(LatencyFunction("linear", 0.8e6, 2e3, 0.0)), replace(AT, reach=0.4)
    decided = Decider(Overload(BOUND)).decide(
        at, flat, events=True, partial=True, split=lambda share: 0.5, lossless=same
    )
    assert decided.share <= at.reach
    assert decided.keep == 0, "what little they save is all there is besides"


@pytest.mark.parametrize("slope", [0.0, 1e-3])
def test_partial_matches_stay_where_hardly_any_time_depends_on_them(slope: float) -> None:
    flat = Speed(LatencyFunction("linear", 1e6, slope * 1e6, 0.0))
    decided = Decider(Overload(BOUND)).decide(
        AT, flat, events=True, partial=True, split=lambda share: 0.5, lossless=same
    )
    assert decided.keep is None
    assert AT.events * (1 - decided.share) * flat.processing(AT.met) < AT.events / AT.rate, "events save it all"


def test_partial_matches_go_where_they_were_measured_to_take_time_that_the_model_does_not_know_of() -> None:
    measured = Regression()
    for n in (0, 40, 2, 30, 0, 10):
        measured.add(n, 0.02 * (1 + n), 50, kept=1.0)
    at = replace(AT, alive=60, droppable=60, met=60.0)
    flat = LatencyFunction("constant", 1e6 * measured.mean_y, 0.0, 0.0)
    decided = Decider(Overload(BOUND)).decide(
        at, Speed(flat, beside=measured), events=True, partial=True, split=lambda share: 0.0, lossless=same
    )
    assert decided.keep is not None
    assert decided.keep < at.droppable
