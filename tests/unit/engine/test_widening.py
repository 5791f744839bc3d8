"""A schema that widens while queries run: results are those of the final schema from the start, whatever the cuts."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.errors import SaffronError
from saffron.language import compile_query
from saffron.schema.schema import Kind, Schema, widened
from tests.unit.engine import exact_numbers
from tests.unit.engine.exact_numbers import OPERATORS, Event
from tests.unit.engine.match.rules import test_exact_numbers as match
from tests.unit.engine.trends import test_exact_numbers as trends
from tests.unit.engine.uncertain import test_exact_numbers as uncertain

Operator = MatchOperator | TrendOperator


def growing(rng: random.Random, size: int) -> list[Event]:
    """Events whose numbers need wider kinds as the stream goes on."""
    pools = [(0, 1, 2), (0, 1, 0.5), exact_numbers.POOLS[rng.choice([1, 3])]]
    events, ts = [], 0
    for seq in range(size):
        ts += rng.choice((0, 10, 10))
        pool = pools[min(len(pools) * seq // size, rng.randrange(len(pools)))]
        values = {name: None if rng.random() < 0.05 else rng.choice(pool) for name in "xy"}
        events.append({"seq": seq, "ts": ts, "type": rng.choice("AB"), **values})
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


def make_matches() -> MatchOperator:
    return MatchOperator(partition=0, compiled=False)


def make_trends() -> TrendOperator:
    return TrendOperator(partition=0, compiled=False)


def cut(rng: random.Random, size: int) -> list[int]:
    return sorted(rng.sample(range(1, size), min(size - 1, rng.randrange(1, 4))))


def check_matches(rng: random.Random, made: Callable[[], tuple[str, list[Event]]]) -> None:
    """Match queries and their events: the same results of the schemas that each cut finds as of the final one."""

    count = 0
    for _ in range(25):
        text, events = made()
        cuts = cut(rng, len(events))
        schemas = schemas_of(events, [0, *cuts])
        whole = results(make_matches, text, events, [], [(0, schemas[-1][1])], rng)
        found = results(make_matches, text, events, cut(rng, len(events)), schemas, rng)
        assert found == whole, (text, events, schemas)
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
def test_aggregate_queries_lose_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(100 + seed)
    exact_numbers.hard_for_trees(rng, monkeypatch)
    count = 0
    for _ in range(20):
        text, events = trends.made_query(rng), growing(rng, rng.randrange(4, 12))
        cuts = cut(rng, len(events))
        schemas = schemas_of(events, [0, *cuts])

        whole = results(make_trends, text, events, [], [(0, schemas[-1][1])], rng)
        assert results(make_trends, text, events, cut(rng, len(events)), schemas, rng) == whole, (text, events, schemas)
        count += len(whole)
    assert count > 5


LATE = ((None,), (None, "a", "b", "c"), (None, True, False), (None, 0, 1, 2), (None, 2**60, 2**60 + 1))
COMPARED = (
    "A.{0} {2} NEXT(A).{1}", "A.{0} {2} NEXT(A).{1} AND A.{1} = NEXT(A).{0}", "A.{0} {2} NEXT(A).{1} OR A.{1} > 1",
    "A.z {2} NEXT(A).{0} AND A.z >= NEXT(A).z", "A.{0} = NEXT(A).{1} AND A.z {2} NEXT(A).z",
    "A.{0} {2} NEXT(A).{1} AND A.z < NEXT(B).z", "A.z < NEXT(A).z AND A.{0} {2} NEXT(B).{1}",
    "A.{0} {2} NEXT(A).{1} AND A.{0} = NEXT(B).{1}", "CASE WHEN A.s = 'b' THEN A.{0} ELSE A.{1} END {2} NEXT(A).z",
    "A.s != 'c' AND CASE WHEN NEXT(A).s != 'b' THEN NEXT(A).{0} ELSE NEXT(A).{1} END {2} A.z AND A.s = NEXT(A).s",
    "coalesce(A.{0}, nullif(A.{1}, 'b')) {2} NEXT(A).{0} AND A.s != 'c'",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_values_that_come_late_are_found(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attributes of aggregate queries that were only null: results are as if their kind had been known."""
    rng, count = random.Random(300 + seed), 0

    def more() -> Event:
        return {"z": rng.randrange(4), "s": rng.choice("abcd")}

    exact_numbers.hard_for_trees(rng, monkeypatch)
    for _ in range(25):
        condition = rng.choice(COMPARED).format(rng.choice("xy"), rng.choice("xy"), rng.choice(OPERATORS))
        pattern = "SEQ(A+, B)" if "(B)" in condition else "A+"
        window = rng.choice(("WITHIN 60 ms SLIDE 20 ms", "WITHIN 100 ms"))
        strict, exact = (word if rng.random() < 0.3 else "" for word in (" TIME STRICT", " EXACT"))
        text = f"PATTERN {pattern} WHERE {condition} {window}{strict} RETURN COUNT(*){exact}"
        late = {name: (rng.randrange(4, 16), rng.choice(LATE[1:])) for name in "xy"}
        events, ts = [], 0
        for seq in range(20):
            ts += rng.choice((0, 10, 10))
            values = {name: rng.choice(pool if seq >= first else LATE[0]) for name, (first, pool) in late.items()}
            events.append({"seq": seq, "ts": ts, "type": rng.choice("AAB"), **values, **more()})
        schemas = schemas_of(events, [0, *sorted({first for first, _ in late.values()})])
        try:
            compile_query(text, schemas[-1][1], name="q")
        except SaffronError:  # a comparison of two kinds, or the order of truth values
            continue
        whole = results(make_trends, text, events, [], [(0, schemas[-1][1])], rng)
        found = results(make_trends, text, events, cut(rng, len(events)), schemas, rng)
        assert found == whole, (text, events, schemas)
        count += len(whole)
    assert count > 5


CHOICES = (
    "{0}", "coalesce({0}, 1)", "coalesce({0}, {1})", "nullif({0}, 2)", "nullif({0}, {1})",
    "CASE WHEN {0} > 0 THEN {0} ELSE {2} END", "coalesce({2}, {0})",
)  # fmt: skip
MATCHED = (
    "SEQ(A a, B b) WHERE {strategy} {{ {a} {op} {b} }}",
    "SEQ(A a, B b) WHERE {strategy} {{ [{key}] AND b.z >= 0 }}",
    "SEQ(A a, B b) WHERE {strategy} {{ (a.t IS NULL AND b.z = 2) OR ({a} IS NULL AND {b} > 0) }}",
    "SEQ(A a, NOT B c, B b) WHERE {strategy} {{ {c} {op} {a} }}",
    "SEQ(A a, B b, NOT B c) WHERE {strategy} {{ {c} {op} {a} }}",
    "SEQ(A+ a[], B b) WHERE {strategy} {{ {last} {op} {b} }}",
    "SEQ(A+ a[], B b) WHERE {strategy} {{ {each} {op} {before} AND b.z > 0 }}",
    "SEQ(A+ a[], B b) WHERE {strategy} {{ max({all}) {op} {b} }}",
    "SEQ(A+ a[], B b) WHERE {strategy} {{ count({all} > 1) >= 1 AND sum({all}) {op} b.z }}",
    "SEQ((A a[], (B b[] OR A c[]))+, B d) WHERE skip-till-next-match {{ {last} {op} {d} }}",
)
COUNTED = (
    "A+ WHERE {A} {op} {next} WITHIN {within} RETURN COUNT(*), MAX({A}), COUNT(A.t IS NULL)",
    "SEQ(A+, B) WHERE {A} {op} {next_B} WITHIN {within} RETURN COUNT(*), SUM({A})",
    "A+ WHERE A.z <= NEXT(A).z AND {A} {op} 1 GROUP BY {key} WITHIN {within} RETURN COUNT(*), MIN({A})",
    "A+ WHERE [{key}] AND {A} {op} {next} WITHIN {within} RETURN COUNT(*)",
)


def read_by(rng: random.Random, choice: str) -> dict[str, str]:
    """A choice as each kind of reference writes it."""
    names = rng.sample("xy", 2)
    prefixes = {
        "a": "a.", "b": "b.", "c": "c.", "d": "d.", "last": "a[last].", "each": "a[i].", "before": "a[i-1].",
        "all": "a[].", "A": "A.", "next": "NEXT(A).", "next_B": "NEXT(B).", "key": "",
    }  # fmt: skip
    return {name: choice.format(*(prefix + one for one in (*names, "z"))) for name, prefix in prefixes.items()}


def late_and_growing(rng: random.Random) -> list[Event]:
    """Events whose attributes x, y and t are null at first; numbers need wider kinds as the stream goes on."""
    first = {name: rng.randrange(0, 8) for name in "xyt"}
    values = growing(rng, 18)
    pools = {**{name: [one[name] for one in values] for name in "xy"}, "t": [[1], [2**60, 2], [], [2**60 + 1], None]}
    return [
        {**event, **{name: rng.choice(pools[name][: seq + 1]) if seq >= at else None for name, at in first.items()}}
        | {"z": seq % 3}
        for seq, event in enumerate(values)
    ]


@pytest.mark.parametrize("seed", range(8))
def test_computed_values_are_kept(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs, keys, groups and trends hold of choices, and of what is compared with values that come later."""
    rng, count = random.Random(400 + seed), 0
    exact_numbers.hard_for_trees(rng, monkeypatch)
    for _ in range(20):
        parts = read_by(rng, rng.choice(CHOICES)) | {"op": rng.choice(OPERATORS)}
        make: Callable[[], Operator] = make_trends
        if rng.random() < 0.7:
            make = make_matches
            strategy = rng.choice(("skip-till-any-match", "skip-till-next-match"))
            text = f"PATTERN {rng.choice(MATCHED).format(**parts, strategy=strategy)} WITHIN 60 ms"
        else:
            within = rng.choice(("60 ms SLIDE 20 ms", "100 ms"))
            text = f"PATTERN {rng.choice(COUNTED).format(**parts, within=within)}"
        events = late_and_growing(rng)
        schemas = schemas_of(events, [0, *cut(rng, len(events))])
        try:
            compile_query(text, schemas[-1][1], name="q")
        except SaffronError:  # a kind that never came
            continue
        whole = results(make, text, events, [], [(0, schemas[-1][1])], rng)
        found = results(make, text, events, cut(rng, len(events)), schemas, rng)
        assert found == whole, (text, events, schemas)
        count += len(whole)
    assert count > 5
