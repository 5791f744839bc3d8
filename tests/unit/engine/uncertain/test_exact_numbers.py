"""Numbers that float64 does not tell apart, over imprecise time: matches and confidences are the possible worlds'."""

from __future__ import annotations

import random
from collections.abc import Sequence

import orjson
import pytest

from saffron.engine.match.match_operator import MatchOperator
from tests.reference.match.worlds import Vague
from tests.unit.engine import exact_numbers
from tests.unit.engine.exact_numbers import Event, condition
from tests.unit.engine.uncertain.streams import Answer, answers, expected

PATTERNS = {
    "SEQ(A a, B b)": ("a.x", "a.y", "b.x", "b.y"),
    "SEQ(A a, A b, B c)": ("a.x", "b.y", "c.x", "c.y"),
    "SEQ(A a, B+ b[])": ("a.x", "b[i].x", "b[i].y", "b[i-1].x", "b[1].x"),
    "SEQ(A+ a[], B b)": ("b.x", "b.y", "a[last].x", "min(a[].x)", "max(a[].x)", "max(a[].y)", "first(a[].y)"),
    "SEQ(B b, A+ a[])": ("b.x", "a[i].x", "a[i-1].x", "max(a[..i-1].x)", "min(a[..i-1].y)", "a[i].y"),
}


def made_query(rng: random.Random) -> str:
    pattern, sides = rng.choice(list(PATTERNS.items()))
    parts = [condition(rng, sides) for _ in range(rng.choice([0, 1, 1, 2]))]
    parts += rng.choice([[], [], ["[x]"], ["[y]"], ["[x, y]"]]) if parts else ["[x]"]
    least = rng.choice(["0", "0", "0.3"])
    return f"PATTERN {pattern} WHERE skip-till-any-match {{ {' AND '.join(parts)} }} WITHIN 9 ms CONFIDENCE >= {least}"


def vague(events: Sequence[Event], rng: random.Random) -> list[Event]:
    """The events closer together, each at one of some instants now and then."""
    spans = (rng.choice([0, 0, 1, 2]) for _ in events)
    return [
        event | {"ts": [2 * event["seq"], 2 * event["seq"] + span]} for event, span in zip(events, spans, strict=True)
    ]


def found(text: str, events: Sequence[Event], rng: random.Random) -> dict[Answer, float]:
    operator, schema = MatchOperator(partition=0, compiled=False), exact_numbers.schema_of(events)
    cuts = [rng.randrange(len(events)) for _ in range(rng.randrange(3))]
    results: list[bytes] = []
    for block in exact_numbers.blocks(events, cuts, [(0, schema)], [exact_numbers.query(text)]):
        entries = operator.apply(block)
        results += entries.json(0, len(entries))
        state, operator = operator.snapshot(), MatchOperator(partition=0, compiled=False)
        operator.restore(state)
    status = operator.statuses()["q"]
    assert status.state == "active", (text, status)
    for result in map(orjson.loads, results):
        for part in result["events"].values():
            for one in part if isinstance(part, list) else [part]:
                given = events[one["seq"]]
                assert (one.get("x"), one.get("y")) == (given["x"], given["y"]), result
    return answers(results)


def wanted(text: str, events: Sequence[Event]) -> dict[Answer, float]:
    own = [Vague(one["seq"], one["ts"][0], one["ts"][1], one["type"], {"x": one["x"], "y": one["y"]}) for one in events]
    return {match: float(confidence) for match, confidence in expected(text, own).items()}


@pytest.mark.parametrize("seed", range(4))
def test_comparisons_and_keys_are_exact(seed: int) -> None:
    rng = random.Random(seed)
    matches = 0
    for _ in range(25):
        text, events = made_query(rng), vague(exact_numbers.stream(rng, rng.randrange(4, 8)), rng)
        seen = found(text, events, rng)
        assert seen == pytest.approx(wanted(text, events), abs=1e-12), (text, events)
        matches += len(seen)
    assert matches > 3
