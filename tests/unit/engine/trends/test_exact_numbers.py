"""Numbers that float64 does not tell apart, in aggregate queries: conditions, keys, groups, extremes, HAVING."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from saffron.engine.trends.core.order import Order
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.schema.numbers import pair_of
from tests.reference.trends.results import answers
from tests.unit.engine import exact_numbers
from tests.unit.engine.exact_numbers import OPERATORS, comparison, number

AGGREGATES = (
    "COUNT(*)", "MIN(A.x)", "MAX(A.x)", "MIN(A.y)", "MAX(A.y)", "COUNT(A.x)", "MAX(coalesce(A.x, 0))",
    "MIN(CASE WHEN A.x != A.y THEN A.y ELSE 1 END)", "COUNT(A.x <= A.y)", "COUNT(A.y > 9007199254740992)",
)  # fmt: skip
CHOICES = ("coalesce(A.x, {0})", "nullif(A.y, {0})", "CASE WHEN A.x < {1} THEN {0} ELSE A.y END")


def made_query(rng: random.Random) -> str:
    pattern, later = rng.choice([("A+", ("NEXT(A).x", "NEXT(A).y")), ("SEQ(A+, B)", ("NEXT(B).x", "NEXT(B).y"))])
    chosen = rng.choice(CHOICES).format(later[0], later[1])
    pair = [rng.choice(("A.x", "A.y", chosen)), rng.choice(OPERATORS), rng.choice(later)]
    conditions = [" ".join(pair if rng.random() < 0.8 else reversed(pair))] if rng.random() < 0.7 else []
    conditions += [f"A.x = {later[0]}"] if rng.random() < 0.2 else []
    conditions += [comparison(rng, ("A.x", "A.y"))] if rng.random() < 0.4 else []
    conditions += rng.choice([[], [], ["[x]"], ["[y]"], ["[x, y]"]])
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    group = rng.choice(["", "", "GROUP BY x ", "GROUP BY y, x "])
    items = ", ".join(rng.sample(AGGREGATES, 3))
    having = f" HAVING {rng.choice(AGGREGATES)} {rng.choice(OPERATORS)} {number(rng)}" if rng.random() < 0.3 else ""
    window = rng.choice(["WITHIN 50 ms", "WITHIN 60 ms SLIDE 20 ms"])
    strict, exact = (word if rng.random() < 0.2 else "" for word in (" TIME STRICT", " EXACT"))
    return f"PATTERN {pattern}{where} {group}{window}{strict} RETURN {items}{having}{exact}"


def found(text: str, events: list[dict[str, Any]], rng: random.Random) -> list[dict[str, Any]]:
    operator = TrendOperator(partition=0, compiled=False)
    schema = exact_numbers.schema_of(events)
    cuts = [rng.randrange(len(events)) for _ in range(rng.randrange(3))]
    results = []
    for block in exact_numbers.blocks(events, cuts, [(0, schema)], [exact_numbers.query(text)]):
        entries = operator.apply(block)
        results += [json.loads(one) for one in entries.json(0, len(entries))]
        state = operator.snapshot()
        operator = TrendOperator(partition=0, compiled=False)
        operator.restore(state)
    status = operator.statuses()["q"]
    assert status.state == "active", (text, status)
    return results


def exactly(values: dict[str, Any]) -> list[tuple[str, Fraction | None]]:
    return [(name, None if value is None else Fraction(value)) for name, value in sorted(values.items())]


@pytest.mark.parametrize("seed", range(8))
def test_conditions_keys_and_extremes_are_exact(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    exact_numbers.hard_for_trees(rng, monkeypatch)
    results = 0
    for _ in range(30):
        text, events = made_query(rng), exact_numbers.stream(rng, rng.randrange(3, 9))
        lines = found(text, events, rng)
        seen = [(one["window"], exactly(one["group"]), exactly(one["return"])) for one in lines]
        wanted = [([a.low, a.high], exactly(a.group), exactly(a.returned)) for a in answers(text, events)]
        assert sorted(seen, key=repr) == sorted(wanted, key=repr), (text, events)
        results += len(wanted)
    assert results > 10


def test_codes_stand_in_the_order_of_the_numbers() -> None:
    rng = random.Random(1)
    order, held = Order.empty(), np.empty(0)
    kept: list[float] = []
    for _ in range(300):
        drawn = [rng.choice([rng.randrange(2**60, 2**60 + 5000), rng.random(), 2.0**60]) for _ in range(3)]
        pairs = np.array([pair_of(value) for value in drawn])
        recode = order.enter(pairs)
        held = held if recode is None else recode(held)
        held = np.concatenate([held, order.codes_of(pairs), -order.codes_of(pairs)])
        kept += [*drawn, *(-value for value in drawn)]
        assert [int(pair.real) + int(pair.imag) if pair.imag else pair.real for pair in order.pairs_of(held)] == kept
        assert (np.diff(order.codes) > 0).all()
        if rng.random() < 0.1:
            held, kept = held[-6:], kept[-6:]
            order.keep(held)
    assert order.pairs_of(np.array([np.inf])).real.tolist() == [np.inf]
