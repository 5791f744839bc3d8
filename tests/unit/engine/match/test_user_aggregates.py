"""User-defined aggregates in conditions: kernels against a fold in Python, over the whole grammar."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from saffron.engine.match.core.automaton import leaves
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.operators import aggregates
from saffron.engine.operators.aggregates import BUILT_IN
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan.expressions import Aggregate
from saffron.language.plan.match_plan import MatchPlan
from tests.reference.match import generate
from tests.reference.match.absence import is_trailing
from tests.reference.match.answers import answers
from tests.reference.match.question import question
from tests.unit.engine.match import cases
from tests.unit.engine.match.near import close
from tests.unit.engine.match.test_general import cut, described


def energy(values: Sequence[float]) -> float | None:
    """The root of the mean square."""
    total = 0.0
    for x in values:
        total += x * x
    return math.sqrt(total) / len(values) if values else None


def alternating(values: Sequence[float]) -> float | None:
    """The first minus the second plus the third ..., doubled on the way; null where that is 0."""
    acc = 1.0
    for x in values:
        acc = x - acc
    return 1.0 / acc if values and acc else None


FUNCTIONS = {"energy": energy, "alternating": alternating}


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    aggregates.register("energy", lambda acc, x: acc + x * x, final=lambda acc, n: math.sqrt(acc) / n)
    aggregates.register("alternating", lambda acc, x: x - acc, initial=1.0, final=lambda acc, n: 1.0 / acc)
    yield
    for name in FUNCTIONS:
        aggregates.forget(name)


def asks_them(plan: MatchPlan) -> bool:
    found = (leaf for check in plan.checks for leaf in leaves(check.expr))
    return any(isinstance(leaf, Aggregate) and leaf.function not in BUILT_IN for leaf in found)


def queries(seed: int, count: int) -> Iterator[tuple[str, MatchPlan, list[dict[str, Any]], random.Random]]:
    """Random queries with such a condition."""
    rng = random.Random(seed)
    while count:
        text, events = generate.case(rng, plain=True, functions=list(FUNCTIONS))
        try:
            plan = compile_query(text, cases.SCHEMA, name="q", aggregates=frozenset(FUNCTIONS))
        except QueryError:  # one in some thousand reads what has no meaning
            continue
        assert isinstance(plan, MatchPlan)
        if asks_them(plan):
            count -= 1
            yield text, plan, events, rng


@pytest.mark.parametrize(("seed", "count", "compiled"), [(2, 50, False), (3, 50, False), (5, 50, False), (4, 2, True)])
def test_conditions_fold_the_numbers_of_a_list(seed: int, count: int, compiled: bool) -> None:
    matched = 0
    for text, plan, events, rng in queries(seed, count):
        asked = question(text, FUNCTIONS)
        matches = answers(asked, events)
        matched += len(matches)
        expected = [described(plan, asked, match) for match in matches]
        found = cases.parsed(cases.engine(plan, events, cuts=cut(rng, events), compiled=compiled))
        if any(is_trailing(asked, match.bindings) for match in matches):
            found, expected = sorted(found, key=repr), sorted(expected, key=repr)
        assert close(found, expected), (text, events)
    assert matched > count // 2 or compiled


def test_a_function_that_does_not_compile_rejects_the_query() -> None:
    aggregates.register("energy", lambda acc, x: acc + len(globals()))
    text = "PATTERN SEQ(A+ a[], B b) WHERE energy(a[].f) > 1 WITHIN 5 ms"
    plan = compile_query(text, cases.SCHEMA, name="q", aggregates=frozenset(FUNCTIONS))
    run = MatchOperator(partition=0, compiler=lambda *_: plan)
    run.apply(
        cases.blocks(cases.stream(random.Random(1), 3), [], {}, (cases.schema_control(), cases.query_control("add")))[0]
    )
    status = run.statuses()["q"]
    assert status.state == "rejected"
    assert "aggregate 'energy' cannot be compiled" in status.reason
