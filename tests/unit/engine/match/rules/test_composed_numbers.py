"""Numbers of any kind as events to other queries (INTO), and to queries that see the past, against the definition."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import orjson
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.match.match_operator import MatchOperator
from tests.reference.match.answers import answers, composed
from tests.reference.match.events import events_of
from tests.reference.match.question import question
from tests.unit.engine import exact_numbers
from tests.unit.engine.exact_numbers import Event, comparison
from tests.unit.engine.match.rules.test_exact_numbers import made_query

MAKERS = (
    "PATTERN SEQ(A a, B b) WHERE skip-till-next-match WITHIN 40 ms RETURN a.x AS x, b.y AS y INTO D PUBLISH",
    "PATTERN SEQ(A a, B b) WHERE skip-till-next-match WITHIN 40 ms RETURN a.y AS x, b.x AS z INTO D PUBLISH",
    (
        "PATTERN SEQ(A+ a[], B b) WHERE skip-till-next-match WITHIN 30 ms RETURN max(a[].x) AS x, "
        "first(a[].y) AS z INTO D PUBLISH"
    ),
    (
        "PATTERN SEQ(A a, B b) WHERE skip-till-next-match WITHIN 40 ms RETURN a.x / 2 AS x, "
        "9007199254740993 AS y INTO D PUBLISH"
    ),
)
READERS = {
    "SEQ(D d, A a)": ("d.x", "a.x", "a.y"),
    "SEQ(A a, D d)": ("d.x", "a.x", "a.y"),
    "SEQ(D d, D e)": ("d.x", "e.x"),
    "SEQ(A a, NOT D n, B b)": ("a.x", "n.x"),
}
ALONE = "PATTERN SEQ(A a, B b) WHERE skip-till-any-match { a.x >= b.y OR a.y = b.x } WITHIN 40 ms"


def results(texts: dict[str, str], blocks: Sequence[Block], rng: random.Random) -> dict[str, list[dict[str, Any]]]:
    operator = MatchOperator(partition=0, compiled=False)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in texts}
    for block in blocks:
        entries = operator.apply(block)
        for one in map(orjson.loads, entries.json(0, len(entries))):
            found[one["query"]].append(one)
        if rng.random() < 0.3:
            state, operator = operator.snapshot(), MatchOperator(partition=0, compiled=False)
            operator.restore(state)
    assert {one.state for one in operator.statuses().values()} == {"active"}, operator.statuses()
    return found


def bound(found: Sequence[dict[str, Any]]) -> list[list[list[int]]]:
    parts = (one["events"].values() for one in found)
    return [[[e["seq"] for e in (p if isinstance(p, list) else [p] if p else [])] for p in own] for own in parts]


def of(events: Sequence[Event], texts: dict[str, str], rng: random.Random) -> list[Block]:
    cuts = [rng.randrange(len(events)) for _ in range(rng.randrange(4))]
    controls = [exact_numbers.query(text, name=name) for name, text in texts.items()]
    return exact_numbers.blocks(events, cuts, [(0, exact_numbers.schema_of(events))], controls)


@pytest.mark.parametrize("seed", range(4))
def test_results_are_events_with_the_numbers_that_they_show(seed: int) -> None:
    rng = random.Random(seed)
    matches = 0
    for _ in range(30):
        events = exact_numbers.stream(rng, rng.randrange(6, 12))
        if {one["type"] for one in events} != {"A", "B"}:
            continue
        pattern, sides = rng.choice(list(READERS.items()))
        asked = rng.choice(["[x]", comparison(rng, sides)])
        reader = f"PATTERN {pattern} WHERE skip-till-any-match {{ {asked} }} WITHIN 60 ms"
        texts = {"m": rng.choice(MAKERS), "r": reader, "alone": ALONE}
        found = results(texts, of(events, texts, rng), rng)
        stream = composed(question(texts["m"]), events_of(events))
        wanted = [[list(part) for part in match.seqs()] for match in answers(question(reader), stream)]
        assert sorted(bound(found["r"])) == sorted(wanted), (texts, events)
        alone = [[list(part) for part in match.seqs()] for match in answers(ALONE, events)]
        assert bound(found["alone"]) == alone, "what it does not read changes nothing"
        matches += len(wanted)
    assert matches > 10


def test_a_sum_beyond_all_integers_and_what_was_never_there() -> None:
    values = [2**62, 2**62, None, 1]
    events = [{"seq": n, "ts": 10 * n, "type": "AAAB"[n], "x": x, "y": None} for n, x in enumerate(values)]
    maker = "PATTERN SEQ(A+ a[], B b) WITHIN 60 ms RETURN sum(a[].x) AS s, b.y AS y INTO D PUBLISH"
    texts = {"m": maker, "r": "PATTERN D d WITHIN 60 ms RETURN d.s AS s, d.y AS y"}
    rng = random.Random(1)
    found = results(texts, of(events, texts, rng), rng)
    assert [one["return"] for one in found["r"]] == [one["return"] for one in found["m"]]
    assert {"s": 2.0**63, "y": None} in [one["return"] for one in found["r"]]


@pytest.mark.parametrize("seed", range(2))
def test_a_query_that_sees_the_past_finds_what_it_would_have_found(seed: int) -> None:
    rng = random.Random(seed)
    matches = 0
    for _ in range(25):
        text, events = made_query(rng), exact_numbers.stream(rng, rng.randrange(3, 12))
        schema, at = exact_numbers.schema_of(events), rng.randrange(1, len(events))
        whole = exact_numbers.blocks(events, [at], [(0, schema)])
        late = exact_numbers.query(text, at, **{"from": "earliest"})
        whole[1] = replace(whole[1], controls=(*whole[1].controls, late))
        operator, found = MatchOperator(partition=0, compiled=False), []
        for block in whole:
            entries = operator.apply(block, partial(iter, whole))
            found += [orjson.loads(one) for one in entries.json(0, len(entries))]
        assert operator.statuses()["q"].state in ("active", "rejected")
        wanted = [[list(part) for part in match.seqs()] for match in answers(text, events)]
        assert sorted(bound(found)) == sorted(wanted), (text, events)
        matches += len(wanted)
    assert matches > 5


@pytest.mark.parametrize("grows", [False, True])
@pytest.mark.parametrize("returned", ["a.x AS one", "a.x / 4 AS one", "a.x AS one, a.y AS more"])
def test_a_query_whose_maker_comes_again_reads_what_it_makes_now(*, grows: bool, returned: str) -> None:
    """`grows`: the schema does, while there is no maker."""
    events = [{"seq": n, "ts": 10 * n, "type": "AB"[n % 2], "x": n, "y": None if n < 6 else 0.5} for n in range(12)]
    first, final = exact_numbers.schema_of(events[:6]), exact_numbers.schema_of(events)
    reader = "PATTERN SEQ(D d, D e) WITHIN 90 ms RETURN d.one AS one, e.one AS two"
    maker = "PATTERN SEQ(A a, B b) WITHIN 40 ms RETURN {} INTO D PUBLISH".format
    made = [exact_numbers.query(maker("a.x AS one"), name="m"), exact_numbers.query(reader, name="r")]
    blocks = exact_numbers.blocks(events, [2, 4, 6, 8], [(0, first), (6, final)] if grows else [(0, final)], made)
    gone = Control(4, "query", {"op": "remove", "name": "m", "version": 1})
    again = exact_numbers.query(maker(returned), 8, name="m", version=2)
    for at, control in ((2, gone), (4, again)):
        blocks[at] = replace(blocks[at], controls=(*blocks[at].controls, control))
    found = results({"m": "", "r": ""}, blocks, random.Random(1))["r"]
    eight, ten = (2, 2.5) if "/" in returned else (8, 10)
    assert [tuple(one["return"].values()) for one in found] == [(0, 2), (2, eight), (eight, ten)]
