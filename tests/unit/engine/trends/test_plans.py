"""The plans of random aggregate queries, walked without an engine: what the binder says is what the query says."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan.trend_plan import TrendPlan
from tests.reference.match.events import events_of
from tests.reference.trends import definition, generate, walk
from tests.reference.trends.asked import Asked, ask
from tests.reference.trends.results import answers
from tests.unit.engine.trends.language import SCHEMA
from tests.unit.engine.trends.refused import reason

CHUNK = 100
SEEDS, NIGHTLY = 400, 10_000


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`first`: the seeds from there on, CHUNK of them."""
    if "first" in metafunc.fixturenames:
        seeds = NIGHTLY if metafunc.config.getoption("nightly") else SEEDS
        metafunc.parametrize("first", range(200_000, 200_000 + seeds, CHUNK))


def plans(first: int) -> Iterator[tuple[int, TrendPlan, Asked, list[dict[str, object]]]]:
    for seed in range(first, first + CHUNK):
        text, events = generate.case(random.Random(seed))
        try:
            plan = compile_query(text, SCHEMA, name="q")
        except QueryError as error:
            reason(error, text)
            continue
        assert isinstance(plan, TrendPlan)
        yield seed, plan, ask(text), events


def test_a_plans_paths_are_the_trends_of_its_query_each_once_and_its_sums_theirs(first: int) -> None:
    for seed, plan, asked, events in plans(first):
        templates = (plan.template, *plan.sides[:1])
        for side, template in zip(asked.sides, templates, strict=True):
            for window, trends in definition.trends(side, events_of(events)):
                paths = walk.paths(plan, template, window)
                found, wanted = set(paths), trends
                if plan.sides:  # the sides of AND number their components anew
                    found, wanted = (
                        {tuple((0, event) for _, event in trend) for trend in one} for one in (found, wanted)
                    )
                assert len(paths) == len(found), (seed, plan.text)
                assert found == wanted, (seed, plan.text)
        sums, wanted_sums = walk.answers(plan, asked, events), answers(asked, events)
        assert sorted(map(repr, sums)) == sorted(map(repr, wanted_sums)), (seed, plan.text)
