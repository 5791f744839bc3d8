"""A schema that widens while queries run: results are those of the final schema from the start, whatever the cuts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.schema.schema import Kind, Schema, widened
from tests.unit.engine import exact_numbers
from tests.unit.engine.exact_numbers import Event
from tests.unit.engine.match.rules import test_exact_numbers as match
from tests.unit.engine.trends import test_exact_numbers as trends
from tests.unit.engine.uncertain import test_exact_numbers as uncertain

Operator = MatchOperator | TrendOperator


def growing(rng: random.Random, size: int) -> list[Event]:
    """Events whose numbers need wider kinds as the stream goes on."""
    pools = [(0, 1, 2), (0, 1, 0.5), exact_numbers.POOLS[rng.choice([1, 3])]]
    events = []
    for seq in range(size):
        pool = pools[min(len(pools) * seq // size, rng.randrange(len(pools)))]
        values = {name: None if rng.random() < 0.05 else rng.choice(pool) for name in "xy"}
        events.append({"seq": seq, "ts": 10 * seq, "type": rng.choice("AB"), **values})
    return events


def schemas_of(events: Sequence[Event], cuts: Sequence[int]) -> list[tuple[int, Schema]]:
    """The schema that each of the cuts finds, with all values up to the next cut."""
    final = exact_numbers.schema_of(events)
    bounds = [*cuts[1:], len(events)]
    found = []
    kinds = dict.fromkeys(final.kinds, Kind.NULL)
    low = 0
    for at, stop in zip(cuts, bounds, strict=True):
        for name, kind in exact_numbers.schema_of([*events[low:stop]]).kinds.items():
            present = any(event[name] is not None for event in events[low:stop])
            kinds[name] = (widened(kinds[name], kind) or kind) if present else kinds[name]
        found.append((at, replace(final, kinds=dict(kinds))))
        low = stop
    return found


def results(
    make: Callable[[], Operator], text: str, events: Sequence[Event], cuts: list[int], schemas: Any, rng: random.Random
) -> list[bytes]:
    """All results; a snapshot is taken and read back now and then."""
    operator, found = make(), []
    for block in exact_numbers.blocks(events, cuts, schemas, [exact_numbers.query(text)]):
        entries = operator.apply(block)
        found += entries.json(0, len(entries))
        if rng.random() < 0.3:
            state, operator = operator.snapshot(), make()
            operator.restore(state)
    assert operator.statuses()["q"].state == "active", operator.statuses()
    return found


def cut(rng: random.Random, size: int) -> list[int]:
    return sorted(rng.sample(range(1, size), min(size - 1, rng.randrange(1, 4))))


def check_matches(rng: random.Random, made: Callable[[], tuple[str, list[Event]]]) -> None:
    """Match queries and their events: the same results of the schemas that each cut finds as of the final one."""

    def make() -> MatchOperator:
        return MatchOperator(partition=0, compiled=False)

    count = 0
    for _ in range(25):
        text, events = made()
        cuts = cut(rng, len(events))
        schemas = schemas_of(events, [0, *cuts])
        whole = results(make, text, events, [], [(0, schemas[-1][1])], rng)
        assert results(make, text, events, cut(rng, len(events)), schemas, rng) == whole, (text, events, schemas)
        count += len(whole)
    assert count > 5


@pytest.mark.parametrize("seed", range(6))
def test_match_queries_lose_nothing(seed: int) -> None:
    rng = random.Random(seed)
    check_matches(rng, lambda: (match.made_query(rng), growing(rng, rng.randrange(4, 14))))


@pytest.mark.parametrize("seed", range(4))
def test_queries_over_imprecise_time_lose_nothing(seed: int) -> None:
    rng = random.Random(200 + seed)
    check_matches(rng, lambda: (uncertain.made_query(rng), uncertain.vague(growing(rng, rng.randrange(4, 12)), rng)))


@pytest.mark.parametrize("seed", range(6))
def test_aggregate_queries_lose_nothing(seed: int) -> None:
    rng = random.Random(100 + seed)
    count = 0
    for _ in range(20):
        text, events = trends.made_query(rng), growing(rng, rng.randrange(4, 12))
        cuts = cut(rng, len(events))
        schemas = schemas_of(events, [0, *cuts])

        def make() -> TrendOperator:
            return TrendOperator(partition=0, compiled=False)

        whole = results(make, text, events, [], [(0, schemas[-1][1])], rng)
        found = results(make, text, events, cut(rng, len(events)), schemas, rng)
        rounded = windows(found)
        if rounded:  # events were compared in an order that float64 turned out not to hold
            assert any(kind.is_wide for kind in schemas[-1][1].kinds.values())
            assert "NEXT" in text
        exact = [[one for one in some if window(one) not in rounded] for some in (found, whole)]
        assert exact[0] == exact[1], (text, events, schemas)
        assert rounded or len(found) == len(whole)
        count += len(whole)
    assert count > 5


def window(result: bytes) -> list[int]:
    bounds: list[int] = json.loads(result)["window"]
    return bounds


def windows(results: Sequence[bytes]) -> list[list[int]]:
    """Of which results say that they are not exact."""
    return [window(one) for one in results if not json.loads(one)["exact"]]
