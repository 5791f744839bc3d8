"""Conditions on each event of a list beside a whole list that the match does not bind, by the definition.

Random patterns with OR, AND and ANY.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from saffron.engine.match.match_operator import MatchOperator
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from tests.reference.match import generate
from tests.reference.match.generate import STRATEGIES
from tests.reference.match.question import ANY
from tests.unit.engine.match import cases
from tests.unit.engine.match.near import close
from tests.unit.engine.match.test_general import described, wanted

SIDES = (
    "{} OR {}", "{} OR {}", "{} OR {} OR {}", "({} OR {}) AND {}", "{} OR ({} AND {})", "{} OR SEQ({}, {})",
    "SEQ({}, {} OR {})", "SEQ({} OR {}, {})", "SEQ({}, {} OR {}, {})", "({} OR SEQ({}, {} OR {}))", "ANY(1, {}, {})",
    "ANY(2, {}, {}, {})", "SEQ({}, NOT {n}, {}) OR {}",
)  # fmt: skip
EACH = (
    "{0}[i].x {1} {2}",
    "{0}[i].x + {0}[i-1].x {1} {2}",
    "count({0}[..i-1].x > 0) {1} {2}",
    "sum({0}[..i].x) {1} {2}",
)
WHOLE = (
    "{0}.len", "count({0}[].x)", "count({0}[])", "count({0}[].x > 0)", "coalesce(max({0}[].x), 1)",
    "coalesce(sum({0}[].x) - 1, 0)", "{0}[last].x", "max({0}[].x)",
)  # fmt: skip


def _step(rng: random.Random, number: int) -> tuple[str, bool]:
    """A component and whether it is a list."""
    bounds = rng.choice(["+", "+", "+", "*", "{2}", "{1,2}", "", "?"])
    many = bounds not in ("", "?")
    return f"{rng.choice('AAB')}{bounds} v{number}{'[]' if many else ''}", many


def query(rng: random.Random) -> str:
    """A pattern with a choice among lists, and conditions of which each compares two of its components."""
    sides = rng.choice(SIDES)
    steps = [_step(rng, number) for number in range(sides.count("{}"))]
    conditions = []
    for _ in range(rng.choice([1, 1, 2])):
        one, other = rng.sample(range(len(steps)), 2)
        sign = rng.choice(["!=", "!=", ">", "<=", "="])
        each = rng.choice(EACH).format(f"v{one}", sign, "{}") if steps[one][1] else f"v{one}.x {sign} {{}}"
        whole = rng.choice(WHOLE).format(f"v{other}") if steps[other][1] else f"v{other}.x"
        conditions.append(each.format(whole))
    if "{n}" in sides:
        conditions.append(f"n.x > {rng.choice(WHOLE).format('v2')}" if steps[2][1] else "n.x > 0")
    pattern = sides.replace("{n}", "C n").format(*(text for text, _ in steps))
    pattern = f"SEQ(C s, ({pattern}), C e)" if rng.random() < 0.3 else pattern
    return f"PATTERN {pattern} WHERE {rng.choice(STRATEGIES)} {{ {' AND '.join(conditions)} }} WITHIN 20 ms"


def queries(seed: int, count: int) -> Iterator[tuple[random.Random, str, MatchPlan]]:
    """`count` of those that have a meaning."""
    rng = random.Random(seed)
    while count:
        text = query(rng)
        try:
            plan = compile_query(text, cases.SCHEMA, name="q")
        except QueryError:
            continue
        assert isinstance(plan, MatchPlan)
        count -= 1
        yield rng, text, plan


def _same(rng: random.Random, text: str, plan: MatchPlan, *, compiled: bool) -> int:
    """How many matches the engine finds: those of the definition."""
    events = generate.stream(rng, rng.randrange(4, 7 if ANY in text else 10), "AABBC")
    asked, found = wanted(text, events)
    controls = (cases.schema_control(), cases.query_control("add"))
    run = MatchOperator(partition=3, compiled=compiled, compiler=lambda *_: plan)
    texts = cases.results(run, cases.blocks(events, [rng.randrange(len(events))], {}, controls))
    expected = [described(plan, asked, match) for match in found]
    assert close(sorted(cases.parsed(texts), key=repr), sorted(expected, key=repr)), (text, events)
    return len(found)


@pytest.mark.parametrize("seed", range(6))
def test_results_are_those_of_the_definition(seed: int) -> None:
    assert sum(_same(rng, text, plan, compiled=False) for rng, text, plan in queries(seed, 30) for _ in range(3)) > 60


def test_compiled_results_are_those_of_the_definition() -> None:
    assert sum(_same(rng, text, plan, compiled=True) for rng, text, plan in queries(100, 5) for _ in range(10)) > 20
