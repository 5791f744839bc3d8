"""A stream that grows, and numbers that float64 does not tell apart: history gives the answers of a replay."""

from __future__ import annotations

import random
from functools import reduce

import orjson
import pytest

from saffron.engine.events.decoding.growth import joined
from saffron.engine.events.decoding.newest import newest
from saffron.engine.events.raw import RawBatch, batch_of_lines
from saffron.runtime.replay.fused import Query
from saffron.runtime.replay.replay import Replay
from saffron.schema.schema import Kind, Schema
from tests.unit.engine import exact_numbers
from tests.unit.engine.test_growing_schema import QUERIES, random_events
from tests.unit.history.local import spread_lines
from tests.unit.interpreted import interpret_all

NUMBERS = (
    "PATTERN SEQ(A a, B b) WHERE skip-till-any-match { [x] } WITHIN 200 ms",
    """PATTERN SEQ(A a, B+ b[]) WHERE skip-till-next-match { [y] AND b[i].x >= a.x }
WITHIN 90 ms RETURN max(b[].x) AS most""",
    "PATTERN A+ WHERE [x] GROUP BY x WITHIN 200 ms RETURN x, COUNT(*), MIN(A.y), MAX(A.x)",
    "PATTERN SEQ(A+, B) WHERE A.x < NEXT(B).y GROUP BY y WITHIN 90 ms RETURN y, COUNT(*), MAX(A.x)",
)


def same(texts: tuple[str, ...], data: bytes, first: int, rng: random.Random) -> list[bytes]:
    """The results, of a replay that begins with what the first events show, and of history that knows them all."""
    queries = [Query(f"q{number}", text) for number, text in enumerate(texts)]
    whole = batch_of_lines(data)
    begun = newest(Schema({}, {}, {}), [whole.part(0, first)])
    replay = Replay(queries, schema=begun, lenient=True, disorder=2**40)
    pieces = [whole.part(at, at + 1) for at in range(len(whole))]
    wanted = [body for merged in replay.results(iter(_cut(whole, rng))) for chunk in merged.json() for body in chunk]
    final = reduce(joined, (newest(begun, [piece]) for piece in pieces), begun)
    found = spread_lines(queries, data, final, places=3, cut=rng.choice([3, 7, 100]), bounds=[10, 30, 55])
    assert sorted(found) == sorted(wanted)
    return found


def _cut(whole: RawBatch, rng: random.Random) -> list[RawBatch]:
    cuts = sorted(rng.sample(range(1, len(whole)), rng.randrange(6)))
    return [whole.part(low, high) for low, high in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


@pytest.mark.parametrize("seed", range(2))
def test_history_knows_what_a_replay_comes_to_know(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    interpret_all(monkeypatch)
    rng = random.Random(seed)
    lines = b"\n".join(orjson.dumps(event) for event in random_events(rng))
    assert len(same(QUERIES, lines, rng.choice([1, 20]), rng)) > 20


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_the_same_from_every_number_of_places(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that are equal lie in one place, whatever they were written as. Compiled once."""
    if seed > 0:
        interpret_all(monkeypatch)
    rng = random.Random(seed)
    values = (2**53, 2**53 + 1, 2.0**53, 0.5, -0.0, 0, 1, 1.0, 1e300, 2**63 - 1, 2.0**63, -(2**53) - 1)
    drawn = {name: rng.sample(values, 6) for name in "xy"}
    events = [
        {"ts": 5 * at, "type": rng.choice("AB"), **{name: rng.choice([*pool, None]) for name, pool in drawn.items()}}
        for at in range(60)
    ]
    lines = b"\n".join(exact_numbers.record(event) for event in events)
    assert any(kind is Kind.NUMBER for kind in newest(Schema({}, {}, {}), [batch_of_lines(lines)]).kinds.values())
    assert len(same(NUMBERS, lines, 1, rng)) > 20
