"""The same kernels compiled: few plans, many streams, against the kernels as plain Python."""

from __future__ import annotations

import random

import pytest

from saffron.language.plan.pattern import Strategy
from tests.unit.engine.match import cases

STREAMS = 25
PLANS = {Strategy.NEXT: 38, Strategy.ANY: 20, Strategy.PARTITION: 38, Strategy.STRICT: 38}


@pytest.mark.parametrize("strategy", list(Strategy))
def test_compiled_kernels_give_what_plain_ones_give(strategy: Strategy) -> None:
    rng = random.Random(PLANS[strategy])
    plan = cases.plan(rng, strategy)
    for _ in range(STREAMS):
        events = cases.stream(rng, rng.randrange(1, 40), "AAAB")
        cuts = [rng.randrange(len(events)) for _ in range(3)]
        assert cases.engine(plan, events, compiled=True, cuts=cuts) == cases.engine(plan, events)


def test_the_rings_of_rows_and_nodes_turn_and_grow() -> None:
    """Some thousand nodes over short windows, in blocks of all sizes: compiled, plain, and in one block."""
    rng = random.Random(38)
    plan = cases.plan(rng, Strategy.NEXT)
    events = cases.stream(rng, 1500, "AAAB")
    small = sorted(rng.sample(range(len(events)), 60))
    whole = cases.engine(plan, events, compiled=True)
    assert len(whole) > 100
    assert whole == cases.engine(plan, events, compiled=True, cuts=small)
    assert whole == cases.engine(plan, events, cuts=small)
