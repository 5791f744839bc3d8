"""A query that is replaced or removed leaves nothing behind of what was dropped for it in the matcher."""

from __future__ import annotations

import pytest

from saffron.engine.events.block import Control
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.shedding import sample
from saffron.language import bind
from saffron.language.plan.match_plan import MatchPlan
from tests.unit.engine.match import cases

MADE = bind("QUERY q PATTERN SEQ(A a, B b) WHERE skip-till-any-match { } WITHIN 50 EVENTS", cases.SCHEMA, name="q").plan
EVENTS = [{"seq": seq, "ts": seq, "type": kind, **dict.fromkeys(cases.KINDS)} for seq, kind in enumerate("AAB" * 10)]


def dropping(monkeypatch: pytest.MonkeyPatch, *controls: Control) -> MatchOperator:
    """It has lost events and partial matches of `q` in the first half; `controls` stand at the event in the middle."""
    monkeypatch.setattr(sample, "SHARE", 1.0)
    monkeypatch.setattr(sample, "BUDGET", 1e9)
    assert isinstance(MADE, MatchPlan)
    operator = MatchOperator(partition=3, compiled=False, compiler=lambda *_: MADE)
    body = {"n": 1, "queries": {"q": {"utility": [], "bin": 1, "loss": [], "by": "random", "seed": 1}}}
    first = (cases.schema_control(), cases.query_control("add", slot=2, shed="auto"), Control(8, "keep", body))
    masks = [4 if seq in (3, 5) else 0 for seq in range(len(EVENTS))]
    for block in cases.blocks(EVENTS, [12, 18], {}, (*first, *controls), masks):
        operator.apply(block)
    return operator


def test_another_query_of_its_name_counts_from_none(monkeypatch: pytest.MonkeyPatch) -> None:
    before = dropping(monkeypatch).statistics()
    assert before["dropped_events"]["q"] == 2
    assert before["dropped"]["q"] > 0
    assert before["sampled"]["q"].missed > 0
    new = cases.query_control("add", position=15, version=2, slot=2, shed="auto")
    after = dropping(monkeypatch, cases.query_control("remove", position=15), new).statistics()
    for name in ("dropped_events", "dropped", "loss", "loss_ratio"):
        assert after[name] == {}, name
    sampled = after["sampled"]["q"]
    assert (sampled.true, sampled.missed) == (after["found"]["q"], 0), "of the new one only"
    assert after["found"]["q"] == sum(2 * n for n in range(1, 6))


def test_a_removed_one_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = dropping(monkeypatch, cases.query_control("remove", position=15))
    shadows = operator._effects.shadows
    assert not any((shadows._of, shadows._sums, shadows._allowed, shadows._unclean, shadows._ended))
    assert operator.statistics()["dropped"] == operator.statistics()["loss"] == {}


def test_a_pause_takes_back_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    pause, resume = (cases.query_control(op, position=at) for op, at in (("pause", 15), ("resume", 16)))
    operator = dropping(monkeypatch, pause, resume)
    for name in ("dropped", "loss"):
        assert operator.statistics()[name] == dropping(monkeypatch).statistics()[name]
