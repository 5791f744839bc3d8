"""A schema that grows under queries that run: the results are those of the schema known from the start."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from saffron.engine.events.decoding.growth import grown
from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.raw import batch_of_values
from saffron.engine.operators.standing import compile_text
from saffron.runtime.replay.fused import Chain, Query
from saffron.schema.schema import Schema

QUERIES = (
    "PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-next-match { [k] AND b[i].x > a.x } WITHIN 30 ms",
    "PATTERN SEQ(A a, B b) WHERE skip-till-any-match { [k] AND b.rare = 'r' AND a.x >= 0 } WITHIN 12 ms",
    "PATTERN SEQ(A+ a[], B b) WHERE skip-till-next-match { [k] AND sum(a[].y) < b.x } WITHIN 20 ms RETURN sum(a[].y)",
    "PATTERN SEQ(A a, NOT C n, B b) WHERE skip-till-any-match { [k] AND n.x = a.x } WITHIN 8 ms RETURN a.x + b.x AS s",
    "PATTERN SEQ(A a, (B b OR C c)) WHERE skip-till-next-match { b.y > a.y AND c.rare != 'q' } WITHIN 9 ms",
    "PATTERN SEQ(A+, B) WHERE [k] GROUP BY k WITHIN 20 ms SLIDE 10 ms RETURN k, COUNT(*), SUM(A.x), MAX(B.y)",
    "PATTERN A+ WITHIN 40 ms OPEN ON A RETURN COUNT(*), MAX(A.x)",
    "PATTERN A+ WHERE A.k != NEXT(A).k GROUP BY x WITHIN 40 ms OPEN ON A RETURN COUNT(*), SUM(A.y)",
    "PATTERN A+ WHERE skip-till-next-match { A.k != NEXT(A).k } WITHIN 40 ms OPEN ON A RETURN COUNT(*), SUM(A.y)",
    "PATTERN SEQ(B b, NOT C c, A+ a) WHERE a.k = NEXT(a).k WITHIN 10 ms RETURN COUNT(*)",
    "PATTERN SEQ(A a, B b) WHERE skip-till-any-match { [x] } WITHIN 9 ms",
    "PATTERN A+ WHERE [x] GROUP BY x WITHIN 20 ms RETURN x, COUNT(*), MAX(A.x), MIN(A.y)",
    """PATTERN SEQ(A a, B b) WHERE skip-till-next-match { a.x >= 1 }
WITHIN 6 ms OPEN ON A a WHERE a.x >= 9007199254740993""",
    """PATTERN SEQ(A+ a[], B b) WHERE [k]
WITHIN 6 ms RETURN max(a[].x) AS x, sum(a[].x) AS y, b.rare AS rare, a[1].x AS one, b.rare AS how INTO D""",
    """PATTERN SEQ(D d, A a) WHERE skip-till-any-match { [x] AND d.y >= a.x }
WITHIN 9 ms RETURN d.x, d.y, d.rare, d.one, d.how, a.y AS ay""",
    "PATTERN SEQ(A a, D d) WHERE skip-till-next-match { d.rare != a.rare OR d.y = a.y } WITHIN 9 ms",
)
NEXT = (
    "PATTERN A+ WHERE A.rare <= NEXT(A).rare WITHIN 20 ms RETURN COUNT(*)",
    "PATTERN A+ WHERE A.rare = NEXT(A).rare WITHIN 20 ms RETURN COUNT(*)",
    """PATTERN SEQ(A+, B) WHERE [k] AND A.rare < 'r' AND A.rare < NEXT(B).rare GROUP BY k
WITHIN 20 ms RETURN k, COUNT(*)""",
    "PATTERN A+ WHERE A.rare != NEXT(A).rare AND A.x <= NEXT(A).x WITHIN 9 ms RETURN COUNT(*), MAX(A.x), SUM(A.y)",
    "PATTERN A+ WHERE A.x < NEXT(A).x GROUP BY rare WITHIN 12 ms SLIDE 6 ms RETURN rare, COUNT(*)",
)


def random_events(rng: random.Random) -> list[dict[str, Any]]:
    """What comes late: attributes, types, fractions after whole numbers, integers that no float64 is."""
    late = {name: rng.randrange(60) for name in ("y", "rare", "B", "C", "fraction", "wide")}
    found = []
    for at in range(90):
        kinds = ["A", "A", *(name for name in ("B", "C") if at >= late[name])]
        event: dict[str, Any] = {"type": rng.choice(kinds), "ts": at, "k": rng.choice("uv"), "x": rng.randrange(5)}
        if at >= late["fraction"] and rng.random() < 0.3:
            event["x"] = rng.choice([0.5, 2.0, None])
        if at >= late["wide"] and rng.random() < 0.1:
            event["x"] = 2**53 + 1
        if at >= late["y"] and rng.random() < 0.5:
            event["y"] = rng.choice([1, 2, 3, 2.5])
        if at >= late["rare"] and rng.random() < 0.3:
            event["rare"] = rng.choice(["r", "q", None])
        found.append(event)
    return found


CHOSEN = (
    "CASE WHEN A.rare = 'r' THEN A.x ELSE A.y END < NEXT(A).x",
    "CASE WHEN A.rare = 'r' THEN A.x ELSE A.y END < NEXT(A).x OR A.x = 3",
    "coalesce(A.y, A.z) < NEXT(A).y",
    "A.x < coalesce(NEXT(A).y, NEXT(A).z)",
    "A.y <= coalesce(NEXT(A).y, NEXT(A).z)",
    "A.tags[1] < NEXT(A).y",
    "coalesce(A.rare, 'q') = NEXT(A).y",
    "A.tags[1] < coalesce(NEXT(A).y, NEXT(A).z) AND A.k = NEXT(A).k",
    "nullif(A.x, A.y) != NEXT(A).x AND coalesce(length(A.rare), A.x) * NEXT(A).x > 2",
)
"""Choices are computed in another way as soon as they have a value, and again where float64 does not hold it."""


@pytest.mark.parametrize("seed", range(8))
def test_choices_of_what_comes_late(seed: int) -> None:
    rng = random.Random(seed)
    events = random_events(rng)
    for event in events:
        event |= {"tags": [rng.choice([1, 2, "r"])]} | ({"z": rng.randrange(4)} if event["ts"] > 50 else {})
    cuts = sorted(rng.sample(range(1, len(events)), rng.randrange(12)))
    strategy = rng.choice(("skip-till-any-match", "skip-till-next-match"))
    strict = rng.choice(("", " TIME STRICT"))
    texts = [f"PATTERN A+ WHERE {strategy} {{ {one} }} WITHIN 12 ms{strict} RETURN COUNT(*)" for one in CHOSEN]
    first, whole = (
        infer_schema([batch_of_values([orjson.dumps(one) for one in some])]) for some in (events[:1], events)
    )
    wanted = results(whole, events, [], texts, interpreted=True)
    assert len(wanted) > 20
    assert results(first, events, cuts, texts, interpreted=True) == wanted


STRICT = (
    "PATTERN SEQ(A, B) WHERE A.x < NEXT(B).x WITHIN 8 ms TIME STRICT RETURN COUNT(*), MAX(B.x)",
    "PATTERN SEQ(NOT C c, A+, B) WHERE A.x <= NEXT(A).x AND A.x < NEXT(B).x WITHIN 9 ms TIME STRICT RETURN COUNT(*)",
)
"""What these compare is there from the first event on, and what they hold back for their trees is kept."""


def results(
    schema: Schema,
    events: list[dict[str, Any]],
    cuts: list[int],
    texts: Sequence[str] = QUERIES,
    *,
    interpreted: bool = False,
) -> list[bytes]:
    queries = [Query(f"q{number}", text) for number, text in enumerate(texts)]
    chain = Chain(queries, schema, compile_text, partition=0, disorder=3, interpreted=interpreted)
    merged = []
    for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
        merged += [
            list(one.json()) for one in chain.feed(batch_of_values([orjson.dumps(one) for one in events[low:high]]))
        ]
    merged += [list(one.json()) for one in chain.finish()]
    bodies = [body for parts in merged for part in parts for body in part]
    return [body.partition(b',"detected_at":')[0] for body in bodies]


@pytest.mark.parametrize("seed", range(4))
def test_results_are_those_of_the_schema_known_from_the_start(seed: int) -> None:
    """Compiled once: each version of the schema has kernels of its own, which take their time to compile."""
    rng = random.Random(seed)
    events = random_events(rng)
    cuts = sorted(rng.sample(range(1, len(events)), rng.randrange(12)))
    wanted = results(grown(Schema({}, {}, {}), events), events, [], interpreted=seed > 0)
    assert len(wanted) > 20
    assert results(grown(Schema({}, {}, {}), events[:1]), events, cuts, interpreted=seed > 0) == wanted


@pytest.mark.parametrize("seed", range(4))
def test_events_that_are_compared_by_what_comes_late(seed: int) -> None:
    rng = random.Random(seed)
    events = random_events(rng)
    cuts = sorted(rng.sample(range(1, len(events)), rng.randrange(12)))
    wanted = results(grown(Schema({}, {}, {}), events), events, [], NEXT, interpreted=seed > 0)
    assert len(wanted) > 10
    assert results(grown(Schema({}, {}, {}), events[:1]), events, cuts, NEXT, interpreted=seed > 0) == wanted


@pytest.mark.parametrize("seed", range(4))
def test_trees_of_time_strict_go_on(seed: int) -> None:
    """Interpreted, since plain Python notices where an array is too small."""
    rng = random.Random(seed)
    events = random_events(rng)
    cuts = list(range(1, len(events)))
    wanted = results(grown(Schema({}, {}, {}), events), events, [], STRICT, interpreted=True)
    assert len(wanted) > 2
    found = results(grown(Schema({}, {}, {}), events[:1]), events, cuts, STRICT, interpreted=True)
    assert found == wanted
