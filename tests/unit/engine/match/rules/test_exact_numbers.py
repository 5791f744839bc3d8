"""Numbers that float64 does not tell apart, in match queries: every engine against the definition."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest

from saffron.engine.match.match_operator import MatchOperator
from tests.reference.match.answers import answers
from tests.unit.engine import exact_numbers
from tests.unit.engine.exact_numbers import condition

PATTERNS = {
    "SEQ(A a, B b)": ("a.x", "a.y", "b.x", "b.y"),
    "SEQ(A a, B b) ": ("coalesce(a.x, b.x)", "nullif(a.y, b.x)", "CASE WHEN a.x < b.y THEN a.y ELSE b.x END", "b.y"),
    "SEQ(A a, A+ b[]) ": ("coalesce(b[i].x, a.y)", "CASE b[i].y WHEN a.y THEN a.x ELSE b[i].x END", "a.x"),
    "SEQ(A a, A b, B c)": ("a.x", "b.y", "c.x", "c.y"),
    "SEQ(A a, B? b, A c)": ("a.x", "b.y", "c.x"),
    "SEQ(A a, NOT B n, A c)": ("a.x", "n.x", "c.y"),
    "SEQ(A a, B+ b[])": ("a.x", "b[i].x", "b[i].y", "b[1].x"),
    "SEQ(A+ a[], B b)": ("b.x", "b.y", "a[last].x", "min(a[].x)", "max(a[].x)", "max(a[].y)", "first(a[].y)"),
    "SEQ(A+ a[], B b) ": (
        "b.x",
        "max(coalesce(a[].x, 0))",
        "first(nullif(a[].y, 1))",
        "count(a[].x = a[].y)",
        "coalesce(b.x, max(a[].y))",
    ),
    "SEQ(A+ a[], B* b[], A c)": ("c.x", "c.y", "max(a[].x, b[].y)", "min(a[].y, b[].x)", "max(b[].x, a[].x)"),
    "SEQ(B b, A+ a[])": ("a[i].x", "a[i-1].x", "max(a[..i-1].x)", "min(a[..i-1].y)", "a[i].y"),
    "SEQ(B b, A+ a[]) ": ("a[i].x", "b.y", "max(CASE WHEN a[..i-1].x > 1 THEN a[..i-1].y ELSE 1 END)"),
    "SEQ(A a, (B b, A c)+)": ("a.x", "b[i].x", "c[i].y", "c[i].x"),
    "ANY(2, A, B, A) DISTINCT x": ("A.y", "B.x"),
}


def made_query(rng: random.Random) -> str:
    pattern, sides = rng.choice(list(PATTERNS.items()))
    parts = [condition(rng, sides) for _ in range(rng.choice([1, 1, 2]))]
    parts += rng.choice([[], [], ["[x]"], ["[y]"], ["[x, y]"]]) if "DISTINCT" not in pattern else []
    strategy = rng.choice(["skip-till-any-match", "skip-till-next-match"])
    if "DISTINCT" in pattern:
        return f"PATTERN {pattern} WITHIN 60 ms"
    return f"PATTERN {pattern} WHERE {strategy} {{ {' AND '.join(parts)} }} WITHIN 60 ms"


def found(text: str, events: list[dict[str, Any]], rng: random.Random, shed: str) -> list[list[list[int]]]:
    operator = MatchOperator(partition=0, compiled=False)
    schema = exact_numbers.schema_of(events)
    cuts = [rng.randrange(len(events)) for _ in range(rng.randrange(3))]
    results = []
    for block in exact_numbers.blocks(events, cuts, [(0, schema)], [exact_numbers.query(text, shed=shed)]):
        entries = operator.apply(block)
        results += [orjson.loads(one) for one in entries.json(0, len(entries))]
    status = operator.statuses()["q"]
    assert status.state == "active", status
    for result in results:
        for part in result["events"].values():
            for event in part if isinstance(part, list) else [part] if part else []:
                given = events[event["seq"]]
                assert event.get("x") == given["x"], result
                assert event.get("y") == given["y"], result
        for name, value in result["key"].items():
            assert value == next(iter(events_of(result)))[name]
    return [
        [[one["seq"] for one in (part if isinstance(part, list) else [part] if part else [])] for part in parts]
        for parts in (list(result["events"].values()) for result in results)
    ]


def events_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    parts = (part if isinstance(part, list) else [part] if part else [] for part in result["events"].values())
    return [one for part in parts for one in part]


@pytest.mark.parametrize("shed", ["none", "gspice-h"])
@pytest.mark.parametrize("seed", range(4))
def test_comparisons_and_keys_are_exact(seed: int, shed: str) -> None:
    rng = random.Random(seed)
    matches = 0
    for _ in range(40):
        text, events = made_query(rng), exact_numbers.stream(rng, rng.randrange(3, 12))
        wanted = [[list(part) for part in match.seqs()] for match in answers(text, events)]
        seen = found(text, events, rng, shed)
        assert seen == wanted, (text, events)
        matches += len(wanted)
    assert matches > 10
