"""Graphs of matches against the definition: every path is a match, every match a path; order, counts, windows, cuts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from saffron.engine.events.strings import Strings
from saffron.engine.match.compressed import enumeration
from saffron.engine.match.compressed.counting import counted
from saffron.engine.match.compressed.graphs import Graph, Graphs
from saffron.engine.match.compressed.slots import Slots
from saffron.engine.match.core.rows import SEQ
from saffron.engine.match.core.stream import Range
from saffron.engine.match.output.sequences import bound
from saffron.engine.match.queries.fastest import started
from saffron.engine.match.runs.graph import Linking
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.operators.engine_choice import Engine, EngineChoice
from saffron.language.plan.consistency import is_collapsible
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy
from tests.unit.engine.match import cases

Parts = tuple[tuple[int, ...], ...]


def collapsible(rng: random.Random, *, slots: bool) -> MatchPlan:
    """A random plan that graphs take; `slots`: one of those whose nodes have some, else as it comes."""
    while not is_collapsible(plan := cases.plan(rng, Strategy.ANY)) or (slots and not Slots(plan).most):
        pass
    return plan


def graph_runs(plan: MatchPlan, *, compiled: bool = False) -> QueryRuns:
    return started(plan, EngineChoice(Engine.GRAPHS, "chosen by a test"), cases.SCHEMA, Strings(), compiled=compiled)


def source(runs: QueryRuns) -> Linking:
    assert isinstance(runs.source, Linking)
    return runs.source


def blocks(plan: MatchPlan, events: Sequence[Any], cuts: Sequence[int], runs: QueryRuns) -> Iterator[QueryRuns]:
    """The runs after each block."""
    opened = cases.openers(plan, events)
    bounds = sorted({0, len(events), *cuts})
    for low, high in pairwise(bounds):
        columns = cases.columns(events[low:high])
        runs.begin_block(int(columns.seq[0] if plan.window.events else columns.ts[0]))
        first, last = events[low]["seq"] if low else 0, events[high - 1]["seq"]
        runs.advance(Range(columns, 0, len(columns)), [p for p in opened if first <= p <= last])
        yield runs


def wanted(plan: MatchPlan, events: Sequence[Any]) -> list[tuple[int | None, Parts]]:
    """(first instant of its window, sequence numbers by component) of every match, in order."""
    found = []
    for result in cases.expected(plan, events):
        parts = [part if isinstance(part, list) else [part] for part in result["events"].values()]
        low = None if result["window"] is None else result["window"][0]
        found.append((low, tuple(tuple(event["seq"] for event in part) for part in parts)))
    return found


def listed(runs: QueryRuns) -> list[Parts]:
    """All matches, checked to be the same one by one, all at once and as chains, and as many as counted."""
    seqs, graphs = runs.rows.columns[SEQ], source(runs).graphs()
    _, counts, places = graphs.enumerate()
    ends = np.cumsum(counts.ravel())
    numbers = [tuple(int(seqs[p]) for p in part) for part in np.split(places, ends[:-1])] if len(counts) else []
    width = counts.shape[1]
    found = [tuple(numbers[k : k + width]) for k in range(0, len(numbers), width)]
    each = [
        tuple(tuple(int(seqs[p]) for p in part) for part in match) for g in graphs_of(graphs) for match in g.enumerate()
    ]
    assert each == found
    assert [array.tolist() for array in bound(runs, runs.found)] == [counts.tolist(), places.tolist()]
    assert sum(graphs.counts()) == len(found)
    assert [g.count() for g in graphs_of(graphs)] == graphs.counts()
    return found


def graphs_of(graphs: Graphs) -> list[Graph]:
    return [graphs[number] for number in range(len(graphs))]


def case(seed: int, *, slots: bool = False) -> tuple[MatchPlan, list[dict[str, Any]], list[int]]:
    rng = random.Random(seed)
    plan = collapsible(rng, slots=slots)
    events = cases.stream(rng, rng.randrange(1, 13), rng.choice(["AABBC", "AB"]))
    return plan, events, [rng.randrange(len(events)) for _ in range(rng.randrange(4))]


@pytest.mark.parametrize("slots", [False, True])
@pytest.mark.parametrize("part", range(4))
def test_graphs_hold_the_matches_of_the_definition(part: int, slots: bool) -> None:
    matched, size = 0, 200 if slots else 75
    for seed in range(size * part, size * part + size):
        plan, events, cuts = case(seed, slots=slots)
        definition = wanted(plan, events)
        runs = graph_runs(plan)
        found, by_window = [], []
        for after in blocks(plan, events, cuts, runs):
            found += listed(after)
            graphs, lows, _ = source(after).graphs_by_window()
            for graph, low in zip(graphs_of(graphs), lows.tolist(), strict=True):
                seqs = after.rows.columns[SEQ]
                by_window += [
                    (low, tuple(tuple(int(seqs[p]) for p in piece) for piece in match)) for match in graph.enumerate()
                ]
        assert found == list(dict.fromkeys(parts for _, parts in definition)), (plan, events)
        if plan.window.slide is not None or plan.window.opens is not None:
            assert sorted(by_window) == sorted(definition), (plan, events)
        matched += len(found)
    assert matched > 50


def test_compiled_kernels_do_the_same() -> None:
    for seed in range(1000, 1006):
        plan, events, cuts = case(seed, slots=seed % 3 > 0)
        pairs = zip(
            blocks(plan, events, cuts, graph_runs(plan, compiled=True)),
            blocks(plan, events, cuts, graph_runs(plan)),
            strict=True,
        )
        assert all(listed(one) == listed(other) for one, other in pairs)


def ladder(rungs: int) -> Graphs:
    """A graph of one component whose nodes may each follow all before them: 2 ** (rungs - 1) paths to the last."""
    before = np.array([k for node in range(rungs) for k in range(node)], np.int32)
    first = np.cumsum([0, *range(rungs)])
    component, root = np.zeros(rungs, np.uint8), np.ones(rungs, np.bool_)
    return Graphs(1, np.zeros(1, np.int64), np.array([0, rungs]), component, np.arange(rungs), root, first, before)


@pytest.mark.parametrize("rungs", [1, 2, 10, 62, 63, 64, 65, 200])
def test_counts_are_exact_however_large(rungs: int) -> None:
    assert ladder(rungs).counts() == [2 ** (rungs - 1)]
    assert ladder(rungs)[0].count() == 2 ** (rungs - 1)


def test_listing_takes_no_more_than_what_is_asked_for() -> None:
    graph = ladder(200)[0]
    first = graph.enumerate()
    assert [len(next(first)[0]) for _ in range(3)] == [200, 199, 199]
    with pytest.raises(OverflowError, match="too many to list"):
        ladder(200).enumerate()


def test_a_graph_of_many_keys_and_none() -> None:
    empty = counted(np.zeros(1, np.int64), np.zeros(0, np.bool_), np.zeros(1, np.int64), np.zeros(0, np.int32))
    assert empty == []


def test_nodes_say_what_they_may_follow() -> None:
    nodes = ladder(3)[0].nodes()
    assert nodes == [(0, 0, [-1]), (0, 1, [-1, 0]), (0, 2, [-1, 0, 1])]
    assert list(enumeration.matches(nodes, 1)) == [[[0, 1, 2]], [[0, 2]], [[1, 2]], [[2]]]
