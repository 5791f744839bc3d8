"""Partial matches that are followed to their ends: what is told of them against what the stream's results say."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.match import drops
from saffron.engine.match.keep import keep_best
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.shedding import tracked as module
from saffron.engine.match.shedding.candidates import Candidates, candidates
from saffron.engine.match.shedding.orders import read_order
from saffron.engine.match.shedding.tracked import are_tracked
from saffron.engine.models.transitions.ages import AGES, FOLDS, SHARES
from saffron.engine.models.transitions.observations import transition_messages
from saffron.language.plan.match_plan import MatchPlan
from tests.reference.ages import age
from tests.unit.engine.match import cases

WINDOW = 60
TEXTS = {
    "flat": f"PATTERN SEQ(A a, B b, C c) WHERE skip-till-next-match {{ [k] }} WITHIN {WINDOW} EVENTS",
    "closure": f"PATTERN SEQ(A+ a[], B b) WHERE skip-till-next-match {{ [k] AND b.x > a[1].x }} WITHIN {WINDOW} EVENTS",
    "any": f"PATTERN SEQ(A a, B b, C c) WHERE skip-till-any-match {{ [k] }} WITHIN {WINDOW} EVENTS",
    "table": "PATTERN SEQ(A a, (SEQ(B b, C c) OR SEQ(C d, B e))) "
    f"WHERE skip-till-next-match {{ [k] }} WITHIN {WINDOW} EVENTS",
}


def operator(plan: MatchPlan) -> MatchOperator:
    return MatchOperator(partition=3, compiled=False, compiler=lambda *_: plan, merges=False, one_in=1)


def stream(seed: int, count: int = 400) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    fields = {"f": 0.5, "s": "a", "t": True, "g": "a"}
    return [
        {"seq": i, "ts": 3 * i, "type": rng.choice("ABC"), "k": rng.randrange(3), "x": rng.randrange(9), **fields}
        for i in range(count)
    ]


def stream_blocks(events: Sequence[dict[str, Any]], controls: Sequence[Control] = ()) -> list[Block]:
    cuts = range(0, len(events), 7)
    return cases.blocks(events, cuts, None, [cases.schema_control(), cases.query_control("add", "q"), *controls])


class Twin:
    """Notes everything, looks each up among all results in the end."""

    def __init__(self) -> None:
        self.notes: list[tuple[int, int, Candidates, list[list[int]]]] = []

    def note(self, at: int, runs: QueryRuns, results: Sequence[list[int]]) -> None:
        self.notes.append((at, runs.clock, candidates(runs), [list(one) for one in results]))

    def told(self, results: Sequence[list[int]], clock: int) -> Counter[Any]:
        followed: Counter[Any] = Counter()
        for at, now, found, before in self.notes:
            for i in range(len(found)):
                first, last, state = int(found.first[i]), int(found.last[i]), int(found.state[i])
                own = age(int(found.left[i]), int(found.waited[i]), any(one[0] == first for one in before), WINDOW)
                until = now + int(found.left[i])
                mine = [one for one in results if one[0] == first and [e for e in one if e < at][-1] == last]
                same = sum(1 for j in range(len(found)) if (found.first[j], found.last[j]) == (first, last))
                if until < clock:
                    cell = state, AGES * (until // WINDOW % FOLDS) + own
                    followed[cell, 0] += 1
                    followed[cell, 1] += len([one for one in mine if one not in before]) * SHARES // same
        return followed


def run(text: str, seed: int) -> tuple[Counter[Any], Counter[Any]]:
    plan, twin = cases.plan_of(text), Twin()
    matcher = operator(plan)
    results: list[list[int]] = []
    followed: Counter[Any] = Counter()
    for number, block in enumerate(stream_blocks(stream(seed, 200 if "any" in text else 400))):
        runs = matcher._standing["q"].runs if number else None
        if isinstance(runs, QueryRuns):
            twin.note(block.first_seq, runs, results)
        found = [orjson.loads(one) for one in cases.results(matcher, [block])]
        results += [sorted(event["seq"] for part in one["events"].values() for event in listed(part)) for one in found]
        for row in matcher.observations().get("observations.transitions", []):
            for state, own, many, matches in row.get("followed", ()):
                followed[(state, own), 0] += many
                followed[(state, own), 1] += matches
    runs = matcher._standing["q"].runs
    assert isinstance(runs, QueryRuns)
    return followed, twin.told(results, runs.clock)


def listed(part: Any) -> list[Any]:
    """The events of a component, of which an alternative that was not taken has none."""
    return part if isinstance(part, list) else [part] if part else []


@pytest.fixture(autouse=True)
def _all_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "A_BLOCK", 10_000)
    monkeypatch.setattr(module, "MOST_NOTES", 10**6)


@pytest.mark.parametrize("name", TEXTS)
def test_what_came_of_those_that_were_noted_is_what_the_results_say(name: str) -> None:
    followed, wanted = run(TEXTS[name], 5)
    assert +followed == +wanted
    assert sum(count for (_, kind), count in followed.items() if kind == 0) > 300
    assert sum(count for (_, kind), count in followed.items() if kind == 1) > 10 * SHARES


# ---------------------------------------------------------------- what is dropped


def keep(at: int, n: int, share: float) -> Control:
    worth = {"by": "random", "seed": 1, "utility": [], "bin": 1, "per_ms": 0.0}
    return Control(at, "keep", {"n": n, "followed": share, "queries": {"q": worth}})


def test_orders_spare_those_that_are_followed_and_what_comes_of_others_is_not_told() -> None:
    matcher = operator(cases.plan_of(TEXTS["flat"]))
    blocks = stream_blocks(stream(7), [keep(at, 0, 0.3) for at in range(0, 400, 21)])
    told = []
    for block in blocks:
        cases.results(matcher, [block])
        runs = matcher._standing["q"].runs
        assert isinstance(runs, QueryRuns)
        if any(control.kind == "keep" for control in block.controls):
            before = [first for first in candidates(runs).first.tolist() if first < block.first_seq]
            assert are_tracked(np.array(before, np.int64), 0.3).all()
        for row in matcher.observations().get("observations.transitions", []):
            told += row.get("followed", ())
    assert sum(one[2] for one in told) > 40
    free = run(TEXTS["flat"], 7)[0]
    assert sum(one[2] for one in told) < 0.5 * sum(count for (_, kind), count in free.items() if kind == 0)


def test_events_that_are_dropped_end_all_notes() -> None:
    events = stream(8)
    dropped = [int(i % 5 == 0) for i in range(len(events))]
    given = [cases.schema_control(), cases.query_control("add", "q")]
    matcher = operator(cases.plan_of(TEXTS["flat"]))
    for block in cases.blocks(events, range(0, len(events), 7), None, given, dropped):
        cases.results(matcher, [block])
        rows = matcher.observations().get("observations.transitions", [])
        assert not any(row.get("followed") for row in rows)


@pytest.mark.parametrize("name", ["closure", "any"])
def test_a_restart_changes_nothing(name: str) -> None:
    def told(restart: int | None) -> list[Any]:
        matcher = operator(cases.plan_of(TEXTS[name]))
        found = []
        for number, block in enumerate(stream_blocks(stream(9, 200), [keep(100, 3, 0.2)])):
            if number == restart:
                state, matcher = matcher.snapshot(), operator(cases.plan_of(TEXTS[name]))
                matcher.restore(state)
            cases.results(matcher, [block])
            rows = matcher.observations().get("observations.transitions", [])
            found.append([row.get("followed") for row in rows])
        return found

    assert told(12) == told(None)


def test_a_message_holds_what_was_told_of_all_rows() -> None:
    row = {"query": "q", "query_version": 1, "states": 3, "window": {"size": 9, "events": True}, "from": 0, "count": 1}
    rows = [{**row, "to": 0, "followed": [[1, 2, 3, 4]]}, {**row, "to": 1}]
    ((_, value),) = transition_messages(rows, stream="events", partition=0)
    assert orjson.loads(value)["followed"] == [[1, 2, 3, 4]]


# ---------------------------------------------------------------- orders that know ages


def test_of_equal_states_those_of_the_lesser_age_go() -> None:
    """Those that have matched before are worth ten times as much, and lose as much."""
    rng = random.Random(3)
    for _ in range(5):
        matcher = operator(cases.plan_of(TEXTS["closure"].replace("a[1].x", "a[1].x + 5")))
        cases.results(matcher, stream_blocks(stream(rng.randrange(99), 120)))
        runs = matcher._standing["q"].runs
        assert isinstance(runs, QueryRuns)
        found = candidates(runs)
        lift = [[10.0 if one % 2 else 1.0 for one in range(AGES)]] * 3
        worth = {"utility": [[0.5] * 3], "bin": 1, "per_ms": 0.0, "lift": lift}
        gone = int((~found.matched).sum()) // 2
        assert gone > 3
        result = keep_best({"q": runs}, read_order({"n": len(found) - gone, "queries": {"q": worth}}))
        assert result.counts == {"q": gone}
        assert result.losses["q"] <= 0.5 * gone
        assert int(candidates(runs).matched.sum()) == int(found.matched.sum()) > 0


def test_looking_through_all_partial_matches_costs_no_more_than_the_events_pay_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []

    def counted(runs: QueryRuns) -> Candidates:
        looked.append(runs.live)
        return candidates(runs)

    monkeypatch.setattr(drops, "candidates", counted)
    plan = cases.plan_of("PATTERN SEQ(A a, B b) WHERE skip-till-next-match { [k] AND b.x < 0 } WITHIN 5000 EVENTS")
    matcher = MatchOperator(partition=3, compiled=False, compiler=lambda *_: plan, one_in=8)
    events = stream(11, 4000)
    for block in cases.blocks(events, range(5, 4000, 5), None, [cases.schema_control(), cases.query_control("add")]):
        cases.results(matcher, [block])
    assert len(looked) > 3
    assert max(looked) > 300
    assert sum(looked) < 2 * len(events)
