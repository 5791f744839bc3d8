"""A query that fails, wherever: its results are a prefix of its right ones, those of the others are the right ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.operators.containment import RESTORING
from saffron.engine.trends.trend_operator import TrendOperator
from tests.unit.engine.containment.faults import COMPUTED, SHARED, Fault, injected
from tests.unit.engine.containment.shell import Operator, Shell
from tests.unit.engine.match import cases

MATCH = {
    "words": "PATTERN SEQ(A a, B b) WHERE skip-till-next-match { [lower(s)] } WITHIN 40 ms",
    "maker": "PATTERN SEQ(A a, B b) WHERE skip-till-next-match { [k] } WITHIN 60 ms RETURN a.x AS x INTO Pair",
    "reader": "PATTERN SEQ(Pair p, C c) WHERE skip-till-next-match { c.x > p.x - 20 } WITHIN 90 ms INTO Far",
    "last": "PATTERN SEQ(Far f, A a) WITHIN 90 ms",
    "flat": "PATTERN SEQ(A a, B+ b[], C c) WHERE skip-till-next-match { [g] } WITHIN 80 ms",
    "any": "PATTERN SEQ(A a, B b) WHERE skip-till-any-match { a.x < b.x } WITHIN 40 ms",
    "table": "PATTERN SEQ(A a, (B b OR C c), A? d) WITHIN 50 ms",
    "waits": "PATTERN SEQ(A a, B b, NOT(C c)) WITHIN 30 ms",
    "longest": "PATTERN SEQ(A a, B+ b[]) WITHIN 40 ms OUTPUT LONGEST",
}
READERS = {"maker": {"reader", "last"}, "reader": {"last"}}
TRENDS = {
    "count": "PATTERN A a+ WHERE [k] WITHIN 40 ms SLIDE 20 ms RETURN COUNT(*)",
    "most": "PATTERN A a+ WHERE [k] WITHIN 40 ms SLIDE 20 ms RETURN COUNT(*), MAX(a.x)",
    "words": "PATTERN A a+ WHERE [lower(s)] WITHIN 40 ms SLIDE 20 ms RETURN COUNT(*)",
    "sum": "PATTERN A a+ WHERE [k] WITHIN 40 ms SLIDE 20 ms RETURN SUM(a.x)",
    "other": "PATTERN SEQ(A a+, B b) WITHIN 30 ms RETURN COUNT(*), MIN(a.x)",
}
PLACES = ("start", "begin", "advance", "end", "found", "compute", "render", "save", "restore")
TREND_PLACES = ("compute", "trend start", "trend make", "trend apply", "trend close", "trend own", "trend render")
SEEDS, NIGHTLY = 1, 40


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    nightly = metafunc.config.getoption("--nightly")
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(NIGHTLY if nightly else SEEDS))


def matcher() -> MatchOperator:
    return MatchOperator(partition=3, compiled=False)


def greta() -> TrendOperator:
    return TrendOperator(partition=3, compiled=False)


def stream(rng: random.Random, texts: dict[str, str], *, late: bool) -> list[Block]:
    """Blocks of 40 events, all queries added at the beginning or (`late`) some of them where it may be."""
    events = cases.stream(rng, 40)
    positions = [event["seq"] for event in events]
    cuts = sorted(rng.sample(range(1, len(events)), 7))
    adds = []
    for slot, (name, text) in enumerate(texts.items()):
        at = rng.choice(positions) if late and rng.random() < 0.5 else 0
        body = {"op": "add", "name": name, "version": 1, "text": text, "slot": slot, "from": "now"}
        adds.append(Control(at, "query", body))
    adds.sort(key=lambda control: control.position)
    return cases.blocks(events, cuts, None, (cases.schema_control(), *adds))


def right(make: Callable[[], Operator], blocks: Sequence[Block]) -> dict[str, list[bytes]]:
    shell = Shell(make, blocks)
    found = by_query(shell)
    assert not shell.failures
    return found


def by_query(shell: Shell) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for name, text in shell.run():
        found.setdefault(name, []).append(text)
    return found


def disturbed(rng: random.Random, make: Callable[[], Operator], blocks: Sequence[Block], fault: Fault) -> Shell:
    """With snapshots and restarts where they may be; `found` is then filled."""
    numbers = range(len(blocks))
    shell = Shell(make, blocks, frozenset(rng.sample(numbers, 3)), frozenset(rng.sample(numbers, 2)))
    with injected(fault):
        shell.run()
    return shell


def check(shell: Shell, expected: dict[str, list[bytes]], may_fail: set[str]) -> None:
    found: dict[str, list[bytes]] = {}
    for name, text in shell.found:
        found.setdefault(name, []).append(text)
    assert set(shell.stops) <= may_fail, shell.failures
    for name, results in expected.items():
        own = found.get(name, [])
        if name in shell.stops:
            assert own == results[: len(own)], f"{name}: no prefix"
        else:
            assert own == results, f"{name}: changed by another one"


@pytest.mark.parametrize("late", [False, True], ids=["before the work", "behind it"])
@pytest.mark.parametrize("place", PLACES)
def test_a_match_query_that_fails_hurts_no_other(place: str, late: bool, seed: int) -> None:
    rng = random.Random(f"{place} {late} {seed}")
    failed = 0
    for _ in range(3):
        blocks = stream(rng, MATCH, late=rng.random() < 0.3 and place != "restore")
        query, times = (COMPUTED, 12) if place == "compute" else (rng.choice(list(MATCH)), 6)
        fault = Fault(query, place, rng.randrange(times) if place not in ("start", "save") else 0, late)
        expected = right(matcher, blocks)
        shell = disturbed(rng, matcher, blocks, fault)
        check(shell, expected, {fault.query} | READERS.get(fault.query, set()))
        failed += bool(shell.stops)
        assert bool(fault.raised) == bool(shell.stops)
        for one in shell.failures:
            assert "Broken: on purpose" in one.reason or "failed, whose results it reads" in one.reason
    assert failed or place in ("found", "render", "restore"), "a test without faults proves nothing"


@pytest.mark.parametrize("late", [False, True], ids=["before the work", "behind it"])
@pytest.mark.parametrize("place", TREND_PLACES)
def test_a_trend_query_that_fails_hurts_no_other_though_they_share_a_graph(place: str, late: bool, seed: int) -> None:
    rng = random.Random(f"{place} {late} {seed}")
    for _ in range(2):
        blocks = stream(rng, TRENDS, late=rng.random() < 0.3)
        named = place in ("trend start", "trend own", "trend render")
        query = COMPUTED if place == "compute" else "most" if named else SHARED
        fault = Fault(query, place, rng.randrange(3) if place != "trend start" else 0, late)
        expected = right(greta, blocks)
        shell = disturbed(rng, greta, blocks, fault)
        # A graph of a snapshot is all that its readers have.
        lost = any(one.step == RESTORING for one in shell.failures)
        failing = COMPUTED if place == "compute" else "most"
        check(shell, expected, {"most", "count", "sum"} if lost else {failing})
        assert (failing in shell.stops) == bool(fault.raised) or not named


def test_one_that_is_stopped_before_a_block_is_as_one_that_failed_in_it(seed: int) -> None:
    """Wherever in the block it failed, and with drop orders, which choose among the partial matches of all."""
    rng = random.Random(seed)
    for _ in range(4):
        texts = {name: MATCH[name] for name in ("flat", "any", "longest")}
        blocks = stream(rng, texts, late=False)
        orders = [
            Control(block.first_seq, "keep", {"n": 2, "queries": {name: {"by": "random", "seed": 7} for name in texts}})
            for block in blocks[1:]
        ]
        blocks = [blocks[0], *(with_control(block, order) for block, order in zip(blocks[1:], orders, strict=True))]
        fault = Fault("any", rng.choice(("advance", "end", "found")), rng.randrange(1, 6), late=rng.random() < 0.5)
        shell = disturbed(rng, matcher, blocks, fault)
        twin = Shell(matcher, blocks, stops=dict(shell.stops))
        assert twin.run() == shell.found
        assert not twin.failures


def with_control(block: Block, control: Control) -> Block:
    return replace(block, controls=(*block.controls, control))
