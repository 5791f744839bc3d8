"""Event types that an inferred schema lacks: a standing query sees their events all the same."""

from __future__ import annotations

import random
from dataclasses import replace

import orjson
import pytest

from saffron.engine.events.raw import batch_of_values
from saffron.engine.operators.standing import compile_text
from saffron.runtime.replay.fused import Chain, Query
from saffron.schema.schema import Kind, Schema

WHOLE = Schema(
    {"x": Kind.INT, "k": Kind.STRING}, dict.fromkeys(("A", "B", "C"), ("x", "k")), dict.fromkeys("ABC", frozenset())
)
QUERIES = (
    "PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-next-match { [k] AND b[i].x > a.x } WITHIN 30 ms",
    "PATTERN SEQ(A a, NOT C n, B b) WHERE skip-till-any-match { [k] AND n.x = a.x } WITHIN 8 ms RETURN a.x + b.x AS s",
    "PATTERN SEQ(C c, A a) WHERE partition-contiguity { [k] } WITHIN 9 ms",
    "PATTERN SEQ(A a, C+ c[], B b) WHERE skip-till-any-match { [k] } WITHIN 6 ms OUTPUT COMPRESSED",
    "PATTERN SEQ(A+, C) WHERE [k] GROUP BY k WITHIN 20 ms SLIDE 10 ms RETURN k, COUNT(*), SUM(A.x)",
    "PATTERN SEQ(B, NOT C, A+) WITHIN 10 ms RETURN COUNT(*)",
)


def events(seed: int) -> list[bytes]:
    rng = random.Random(seed)
    return [
        orjson.dumps({"type": rng.choice("ABC"), "ts": ts, "x": rng.randrange(4), "k": rng.choice("uv")})
        for ts in range(60)
    ]


def results(schema: Schema, lines: list[bytes]) -> list[bytes]:
    queries = [Query(f"q{number}", text) for number, text in enumerate(QUERIES)]
    chain = Chain(queries, schema, compile_text, partition=0, disorder=0)
    merged = [*chain.feed(batch_of_values(lines)), *chain.finish()]
    bodies = [body for one in merged for part in one.json() for body in part]
    return [body.partition(b',"detected_at":')[0] for body in bodies]


@pytest.mark.parametrize("unseen", ["A", "B", "C", "AC", "ABC"])
def test_nothing_depends_on_which_types_were_seen_when_the_schema_was_inferred(unseen: str) -> None:
    lacking = replace(WHOLE, types={name: has for name, has in WHOLE.types.items() if name not in unseen})
    for seed in range(3):
        lines = events(seed)
        wanted = results(WHOLE, lines)
        assert len(wanted) > 20
        assert results(lacking, lines) == wanted
