"""A query's answers are the same from however many places, for random queries and streams; and what is not spread."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from saffron.errors import FunctionError, SaffronError
from saffron.history.partitioning import Partitioning, partitioning_of
from saffron.language import compile_query
from saffron.runtime.replay.fused import Query
from saffron.schema.functions import own
from tests.reference.match import generate as matches
from tests.reference.trends import generate as trends
from tests.unit.engine.trends.language import SCHEMA
from tests.unit.history.local import replayed, spread_lines
from tests.unit.interpreted import interpret_all

SEEDS = st.integers(0, 2**48)
quick = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True, scope="module")
def as_python() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        interpret_all(patch)
        yield


def check(rng: random.Random, text: str, events: Sequence[dict[str, Any]]) -> None:
    try:
        plan = compile_query(text, SCHEMA, name="q")
    except SaffronError:
        assume(False)
    assume(partitioning_of(plan).by or rng.random() < 0.2)
    shuffled = sorted(events, key=lambda event: rng.random()) if rng.random() < 0.3 else events
    data = b"\n".join(orjson.dumps({name: value for name, value in one.items() if name != "seq"}) for one in shuffled)
    bounds = sorted(rng.sample(range(-5, 60), rng.randrange(4)))
    query = Query("q", text)
    found = spread_lines([query], data, SCHEMA, places=3, cut=rng.choice([1, 3, 7, 100]), bounds=bounds)
    assert sorted(found) == sorted(replayed([query], data, SCHEMA)), (text, shuffled)


@settings(quick, max_examples=80)
@given(SEEDS)
def test_matches_are_the_same_from_every_number_of_places(seed: int) -> None:
    rng = random.Random(seed)
    text = matches.query(rng, until=rng.random() < 0.3)
    check(rng, text, matches.stream(rng, rng.randrange(5, 40)))


@settings(quick, max_examples=60)
@given(SEEDS)
def test_trends_are_the_same_from_every_number_of_places(seed: int) -> None:
    rng = random.Random(seed)
    check(rng, *trends.case(rng))


@pytest.mark.parametrize(
    ("text", "by", "reason"),
    [
        ("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 ms", ("k",), ""),
        ("PATTERN SEQ(A a, B b) WHERE [g, k] WITHIN 5 EVENTS", ("g", "k"), ""),
        ("RETURN COUNT(*) PATTERN A+ WHERE [k] GROUP BY g WITHIN 5 ms", ("g",), ""),
        ("PATTERN SEQ(A a, B b) WITHIN 5 ms", (), "no [attribute]"),
        ("PATTERN SEQ(A a, B b) WHERE strict-contiguity { [k] } WITHIN 5 ms", (), "strict-contiguity"),
        ("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 ms OPEN ON A", (), "OPEN ON"),
        ("RETURN COUNT(*) PATTERN A+ WHERE [k] WITHIN 5 ms", (), "no GROUP BY"),
    ],
)
def test_what_cannot_be_spread_says_why(text: str, by: tuple[str, ...], reason: str) -> None:
    found = partitioning_of(compile_query(text, SCHEMA, name="q"))
    assert found.by == by
    assert reason in found.reason
    assert bool(found.reason) != bool(by)


def test_queries_that_read_each_others_results_stay_together() -> None:
    maker = compile_query("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 ms RETURN a.k AS k INTO Pair", SCHEMA, name="m")
    reader = compile_query("PATTERN SEQ(Pair d, A a) WHERE [k] WITHIN 5 ms", None, name="r", lenient=True)
    assert "INTO" in partitioning_of(maker, [reader]).reason
    assert "INTO" in partitioning_of(reader, [maker]).reason
    assert partitioning_of(maker) == Partitioning(("k",))


@pytest.mark.parametrize("key", ["", "WHERE [k] "])
def test_readers_have_what_makers_find_whatever_keeps_each_in_one_place(key: str) -> None:
    queries = [
        Query("reader", "PATTERN SEQ(Pair p, A a) WHERE [k] WITHIN 9 ms RETURN a.x"),
        Query("maker", f"PATTERN SEQ(A a, B b) {key}WITHIN 5 ms RETURN b.k AS k INTO Pair PUBLISH"),
        Query("spread", "PATTERN SEQ(A a, B b, A c) WHERE [g] WITHIN 9 ms"),
    ]
    events = matches.stream(random.Random(3), 60)
    data = b"\n".join(orjson.dumps({name: value for name, value in one.items() if name != "seq"}) for one in events)
    expected = replayed(queries, data, SCHEMA)
    assert {orjson.loads(line)["query"] for line in expected} == {"reader", "maker", "spread"}
    assert sorted(spread_lines(queries, data, SCHEMA, places=3)) == sorted(expected)


@pytest.fixture
def picky() -> Iterator[None]:
    def picky(x: float) -> float:
        return 1 / (x - 2)

    own.register("picky", picky, frozenset())
    yield
    own.forget("picky")


@pytest.mark.usefixtures("picky")
@pytest.mark.parametrize(
    "text", ["PATTERN A a WHERE [k] AND picky(a.x) > 3", "PATTERN A+ RETURN COUNT(*) WHERE picky(A.x) > 3"]
)
def test_a_query_that_fails_ends_a_backfill_as_it_ends_a_replay(text: str) -> None:
    queries = [Query("fails", f"{text} WITHIN 9 ms"), Query("other", "PATTERN A a WITHIN 9 ms")]
    data = b"\n".join(b'{"type": "A", "ts": %d, "x": %d, "k": 1, "g": "g"}' % (x, x) for x in range(4))
    for answered in (replayed, partial(spread_lines, places=2)):
        with pytest.raises(FunctionError, match=r"'picky' failed on \(2\)"):
            answered(queries, data, SCHEMA)
