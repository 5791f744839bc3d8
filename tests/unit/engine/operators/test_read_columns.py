"""What a query reads beside the schema's attributes is its own: beside others, and after restarts, it is as alone."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.trends.trend_operator import TrendOperator
from tests.unit.engine.containment.shell import Operator, Shell
from tests.unit.engine.match import cases

MATCHES = (
    "PATTERN SEQ(A a, B b) WHERE skip-till-next-match { [lower(s)] } WITHIN 40 ms",
    "PATTERN SEQ(A+ a[], B b) WHERE skip-till-next-match { upper(b.g) != 'Z' AND sum(a[].x) > 1 } WITHIN 40 ms",
    "PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-next-match { [g] AND a.late IS NULL } WITHIN 60 ms",
    "PATTERN SEQ(A a, B b) WHERE skip-till-any-match { a.x < b.x } WITHIN 30 ms RETURN length(a.s) AS n INTO Pair",
    "PATTERN SEQ(Pair p, C c) WHERE skip-till-next-match { concat(c.s, c.g) != 'aa' AND p.n >= 1 } WITHIN 60 ms",
    "PATTERN SEQ(A a, (B b OR C c), A? d) WITHIN 50 ms RETURN a.later AS later, substring(d.s, 1, 1) AS d",
)
TRENDS = (
    "PATTERN A a+ WHERE [k] WITHIN 40 ms SLIDE 20 ms RETURN COUNT(*)",
    "PATTERN A a+ WHERE [k] WITHIN 40 ms SLIDE 20 ms RETURN COUNT(*), SUM(length(a.s))",
    "PATTERN A a+ WHERE [k] WITHIN 40 ms SLIDE 20 ms RETURN MAX(position('b' IN a.s)), COUNT(a.late)",
    "PATTERN A a+ WHERE lower(a.s) != 'z' WITHIN 30 ms RETURN COUNT(*)",
    "PATTERN SEQ(A a+, B b) WHERE [upper(g)] GROUP BY lower(s) WITHIN 30 ms RETURN lower(s), COUNT(*)",
)


def blocks_of(rng: random.Random, texts: dict[str, str]) -> list[Block]:
    """Blocks of a stream whose schema comes behind the queries, once more in the middle, with one added again."""
    events = cases.stream(rng, 60)
    middle = events[30]["seq"]
    adds = [cases.query_control("add", name, text=text, slot=slot) for slot, (name, text) in enumerate(texts.items())]
    again = rng.choice(list(texts))
    more = [cases.query_control("add", again, middle, text=texts[again], version=2), cases.schema_control(middle)]
    controls: list[Control] = [*adds, cases.schema_control(), *rng.sample(more, 2)]
    return cases.blocks(events, sorted({30, *rng.sample(range(1, 60), 8)}), None, controls)


def found(
    make: Callable[[], Operator], blocks: list[Block], behind: frozenset[int] = frozenset()
) -> dict[str, list[bytes]]:
    """What is published, by query. `behind`: the blocks with a snapshot and a restart behind them."""
    shell = Shell(make, blocks, behind, behind)
    results: dict[str, list[bytes]] = {}
    for name, text in shell.run():
        results.setdefault(name, []).append(text)
    assert not shell.failures
    return results


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("kind", "texts"), [(MatchOperator, MATCHES), (TrendOperator, TRENDS)])
def test_a_query_holds_what_it_reads_itself(kind: Callable[..., Operator], texts: tuple[str, ...], seed: int) -> None:
    rng = random.Random(seed)
    names = [f"q{number}" for number in range(len(texts))]
    queries = dict(zip(rng.sample(names, len(names)), texts, strict=True))
    blocks = blocks_of(rng, queries)

    def make() -> Operator:
        return kind(partition=3, compiled=False)

    expected = found(make, blocks)
    assert found(make, blocks, frozenset(range(len(blocks)))) == expected
    assert expected.keys() == set(names)


@pytest.mark.parametrize(("kind", "text"), [(MatchOperator, MATCHES[0]), (TrendOperator, TRENDS[3])])
def test_what_a_query_reads_goes_with_it(kind: Callable[..., Operator], text: str) -> None:
    operator = kind(partition=0)
    texts = {f"q{number}": text.replace("'z'", f"'{number}'") for number in range(3)}
    adds = [cases.query_control("add", name, text=one, slot=slot) for slot, (name, one) in enumerate(texts.items())]
    events = cases.stream(random.Random(1), 20)
    end = events[15]["seq"]
    removes = [cases.query_control("remove", name, end) for name in texts]
    for block in cases.blocks(events, [10], None, [*adds, cases.schema_control(), *removes]):
        operator.apply(block)
    read = operator._read  # type: ignore[attr-defined]
    assert (read._computed, read._unseen, read._computing._kept) == ({}, {}, {})
