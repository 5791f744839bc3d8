"""The shadow that measures what is missed: beside the same stream of which nothing is dropped, whatever is dropped."""

from __future__ import annotations

import random
from collections.abc import Sequence

import orjson
import pytest

from saffron.engine.events.block import Control
from saffron.engine.events.strings import Strings
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.queries.fastest import fastest
from saffron.engine.match.shedding import sample, shadow
from saffron.engine.match.shedding.sample import Sampled
from saffron.language import bind
from saffron.language.plan.match_plan import MatchPlan
from tests.unit.engine.match import cases


def run(
    made: MatchPlan,
    events: Sequence[cases.Event],
    cuts: Sequence[int],
    orders: Sequence[Control] = (),
    dropped: Sequence[int] | None = None,
) -> tuple[set[str], Sampled | None]:
    """Ids of the query's results, and what its shadow says; its bit is the third."""
    operator = MatchOperator(partition=3, compiled=False, compiler=lambda *_: made)
    controls = (cases.schema_control(), cases.query_control("add", slot=2, shed="auto"), *orders)
    blocks = cases.blocks(events, cuts, {"q": cases.openers(made, events)}, controls, dropped)
    texts = cases.results(operator, blocks)
    return {orjson.loads(text)["id"] for text in texts}, operator.statistics()["sampled"].get("q")


def cut(rng: random.Random, events: Sequence[cases.Event]) -> list[int]:
    return sorted(rng.sample(range(1, len(events)), 4))


def test_a_shadow_of_all_first_events_knows_what_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "SHARE", 1.0)
    monkeypatch.setattr(sample, "BUDGET", 1e9)
    rng = random.Random(17)
    compared = missed = 0
    for _ in range(60):
        made = cases.plan(rng)
        events = cases.stream(rng, rng.randrange(8, 18))
        masks = [rng.choice([0, 0, 0, 4]) for _ in events]
        body = {"n": 1, "queries": {"q": {"utility": [], "bin": 1, "by": "random", "seed": 1}}}
        orders = [Control(event["seq"], "keep", body) for event in events if rng.random() < 0.15]
        true, _ = run(made, events, cut(rng, events))
        found, sampled = run(made, events, cut(rng, events), orders, masks)
        if sampled is None or (not any(masks) and not orders):
            continue
        told = sampled.true, sampled.missed, sampled.false
        assert told == (len(true), len(true - found), len(found - true)), (made.text, events, masks)
        assert sampled.compared == len(found), "all the time"
        compared += len(true)
        missed += len(true - found)
    assert compared > 30
    assert missed > 8


@pytest.mark.parametrize("strategy", ["skip-till-any-match", "skip-till-next-match"])
def test_a_shadow_of_all_first_events_knows_what_is_false(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "SHARE", 1.0)
    monkeypatch.setattr(sample, "BUDGET", 1e9)
    rng = random.Random(29)
    text = f"QUERY q PATTERN SEQ(A a, NOT C, B b) WHERE {strategy} {{ }} WITHIN 9 EVENTS"
    made = bind(text, cases.SCHEMA, name="q").plan
    assert isinstance(made, MatchPlan)
    false = 0
    for _ in range(30):
        events = cases.stream(rng, 18)
        masks = [4 if event["type"] == "C" and rng.random() < 0.7 else rng.choice([0, 0, 4]) for event in events]
        true, _ = run(made, events, cut(rng, events))
        found, sampled = run(made, events, cut(rng, events), (), masks)
        if sampled is not None:
            told = sampled.true, sampled.missed, sampled.false
            assert told == (len(true), len(true - found), len(found - true)), (events, masks)
            false += len(found - true)
    assert false > 30


def test_what_a_shadow_says_does_not_depend_on_cuts_and_changes_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "SHARE", 1.0)
    monkeypatch.setattr(sample, "BUDGET", 1e9)
    rng = random.Random(23)
    for _ in range(30):
        made = cases.plan(rng)
        events = cases.stream(rng, 14)
        masks = [rng.choice([0, 0, 4]) for _ in events]
        cuts = [cut(rng, events), [*range(1, len(events))]]
        one, other = (run(made, events, places, (), masks) for places in cuts)
        assert one[0] == other[0]
        told = [(sums.true, sums.missed) for _, sums in (one, other) if sums is not None and sums.true]
        assert len(set(told)) <= 1


def test_few_first_events_stand_for_all_where_much_has_been_seen() -> None:
    sampled = Sampled()
    assert sampled.share == sample.SHARE
    sampled.add(4, 1, 3, 2)
    assert (sampled.true, sampled.missed, sampled.false, sampled.begun) == (100, 25, 75, 50)
    assert sampled.budget == sample.AT_FIRST * sample.BUDGET
    sampled.add(0, 0, 0, 100 * sample.ENOUGH)
    assert sampled.share == sample.LEAST_SHARE
    assert sampled.budget == sample.BUDGET


def test_a_shadow_that_costs_too_much_goes_on_with_fewer_first_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "SHARE", 1.0)
    monkeypatch.setattr(sample, "LEAST_SHARE", 1.0)
    rng = random.Random(5)
    made, events = cases.plan(rng), cases.stream(rng, 18)
    masks = [4 if event["seq"] % 2 else 0 for event in events]
    cuts = [*range(1, len(events))]
    monkeypatch.setattr(sample, "BUDGET", 1e9)
    _, free = run(made, events, cuts, (), masks)
    monkeypatch.setattr(sample, "BUDGET", 1e-6)
    _, dear = run(made, events, cuts, (), masks)
    assert free is not None
    assert dear is not None
    assert (free.halvings, free.share) == (0, 1.0)
    assert dear.halvings == shadow.MOST_HALVINGS
    assert dear.share == 2.0**-shadow.MOST_HALVINGS
    assert dear.events < free.events, "and in the end not at all"


@pytest.mark.parametrize(
    ("pattern", "consumed", "can"),
    [
        ("SEQ(A a, B b) OR SEQ(C c, B d)", "a, c", True),
        ("SEQ(A a, B b) OR SEQ(C c, B d)", "a, d", False),
        ("SEQ(A a, B b)", "a", True),
        ("SEQ(A a, B b)", "b", False),
    ],
)
def test_first_events_may_be_consumed_in_all_alternatives(pattern: str, consumed: str, can: bool) -> None:
    text = f"QUERY q PATTERN {pattern} WHERE skip-till-next-match {{ }} WITHIN 9 EVENTS CONSUME {consumed}"
    made = bind(text, None, name="q").plan
    assert isinstance(made, MatchPlan)
    runs = fastest(made, cases.SCHEMA, Strings(), slot=0, compiled=False, shed="auto", merges=True)
    assert shadow.can_shadow(runs) is can


def test_timed_out_runs_are_no_traced_matches() -> None:
    made = bind("QUERY q PATTERN SEQ(A a, B b) WITHIN 4 EVENTS OUTPUT ALL WITH TIMEOUTS", cases.SCHEMA, name="q").plan
    assert isinstance(made, MatchPlan)
    events = cases.stream(random.Random(3), 40, "A")
    operator = MatchOperator(partition=3, compiled=False, compiler=lambda *_: made)
    controls = (cases.schema_control(), cases.query_control("add", slot=2, shed="auto"))
    blocks = cases.blocks(events, [*range(1, 40)], {}, controls, [4, *[0] * 39])
    assert all(b'"timeout":true' in text for text in cases.results(operator, blocks))
    assert operator.statistics()["traced"] == {}
