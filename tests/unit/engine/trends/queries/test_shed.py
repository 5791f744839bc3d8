"""Events that were dropped for an aggregate query: as if they had not come, and counted in windows that lack them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from saffron.engine.events.block import Block
from saffron.engine.trends.core.graphs import graphs_of
from saffron.engine.trends.queries.shed import Shed
from saffron.language.plan.clauses import OpenOn, Window
from saffron.language.plan.pattern import Strategy
from saffron.schema.event_types import type_names
from tests.unit.engine.trends.language import Case, blocks, case, run

NOBODY = "Z"


def strategies(made: Case) -> set[Strategy]:
    return {step.transition.strategy for step in graphs_of(made.plan).steps}


def masked(stream: Sequence[Block], gone: set[int]) -> list[Block]:
    """The blocks with these events dropped for the query, whose bit is the first."""
    found = []
    for block in stream:
        mask = np.array([2 * (seq % 3) + (seq in gone) for seq in block.columns.seq.tolist()], np.uint64)
        found.append(replace(block, columns=replace(block.columns, dropped=mask)))
    return found


def lacking(made: Case, window: Sequence[int], gone: set[int]) -> int:
    """How many events of the window that the query would have read were dropped, one by one."""
    read = set(type_names(component.types for component in made.plan.components))
    every = Strategy.PARTITION in strategies(made)
    count = 0
    for event in made.events:
        at = event["seq"] if made.plan.window.events else event["ts"]
        keyed = all(event.get(name) is not None for name in made.plan.key)
        count += event["seq"] in gone and window[0] <= at < window[1] and keyed and (every or event["type"] in read)
    return count


def without_marks(lines: Sequence[bytes]) -> list[dict[str, Any]]:
    return [{**{k: v for k, v in json.loads(line).items() if k != "shed"}, "exact": True} for line in lines]


def test_masked_events_are_as_if_they_had_not_come_and_results_say_how_many() -> None:
    rng = random.Random(5)
    results = marked = contiguous = 0
    for seed in range(70_000, 70_260):
        made = case(seed)
        if isinstance(made, str):
            continue
        gone = {event["seq"] for event in made.events if rng.random() < 0.25}
        cuts = [rng.randrange(len(made.events)) for _ in range(3)]
        pieces = blocks(made, cuts)
        found = run(made, masked(pieces, gone), restart=rng.randrange(len(pieces)))
        other = [{**event, "type": NOBODY} if event["seq"] in gone else event for event in made.events]
        if strategies(made) & {Strategy.STRICT, Strategy.PARTITION}:  # there an event of another type counts
            if made.plan.window.opens is not None or made.events[-1]["seq"] in gone:
                continue
            other = [event for event in other if event["type"] != NOBODY]
            contiguous += 1
        opened = [block.opened for block in blocks(made)]
        whole = [replace(block, opened=opened[0]) for block in blocks(replace(made, events=other, asked=made.asked))]
        assert without_marks(found) == without_marks(run(made, whole)), (str(made), gone)
        local = any(place.local for place in graphs_of(made.plan).places)
        for line in map(json.loads, found):
            shed, most = line.get("shed", 0), lacking(made, line["window"], gone)
            if made.plan.window.opens is None:  # there events that stand before the opener at its instant are not in it
                assert shed == most or (local and shed < most), (line, str(made), gone)
            assert line["exact"] is (shed == 0)
            assert ("shed" in line) == (shed > 0)
            marked += shed > 0
        results += len(found)
    assert results > 150
    assert marked > 60
    assert contiguous > 10


def test_counts_by_pane_are_those_of_single_events() -> None:
    rng = random.Random(9)
    for _ in range(60):
        size, slide = rng.randrange(1, 20), rng.randrange(1, 20)
        opens = rng.random() < 0.3
        window = Window(size, False, None, OpenOn("A", None)) if opens else Window(size, False, slide, None)
        shed = Shed(window)
        instants = np.sort(np.array([rng.randrange(-30, 60) for _ in range(rng.randrange(40))], np.int64))
        seqs = np.arange(len(instants)) * 2 + 1
        for part in np.array_split(np.arange(len(instants)), 5):
            shed.add(instants[part], seqs[part])
            again = Shed(window)
            again.restore(shed.saved("shed"), "shed")
            shed = again
        first = rng.randrange(-60, 60)
        shed.forget(first if opens else first - first % slide)
        if opens:
            openers = [n for n in range(len(instants)) if instants[n] >= first]
            lows, serials = instants[openers], seqs[openers] - 1
            wanted = [np.sum((seqs >= s) & (instants < low + size)) for low, s in zip(lows, serials, strict=True)]
        else:
            lows = np.array([low for low in range(-60, 60) if low % slide == 0 and low >= first], np.int64)
            serials = np.full(len(lows), -1)
            wanted = [np.sum((instants >= low) & (instants < low + size)) for low in lows]
        assert shed.within(lows, serials).tolist() == wanted
