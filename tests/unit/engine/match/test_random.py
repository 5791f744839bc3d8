"""The engine against the definition, on random plans and streams (kernels as plain Python), and its invariances."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy
from tests.unit.engine.match import cases
from tests.unit.engine.match.near import close

SEEDS = st.integers(0, 2**48)
STREAMS = 5  # per plan
quick = settings(max_examples=1, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def random_stream(rng: random.Random, most: int = 15) -> list[dict[str, Any]]:
    return cases.stream(rng, rng.randrange(1, most), rng.choice(["AABBC", "AABBC", "AB"]))


def cut(rng: random.Random, size: int) -> list[int]:
    return [rng.randrange(size) for _ in range(rng.randrange(5))]


@settings(quick, max_examples=420)
@given(SEEDS)
def test_results_are_those_of_the_definition_whatever_the_blocks(seed: int) -> None:
    rng = random.Random(seed)
    plan = cases.plan(rng)
    for _ in range(STREAMS):
        events = random_stream(rng)
        texts = cases.engine(plan, events, cuts=cut(rng, len(events)))
        found, wanted = cases.parsed(texts), cases.expected(plan, events)
        assert close(found, wanted), (plan, events)


@settings(quick, max_examples=60)
@given(SEEDS)
def test_snapshot_and_restore_between_any_blocks_change_nothing(seed: int) -> None:
    rng = random.Random(seed)
    plan = cases.plan(rng)
    events = random_stream(rng, 25)
    opened = {"q": cases.openers(plan, events)}
    controls = (cases.schema_control(), cases.query_control("add"))
    blocks = cases.blocks(events, range(0, len(events), 3), opened, controls)
    whole = cases.results(cases.operator({"q": plan}), blocks)
    run, texts = cases.operator({"q": plan}), []
    for block in blocks:
        state = run.snapshot()
        before = {name: array.tobytes() for name, array in state.items()}
        cases.results(run, [block])
        assert {name: array.tobytes() for name, array in state.items()} == before  # it is written while runs go on
        run = cases.operator({"q": plan})
        run.restore(state)
        texts += cases.results(run, [block])
    assert texts == whole


@settings(quick, max_examples=40)
@given(SEEDS)
def test_queries_do_not_see_each_other(seed: int) -> None:
    rng = random.Random(seed)
    plans: dict[str, MatchPlan] = {name: cases.plan(rng) for name in ("q1", "q2", "q3")}
    events = random_stream(rng, 20)
    opened = {name: cases.openers(plan, events) for name, plan in plans.items()}

    def run(names: list[str], cuts: list[int]) -> list[bytes]:
        controls = (cases.schema_control(), *(cases.query_control("add", name) for name in names))
        return cases.results(cases.operator(plans), cases.blocks(events, cuts, opened, controls))

    together = run(sorted(plans, key=lambda _: rng.random()), cut(rng, len(events)))
    alone = [run([name], []) for name in plans]
    assert sorted(together) == sorted(text for texts in alone for text in texts)
    assert together == run(list(plans), [])
    for name, texts in zip(plans, alone, strict=True):
        assert [text for text in together if f'"query":"{name}"'.encode() in text] == texts


@pytest.mark.parametrize("strategy", list(Strategy))
def test_the_random_plans_do_match_something(strategy: Strategy) -> None:
    """Guards the generator: every strategy sees a fair number of matches."""
    rng = random.Random(7)
    count = sum(len(cases.expected(cases.plan(rng, strategy), random_stream(rng))) for _ in range(60))
    assert count > 15
