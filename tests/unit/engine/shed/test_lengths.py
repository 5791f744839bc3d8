"""The number of events of a match: as observed, else the least that transitions or the pattern say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from saffron.engine.models.events.event_trainer import train_events
from saffron.engine.shed.known import length_of
from saffron.engine.shed.losses.event_losses import EVENTS_A_MATCH
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.schema.schema import Kind, Schema
from tests.unit.engine.models.event_streams import SPEC, observed
from tests.unit.engine.shed.blocks import transition_model

SCHEMA = Schema({"x": Kind.FLOAT}, dict.fromkeys("ABCDEF", ("x",)), {}, given=True)


def planned(pattern: str) -> MatchPlan:
    plan = compile_query(f"PATTERN {pattern} WITHIN 100 EVENTS", SCHEMA)
    assert isinstance(plan, MatchPlan)
    return plan


def test_what_was_observed_counts_for_more_than_what_follows_from_the_pattern() -> None:
    counts, _ = observed(10, 10, 200)
    events, transitions, plan = train_events(counts, SPEC, (1, 1), {}), transition_model("q", (1, 1)), planned("A a")
    lists = counts.whole().matches.lists()
    mean = sum(len(keys) * weight for keys, weight in lists.items()) / sum(lists.values())
    assert length_of(events, transitions, plan) == pytest.approx(mean)
    assert length_of(replace(events, length=0.0), transitions, plan) == transitions.length == 2
    assert length_of(None, None, plan) == 1
    assert length_of(None, None, None) == EVENTS_A_MATCH


@pytest.mark.parametrize(
    ("pattern", "least"),
    [
        ("SEQ(A a, B b, C c, D d, E e, F f)", 6),
        ("SEQ(A a, B+ b[], C c)", 3),
        ("SEQ(A a, B{3,5} b[], C c)", 5),
        ("SEQ(A? a, NOT D d, B b)", 1),
        ("SEQ(A a, B b, C c) OR SEQ(D d, E e)", 2),
        ("SEQ(A a, (B b AND C c))", 3),
        ("ANY(2, A a, B b, C c)", 2),
    ],
)
def test_the_least_number_of_events_of_a_pattern(pattern: str, least: int) -> None:
    assert length_of(None, None, planned(pattern)) == least
