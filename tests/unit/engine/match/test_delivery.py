"""EMIT VALUES and PUBLISH: the same results with the same ids, without events, each at its address."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest

from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.operators.addresses import Address
from saffron.engine.trends.trend_operator import TrendOperator
from tests.reference.match import generate
from tests.reference.match.events import events_of
from tests.unit.engine.match import cases
from tests.unit.engine.match.test_composition import add, opened
from tests.unit.engine.match.test_general import cut

Found = list[tuple[dict[str, Any], Address | None]]


def run(text: str, events: list[dict[str, Any]], cuts: Any = (), *, trends: bool = False, begin: str = "now") -> Found:
    """All results of a query and their addresses."""
    operator = TrendOperator(partition=3) if trends else MatchOperator(partition=3, compiled=False)
    openers = {} if trends else {"q": opened(text, events_of(events))}
    found: Found = []
    blocks = list(cases.blocks(events, cuts, openers, (cases.schema_control(), add("q", text, begin=begin))))
    for block in blocks:
        results = operator.apply(block, lambda: iter(blocks))
        assert {one.state for one in operator.statuses().values()} == {"active"}, operator.statuses()
        texts = results.json(0, len(results))
        found += zip(map(orjson.loads, texts), results.addresses(0, len(results)), strict=True)
    return found


def lean(result: dict[str, Any]) -> dict[str, Any]:
    """The definition of EMIT VALUES."""
    return {name: value for name, value in result.items() if name != "events"}


def key_of(value: Any) -> bytes | None:
    """The definition of KEY."""
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else orjson.dumps(value)


@pytest.mark.parametrize("first", range(0, 120, 30))
def test_results_are_those_of_the_query_without_the_clauses(first: int) -> None:
    told = 0
    for seed in range(first, first + 30):
        rng = random.Random(seed)
        text, events = generate.case(rng, timeouts=rng.random() < 0.3)
        if "COMPRESSED" in text:
            continue
        cuts = cut(rng, events)
        whole = run(text, events, cuts)
        found = run(f"{text} EMIT VALUES PUBLISH 't'", events, cuts)
        assert [one for one, _ in found] == [lean(one) for one, _ in whole], seed
        assert {where for _, where in found} <= {Address("t")}
        assert {where for _, where in whole} <= {None}
        told += len(found)
    assert told > 50


KEYED = "PATTERN SEQ(A a, {}) WHERE skip-till-any-match WITHIN 9 ms RETURN {} AS it"


@pytest.mark.parametrize("emit", ["", "EMIT VALUES"])
@pytest.mark.parametrize(
    ("second", "key"),
    [
        ("B b", "a.s"),
        ("B b", "b.x"),
        ("B b", "a.x + b.x"),
        ("B b", "a.f"),
        ("B b", "a.x > b.x"),
        ("B? b", "b.s"),
        ("B+ b[]", "sum(b[].x)"),
        ("B+ b[]", "b.len"),
        ("B b", "upper(a.s) || '/' || b.s"),
        ("B b", "'one'"),
    ],
)
def test_keys_are_the_values_that_return_would_give(second: str, key: str, emit: str) -> None:
    seen: set[bytes | None] = set()
    for seed in range(6):
        events = generate.stream(random.Random(seed), 9)
        query = KEYED.format(second, key)
        for result, where in run(f"{query} {emit} PUBLISH 't' KEY {key}", events, [3, 5]):
            assert where == Address("t", key_of(result["return"]["it"]), keyed=True)
            seen.add(where.key)
    assert seen


def test_keys_of_trends_are_the_values_that_return_would_give() -> None:
    query = "PATTERN A+ WITHIN 4 ms {} RETURN COUNT(*) AS n, MAX(A.x) AS m {}"
    for group, key in (("GROUP BY s", "s"), ("GROUP BY s", "n"), ("", "COUNT(*) + 1"), ("", "MAX(A.x)")):
        key = "COUNT(*)" if key == "n" else key
        events = generate.stream(random.Random(5), 14)
        whole = run(query.format(group, ""), events, trends=True)
        found = run(query.format(group, f"PUBLISH 't' KEY {key}"), events, [4, 9], trends=True)
        assert [one for one, _ in found] == [one for one, _ in whole]
        for result, where in found:
            told = {"s": result["group"].get("s"), "COUNT(*)": result["return"]["n"]}
            told |= {"COUNT(*) + 1": result["return"]["n"] + 1, "MAX(A.x)": result["return"]["m"]}
            assert where == Address("t", key_of(told[key]), keyed=True)
        assert len(found) > 1


def test_the_past_of_a_new_query_goes_to_its_topic_too() -> None:
    events = generate.stream(random.Random(1), 12)
    query = "PATTERN SEQ(A a, B b) WITHIN 9 ms RETURN a.x AS x EMIT VALUES PUBLISH 't' KEY a.x"
    found = run(query, events, begin="earliest")
    assert found
    assert all(where == Address("t", key_of(one["return"]["x"]), keyed=True) for one, where in found)


def test_results_that_only_others_read_are_not_rendered() -> None:
    events = generate.stream(random.Random(1), 12)
    maker = "PATTERN SEQ(A a, B b) WITHIN 9 ms RETURN a.x AS x INTO D"
    for text, written in ((maker, False), (f"{maker} PUBLISH", True), (f"{maker} PUBLISH 't'", True)):
        operator = MatchOperator(partition=3, compiled=False)
        (block,) = cases.blocks(events, (), {}, (cases.schema_control(), add("q", text)))
        results = operator.apply(block)
        assert len(results)
        assert {bool(one) for one in results.json(0, len(results))} == {written}
        assert operator.statistics()["results"] == {"q": len(results)}
