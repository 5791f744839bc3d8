"""Trees ordered by codes: integers moved beyond 2^53, where float64 rounds, give the same results as before."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from saffron.engine.trends.core.graphs import graphs_of
from saffron.engine.trends.ordered import ordered
from saffron.engine.trends.queries import trend_query
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.language import compile_query
from saffron.language.plan.trend_plan import TrendPlan
from saffron.schema.schema import Kind, Schema
from tests.unit.engine import exact_numbers
from tests.unit.engine.exact_numbers import Event

MOVED = 2**60
CONDITIONS = (
    "A.x {} NEXT(A).x", "A.x {} NEXT(A).y", "A.x {} NEXT(A).x AND A.x > NEXT(A).y", "A.x != NEXT(A).x",
    "A.x = NEXT(A).x", "A.y = NEXT(A).y AND A.x {} NEXT(A).x", "A.s = NEXT(A).s AND A.x {} NEXT(A).x",
    "A.x {} NEXT(A).x AND A.x {} NEXT(B).x",
)  # fmt: skip


def made_query(rng: random.Random) -> str:
    condition = rng.choice(CONDITIONS)
    where = condition.format(*(rng.choice(("<", "<=", ">", ">=")) for _ in range(2)))
    pattern = "SEQ(A+, B)" if "(B)" in where else "A+"
    window = rng.choice(("WITHIN 1000 ms", "WITHIN 600 ms SLIDE 200 ms"))
    strict, exact = (word if rng.random() < 0.25 else "" for word in (" TIME STRICT", " EXACT"))
    return f"PATTERN {pattern} WHERE {where} {window}{strict} RETURN COUNT(*), COUNT(A){exact}"


def stream(rng: random.Random, size: int) -> list[Event]:
    """Many different numbers, now rising, now anywhere; strings come and go."""
    events, ts, top = [], 0, 500
    for seq in range(size):
        ts += rng.choice((0, 1, 10))
        top += rng.choice((0, 1, 5))
        x, y = (top if rng.random() < 0.3 else rng.randrange(top) for _ in range(2))
        s = f"{ts // 100}-{rng.randrange(3)}"
        events.append({"seq": seq, "ts": ts, "type": rng.choice("AAAB"), "x": x, "y": y, "s": s})
    return events


def results(
    text: str, events: list[Event], schemas: list[tuple[int, Schema]], cuts: list[int], restarts: set[int]
) -> list[dict[str, Any]]:
    """All results; before these blocks the operator is made anew from its snapshot."""
    operator, found = TrendOperator(partition=0, compiled=False), []
    for number, block in enumerate(exact_numbers.blocks(events, cuts, schemas, [exact_numbers.query(text)])):
        if number in restarts:
            state, operator = operator.snapshot(), TrendOperator(partition=0, compiled=False)
            operator.restore(state)
        entries = operator.apply(block)
        found += [json.loads(one) for one in entries.json(0, len(entries))]
    return found


def moved(events: list[Event], by: int) -> list[Event]:
    return [{**event, "x": event["x"] + by, "y": event["y"] + by} for event in events]


@pytest.mark.parametrize("seed", range(16))
def test_integers_beyond_float64_give_the_same_results(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    exact_numbers.hard_for_trees(rng, monkeypatch)
    monkeypatch.setattr(trend_query, "_SLACK", 0)  # strings are forgotten soon
    text, events = made_query(rng), moved(stream(rng, 300), rng.choice((0, -1000)))
    first = rng.choice((0, 150))  # the first that is moved
    small, large = (events[:first] + moved(events[first:], by) for by in (10_000, MOVED))
    narrow, wide = map(exact_numbers.schema_of, (small, large))
    assert wide.kinds["x"] is Kind.LONG
    cuts = sorted(rng.sample(range(1, len(events)), 12))
    expected = results(text, small, [(0, narrow)], [], set())
    assert expected, text
    schemas = [(0, narrow), (first, wide)] if first else [(0, wide)]
    assert results(text, large, schemas, cuts, set(rng.sample(range(12), 3))) == expected, text
    assert results(text, large, schemas, [], set()) == expected, text


@pytest.mark.parametrize("late", ["wide", "string"])
def test_equal_negative_numbers_are_found_after_codes_come_or_go(late: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their bits, as integers, stand the other way round."""
    monkeypatch.setattr(ordered, "SHORT", 0)
    rng, condition = random.Random(1), "A.x < NEXT(B).s" if late == "string" else "A.y = NEXT(B).y"
    text = f"PATTERN SEQ(A+, B?) WHERE A.y = NEXT(A).y AND {condition} WITHIN 5000 ms RETURN COUNT(*)"
    same = {"x": MOVED + 1, "s": None}
    events = [
        {"seq": s, "ts": s, "type": rng.choice("AAAB"), "y": -rng.randrange(20) - 0.5, **same} for s in range(200)
    ]
    events[150] |= {"s": "a"} if late == "string" else {"y": -MOVED - 1}
    narrow, wide = exact_numbers.schema_of(events[:150]), exact_numbers.schema_of(events)
    expected = results(text, events, [(0, wide)], [], set())
    assert expected
    assert results(text, events, [(0, narrow), (150, wide)], [170], set()) == expected


def test_queries_of_this_file_have_trees_with_codes() -> None:
    kinds = {"x": Kind.LONG, "y": Kind.NUMBER, "s": Kind.STRING, "type": Kind.STRING, "ts": Kind.INT}
    schema = Schema(kinds=kinds, types={name: tuple(kinds) for name in "AB"}, required={})
    for condition in CONDITIONS:
        text = f"PATTERN SEQ(A+, B) WHERE {condition.format('<', '<')} WITHIN 10 ms RETURN COUNT(*)"
        plan = compile_query(text, schema, name="q")
        assert isinstance(plan, TrendPlan)
        graphs = graphs_of(plan, kinds)
        assert graphs.has_codes, condition
        assert not graphs.conditions, condition
