"""Equivalent runs as one (N7): with and without, always the same results, counts of runs and observations."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.match.core.runs import LENGTH
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.language.plan.clauses import Output, Window
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.merging import merging
from saffron.language.plan.pattern import Strategy
from tests.unit.engine.match import cases

STRATEGIES = (Strategy.NEXT, Strategy.NEXT, Strategy.PARTITION, Strategy.STRICT)
OUTPUTS = (Output.ALL, Output.ALL, Output.FIRST, Output.LONGEST, Output.NON_OVERLAP)


def plan_of(rng: random.Random) -> MatchPlan:
    """A plan whose runs merge, now and then with a choice among its matches."""
    while merging(made := cases.plan(rng, rng.choice(STRATEGIES))).component is None:
        pass
    if rng.random() < 0.6:
        made = replace(made, window=Window(rng.choice([15, 30, 60]), rng.random() < 0.5, None, None))
    consume = (0,) if rng.random() < 0.1 else ()
    return replace(made, output=rng.choice(OUTPUTS), consume=consume, returns=())


def operator(plan: MatchPlan, merges: bool, compiled: bool = False) -> MatchOperator:
    return MatchOperator(partition=3, compiled=compiled, compiler=lambda *_: plan, merges=merges)


def runs(run: MatchOperator) -> Iterator[QueryRuns]:
    yield from (one.runs for one in run._standing.values() if isinstance(one.runs, QueryRuns))


def led(run: MatchOperator) -> int:
    """How many runs another one leads."""
    return sum(int(one.pools[-1].segments[:, LENGTH].sum()) for one in runs(run) if one.program.merging is not None)


def seen(run: MatchOperator, blocks: Sequence[Block]) -> tuple[list[Any], int]:
    """Block by block the results, partial matches and transitions; and how many runs were led, all in all."""
    found, total = [], 0
    for block in blocks:
        texts = cases.results(run, [block])
        rows = run.observations().get("observations.transitions", [])
        counted = [{name: value for name, value in row.items() if name != "followed"} for row in rows]
        found.append((texts, run.statistics()["partial_matches"], counted))
        total += led(run)
    return found, total


@pytest.mark.usefixtures("_any_two")
def test_results_and_counts_are_the_same_with_and_without() -> None:
    rng = random.Random(7)
    total = matches = 0
    for _ in range(65):
        plan = plan_of(rng)
        events = cases.stream(rng, rng.randrange(10, 45), "AAAB")
        blocks = cases.blocks_of(plan, events, [rng.randrange(len(events)) for _ in range(3)])
        found, merged = seen(operator(plan, True), blocks)
        assert found == seen(operator(plan, False), blocks)[0], (plan, events)
        total += merged
        matches += sum(len(texts) for texts, *_ in found)
    assert total > 100
    assert matches > 200


@pytest.mark.usefixtures("_any_two")
def test_what_a_drop_order_leaves_is_the_same_with_and_without_and_after_a_snapshot() -> None:
    rng = random.Random(11)
    total = 0
    for _ in range(20):
        plan = plan_of(rng)
        events = cases.stream(rng, 36, "AAAB")
        table = {"utility": [[0.0, 0.5, 1.0]] * 2, "per_ms": 0.05} if rng.random() < 0.5 else {}
        orders = [
            Control(events[at]["seq"], "keep", {"query": "q", "n": rng.randrange(8), **table}) for at in (12, 24, 30)
        ]
        blocks = cases.blocks_of(plan, events, range(0, 36, 6), orders)
        apart, _ = seen(operator(plan, False), blocks)
        assert seen(operator(plan, True), blocks)[0] == apart, (plan, events)
        run, texts = operator(plan, True), []
        for block in blocks:
            texts += cases.results(run, [block])
            total += led(run)
            state = {name: array.copy() for name, array in run.snapshot().items()}
            run = operator(plan, True)
            run.restore(state)
        assert texts == [text for texts, *_ in apart for text in texts]
    assert total > 15


RISING = "PATTERN SEQ(A+ a[], B b) WHERE [k] AND a[i].x >= a[i-1].x AND b.x > 3 WITHIN 300 ms"


def test_compiled_kernels_merge_many_runs_and_memory_follows_the_window() -> None:
    """The buffer is smaller than without, and as large after ten windows as after three."""
    plan = cases.plan_of(RISING)
    rng = random.Random(3)
    events = [
        {**event, "x": 2 if rng.random() < 0.9 else event["x"]} for event in cases.stream(rng, 3000, "A" * 60 + "B")
    ]
    blocks = cases.blocks_of(plan, events, range(0, 3000, 100))
    sizes: dict[bool, list[int]] = {True: [], False: []}
    texts: dict[bool, list[bytes]] = {True: [], False: []}
    for merges, held in sizes.items():
        run = operator(plan, merges, compiled=True)
        for block in blocks:
            texts[merges] += cases.results(run, [block])
            held.append(sum(one.nodes.size for one in runs(run)))
    assert texts[True] == texts[False]
    assert texts[True]
    assert sizes[True][-1] < sizes[False][-1]
    assert sizes[True][-1] == sizes[True][9]
