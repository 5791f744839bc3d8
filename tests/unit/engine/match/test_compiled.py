"""The same kernels compiled: few plans, many streams, against the kernels as plain Python."""

from __future__ import annotations

import random

import pytest

from saffron.language.plan import Strategy
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
