"""A key of some components only, [C.k], where a NOT stands in a repetition, by the definition."""

from __future__ import annotations

import random

import pytest

from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from tests.reference.match import generate
from tests.unit.engine.match import cases
from tests.unit.engine.match.near import close
from tests.unit.engine.match.test_general import described, wanted

PATTERNS = (
    "({} a, NOT {} n, {} b)+",
    "SEQ({} p, ({} a, NOT {} n, {} b)+)",
    "SEQ({}? p, ({} a, NOT {} n, {} b)+)",
    "SEQ(({} a, NOT {} n, {} b)+, {} q)",
    "SEQ({} p, ({} a, NOT {} n, {} b, {} c)+, {} q)",
    "SEQ({} p, ({} a, NOT SEQ({} n, {} m), {} b)+)",
    "({} a, NOT {} n, ({} b OR {} c))+",
    "SEQ({} p, (({} a, NOT {} n, {} b)+ OR {} c), {} q)",
    "(SEQ({} a, NOT {} n, {} b)+ AND {} q)",
    "SEQ({}* p, ({} a, NOT {} n, {}+ b)+)",
    "SEQ({} p, ({} o, ({} a, NOT {} n, {} b)+)+)",
)


def _query(rng: random.Random) -> str:
    pattern = rng.choice(PATTERNS)
    types = rng.choices("ABC", k=pattern.count("{}"))
    pattern = pattern.format(*types)
    strategy = rng.choice(["skip-till-next-match", "skip-till-any-match"])
    return f"PATTERN {pattern} WHERE {strategy} {{ [{rng.choice(types)}.k] }} WITHIN 20 ms"


@pytest.mark.parametrize("seed", range(4))
def test_results_are_those_of_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    found = 0
    errors: list[QueryError] = []
    for _ in range(60):
        text = _query(rng)
        try:
            plan = compile_query(text, cases.SCHEMA, name="q")
        except QueryError as error:
            errors.append(error)
            continue
        assert isinstance(plan, MatchPlan)
        for _ in range(3):
            events = generate.stream(rng, rng.randrange(5, 8), "ABC")
            asked, matches = wanted(text, events)
            expected = [described(plan, asked, match) for match in matches]
            told = cases.parsed(cases.engine(plan, events))
            assert close(sorted(told, key=repr), sorted(expected, key=repr)), (text, events)
            found += len(matches)
    assert found > 30
    assert len(errors) > 1
    assert {error.text[error.end - 2 : error.end] for error in errors} == {".k"}
    assert all(error.message.startswith("a NOT in a repetition cannot know the key of") for error in errors)
