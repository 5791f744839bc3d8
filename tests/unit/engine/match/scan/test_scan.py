"""Runs that pick their events themselves against those that are given them: the same results, whatever the blocks."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from saffron.engine.match import match_operator as matching
from saffron.engine.match.flat.states import ends_with_first
from saffron.engine.match.queries.fastest import started
from saffron.engine.match.runs.runs import Runs
from saffron.engine.operators.engine_choice import Engine
from saffron.language.plan.clauses import Output
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy
from tests.unit.engine.match import cases

FLAT = [Strategy.STRICT, Strategy.PARTITION, Strategy.NEXT, Strategy.ANY]


def scan(plan: MatchPlan, schema: Any, strings: Any, *, slot: int, compiled: bool, shed: str, merges: bool) -> Runs:
    return started(plan, cases.choice(Engine.SCAN, plan), schema, strings, slot=slot, compiled=compiled)


def fed(plan: MatchPlan, schema: Any, strings: Any, *, slot: int, compiled: bool, shed: str, merges: bool) -> Runs:
    return started(plan, cases.choice(Engine.FLAT, plan), schema, strings, slot=slot, compiled=compiled)


def run(
    monkeypatch: pytest.MonkeyPatch,
    start: Any,
    plan: MatchPlan,
    events: Sequence[Any],
    cuts: Sequence[int],
    **given: Any,
) -> list[bytes]:
    """Results with a snapshot and restore after every block if `given` says so."""
    monkeypatch.setattr(matching, "start", start)
    controls = (cases.schema_control(), cases.query_control("add"))
    parts = cases.blocks(events, cuts, {"q": cases.openers(plan, events)}, controls, given.get("dropped"))
    operator = cases.operator({"q": plan}, compiled=given.get("compiled", False))
    texts: list[bytes] = []
    for part in parts:
        texts += cases.results(operator, [part])
        if given.get("restored"):
            state = {name: array.copy() for name, array in operator.snapshot().items()}
            operator = cases.operator({"q": plan})
            operator.restore(state)
    return texts


def streams(seed: int, count: int, strategy: Strategy) -> Iterator[tuple[MatchPlan, list[dict[str, Any]], list[int]]]:
    rng = random.Random(seed)
    for _ in range(count):
        events = cases.stream(rng, rng.randrange(1, 25), rng.choice(["AABBC", "AB"]))
        yield cases.plan(rng, strategy), events, [rng.randrange(len(events)) for _ in range(rng.randrange(4))]


@pytest.mark.parametrize("strategy", FLAT)
def test_results_are_those_of_runs_that_are_given_their_events(
    monkeypatch: pytest.MonkeyPatch, strategy: Strategy
) -> None:
    matched = 0
    for plan, events, cuts in streams(17, 25, strategy):
        dropped = [int((event["seq"] * 7 + len(events)) % 9 == 0) for event in events]
        for given in ({}, {"dropped": dropped}):
            wanted = run(monkeypatch, fed, plan, events, cuts, **given)
            assert run(monkeypatch, scan, plan, events, cuts, **given) == wanted, (plan, events)
            matched += len(wanted)
        assert run(monkeypatch, scan, plan, events, cuts, restored=True) == run(monkeypatch, fed, plan, events, [])
    assert matched > 20


def test_compiled_kernels_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for strategy in FLAT:
        for plan, events, cuts in streams(23, 1, strategy):
            wanted = run(monkeypatch, fed, plan, events, cuts)
            assert run(monkeypatch, scan, plan, events, cuts, compiled=True) == wanted


@pytest.mark.parametrize("start", [scan, fed])
@pytest.mark.parametrize("strategy", FLAT[:3])
def test_runs_that_end_with_their_first_match_find_the_first_of_each_start(
    monkeypatch: pytest.MonkeyPatch, start: Any, strategy: Strategy
) -> None:
    """The last event, and so which match is the first of a start, is known when it happens: no choice is left."""
    ended = 0
    for every, events, cuts in streams(31, 90, strategy):
        first = replace(every, output=Output.FIRST)
        if not ends_with_first(first):
            continue
        chosen = run(monkeypatch, start, first, events, cuts)
        begun: set[int] = set()
        wanted = []
        for text in run(monkeypatch, fed, every, events, cuts):
            seq = seqs(text)[0]
            if seq not in begun:
                begun.add(seq)
                wanted.append(text)
        assert cases.parsed(chosen) == cases.parsed(wanted), (first, events)
        ended += len(wanted)
    assert ended > 8


def seqs(text: bytes) -> list[int]:
    """The sequence numbers of a result, the first event's first."""
    parts = cases.parsed([text])[0]["events"].values()
    return [event["seq"] for part in parts for event in (part if isinstance(part, list) else [part])]


def test_many_keys_that_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    plan = next(
        plan for plan, _, _ in streams(5, 200, Strategy.NEXT) if plan.key == ("k",) and len(plan.components) == 2
    )
    events = cases.stream(rng, 600, "AB")
    for event in events:
        event["k"] = int(event["ts"]) // 30 * 8 + rng.randrange(8)
    cuts = list(range(40, 600, 40))
    assert run(monkeypatch, scan, plan, events, cuts) == run(monkeypatch, fed, plan, events, cuts)


@pytest.mark.parametrize("compiled", [False, True])
def test_keys_that_are_numbers_close_together_in_some_blocks_and_far_apart_in_others(
    monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    rng = random.Random(9)
    plan = next(
        plan for plan, _, _ in streams(5, 200, Strategy.NEXT) if plan.key == ("k",) and len(plan.components) == 2
    )
    events = cases.stream(rng, 400, "AB")
    kinds = ([-2, -1, 0, 1], [-(2**62), 1, 2**62], [2**40, 2**40 + 1], [0, None, 1])
    for number, event in enumerate(events):
        event["k"] = rng.choice([*kinds[number // 25 % len(kinds)], 0, 1])
    cuts = list(range(25, 400, 25))
    wanted = run(monkeypatch, fed, plan, events, cuts)
    assert run(monkeypatch, scan, plan, events, cuts, compiled=compiled) == wanted
    assert run(monkeypatch, scan, plan, events, [], compiled=compiled) == run(monkeypatch, fed, plan, events, [])
