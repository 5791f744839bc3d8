"""Numbers that float64 does not tell apart: every match of the engine is explained, and of every key as many."""

from __future__ import annotations

import random
from collections import Counter

import orjson
import pytest

from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.operators.standing import compile_text
from saffron.engine.why.block_traces import TraceInput, key_of, trace_key_in, trace_match_in
from saffron.language.plan.match_plan import MatchPlan
from tests.unit.engine import exact_numbers
from tests.unit.engine.match.rules.test_exact_numbers import made_query


@pytest.mark.parametrize("seed", range(3))
def test_stories_are_those_of_the_engines_matches(seed: int) -> None:
    rng = random.Random(seed)
    told = 0
    for _ in range(30):
        text, events = made_query(rng), exact_numbers.stream(rng, rng.randrange(3, 10))
        schema, cuts = exact_numbers.schema_of(events), [rng.randrange(len(events))]
        plan = compile_text(text, schema, "q")
        assert isinstance(plan, MatchPlan)
        blocks = exact_numbers.blocks(events, cuts, [(0, schema)], [exact_numbers.query(text)])
        operator, results = MatchOperator(partition=0, compiled=False), []
        for block in blocks:
            entries = operator.apply(block)
            results += [orjson.loads(one) for one in entries.json(0, len(entries))]
        of = TraceInput(plan, schema, blocks)
        keys = Counter(",".join(f"{name}={value}" for name, value in one["key"].items()) or "*" for one in results)
        for asked, count in keys.items():
            assert trace_key_in(of, key_of(plan, asked, schema.kinds)).matches == count, (text, events, asked)
        for result in results:
            assert trace_match_in(of, result).matches == 1, (text, events, result)
        told += len(results)
    assert told > 10
