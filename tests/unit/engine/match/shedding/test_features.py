"""What matches say of their events' features: against results, counted one by one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.shedding.seen import MOST_LISTED
from saffron.engine.models.features.feature_counts import FeatureCounts
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from tests.unit.engine.match import cases
from tests.unit.engine.match.shedding.test_keep import plans

SPEC = "the features"
VECTORS = {2**63 + key: (key % 3, key) for key in range(1, 7)}


def operator(made: Mapping[str, MatchPlan], one_in: int = 1) -> MatchOperator:
    return MatchOperator(partition=3, compiled=False, compiler=lambda text, *_: made[text], one_in=one_in)


def keyed(blocks: Sequence[Block], keys: Mapping[int, int]) -> list[Block]:
    """The blocks with the keys of their events, each vector with the first block."""
    found = []
    for number, block in enumerate(blocks):
        own = np.array([keys[seq] for seq in block.columns.seq.tolist()], np.uint64)
        features = VECTORS if number == 0 else {}
        found.append(replace(block, columns=replace(block.columns, key=own), features=features))
    return found


def started(made: Mapping[str, MatchPlan], events: Sequence[Any], shed: str, masks: Any = None) -> list[Block]:
    queries = [cases.query_control("add", name, slot=slot, shed=shed) for slot, name in enumerate(made)]
    controls = [cases.schema_control(), Control(0, "features", {"spec": SPEC}), *queries]
    opened = {name: cases.openers(plan, events) for name, plan in made.items()}
    return cases.blocks(events, [4, 9], opened, controls, masks)


def events_of(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    parts = [part if isinstance(part, list) else [part] for part in line["events"].values() if part is not None]
    return [event for part in parts for event in part]


@pytest.mark.parametrize("shed", ["pspice", "none"])
def test_rows_are_what_results_and_events_say(shed: str) -> None:
    rng = random.Random(7)
    total = 0
    for _ in range(30):
        made = plans(rng, 2, written=shed == "none")
        events = cases.stream(rng, 14)
        keys = {event["seq"]: rng.choice(list(VECTORS)) for event in events}
        run, found = operator(made), dict[str, list[Any]]()
        for block in keyed(started(made, events, shed), keys):
            for text in cases.results(run, [block]):
                line = orjson.loads(text)
                found.setdefault(line["query"], []).append(events_of(line))
            state = run.snapshot()  # what is counted is not in it, keys of stored events are
            fresh = operator(made)
            fresh.restore(state)
            fresh._effects.features = run._effects.features
            run = fresh
        rows = {row["query"]: row for row in run.observations().get("observations.features", [])}
        occurred = Counter(keys.values())
        for name in made:
            row = rows[name]
            wanted = Counter(tuple(sorted(keys[event["seq"]] for event in one)) for one in found.get(name, []))
            total += wanted.total()
            assert row["spec"] == SPEC
            assert row["occurrences"] == occurred
            assert row["features"] == {key: list(VECTORS[key]) for key in occurred}
            if wanted.total() <= MOST_LISTED:
                assert row["weight"] == 1
                assert Counter(tuple(sorted(one)) for one in row["matches"]) == wanted
                firsts = (min(one, key=lambda event: event["seq"]) for one in found.get(name, []))
                assert row["begun"] == Counter(keys[event["seq"]] for event in firsts)
                codes = Counter(VECTORS[key][0] for one in wanted.elements() for key in one)
                said: Counter[int] = Counter()
                for code, place, contributions, _ in row["positions"]:
                    assert 0 <= place < 10
                    said[code] += contributions
                assert +said == codes
            assert FeatureCounts(name, 1, SPEC).add(row)
        assert "observations.features" not in run.observations()
    assert total > 100


def test_what_lies_within_a_window_behind_a_drop_is_left_out() -> None:
    plan = cases.plan_of("PATTERN SEQ(A a, B b) WITHIN 3 EVENTS")
    made = {"q": plan}
    events = [
        {**event, "seq": n, "ts": n, "type": "AB"[n % 2]} for n, event in enumerate(cases.stream(random.Random(1), 16))
    ]
    keys = {n: 2**63 + 1 + n % 6 for n in range(16)}
    masks = [0] * 16
    masks[5] = 1  # window of 3: what begins at 9 or later is sure to miss nothing
    run = operator(made)
    for block in keyed(started(made, events, "pspice", masks), keys):
        run.apply(block)
    (row,) = run.observations()["observations.features"]
    known = [*range(4), *range(9, 16)]  # the block in which the drop fell began with 4
    assert row["occurrences"] == Counter(keys[n] for n in known)
    assert row["met"] == 7  # the A before it, for each event from 9 on
    wanted = [(n, n + 1) for n in (0, 2, 10, 12, 14)]
    assert sorted(map(sorted, row["matches"])) == sorted(sorted(keys[n] for n in pair) for pair in wanted)


def test_of_many_matches_some_stand_for_all() -> None:
    plan = cases.plan_of("PATTERN SEQ(A a, A+ b[]) WHERE skip-till-any-match WITHIN 100 EVENTS")
    matches, row = _twelve_of_a(plan, "pspice")
    assert matches > 3000
    assert MOST_LISTED / 4 < len(row["matches"]) <= MOST_LISTED
    assert 0.8 * matches < row["weight"] * len(row["matches"]) < 1.25 * matches


@pytest.mark.parametrize("cuts", [[], [4, 9], [1, 2, 3, 30]])
def test_events_that_a_not_may_refuse_by_are_counted(cuts: list[int]) -> None:
    plan = compile_query(
        "PATTERN SEQ(A a, NOT(C c), B b) WHERE skip-till-next-match { c.x > 0 } WITHIN 9 EVENTS", cases.SCHEMA, name="q"
    )
    assert isinstance(plan, MatchPlan)
    events = [{**event, "seq": n, "ts": n} for n, event in enumerate(cases.stream(random.Random(4), 90))]
    keys = {n: 2**63 + 1 + n % 6 for n in range(90)}
    run = operator({"q": plan})
    first = [cases.schema_control(), Control(0, "features", {"spec": SPEC}), cases.query_control("add", "q", slot=0)]
    for block in keyed(cases.blocks(events, cuts, {}, first), keys):
        run.apply(block)
    (row,) = run.observations()["observations.features"]
    wanted = Counter(keys[e["seq"]] for e in events if e["type"] == "C" and e["x"] is not None and e["x"] > 0)
    assert row["refusing"] == wanted
    assert wanted.total() > 3


def test_a_graph_of_many_matches_says_nothing_of_their_events() -> None:
    plan = cases.plan_of("PATTERN SEQ(A a, A+ b[]) WHERE skip-till-any-match WITHIN 100 EVENTS OUTPUT COMPRESSED")
    graphs, row = _twelve_of_a(plan, "auto")
    assert graphs > 5
    assert (row["matches"], sum(row["occurrences"].values())) == ([], 12)


def test_a_drop_is_known_behind_a_restart() -> None:
    plan = cases.plan_of("PATTERN SEQ(A a, B b) WITHIN 20 EVENTS")
    made = {"q": plan}
    events = [
        {**event, "seq": n, "ts": n, "type": "AB"[n % 2]} for n, event in enumerate(cases.stream(random.Random(1), 16))
    ]
    keys = {n: 2**63 + 1 + n % 6 for n in range(16)}
    run = operator(made)
    *first, last = keyed(started(made, events, "pspice", [0] * 5 + [1] + [0] * 10), keys)
    for block in first:
        run.apply(block)
    later = operator(made)
    later.restore(run.snapshot())
    later.apply(last)
    assert "observations.features" not in later.observations()


def _twelve_of_a(plan: MatchPlan, how: str) -> tuple[int, Mapping[str, Any]]:
    """The number of results of a query over 12 events of type A, and what it says of features."""
    made = {"q": plan}
    events = [{**event, "seq": n, "ts": n, "type": "A"} for n, event in enumerate(cases.stream(random.Random(1), 12))]
    keys = {n: 2**63 + 1 + n % 6 for n in range(12)}
    run, results = operator(made), 0
    for block in keyed(started(made, events, how), keys):
        results += len(run.apply(block))
    (row,) = run.observations()["observations.features"]
    return results, row
