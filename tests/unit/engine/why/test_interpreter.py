"""The explaining interpreter finds exactly the matches of the definition, and of the engine: so it can be believed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from saffron.engine.why.bindings import parts
from saffron.engine.why.interpreter import Interpreter, reads_others
from saffron.engine.why.values import read
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from tests.reference.match import generate
from tests.reference.match.events import events_of
from tests.reference.match.matches import all_matches
from tests.reference.match.question import question
from tests.reference.match.windows import windows
from tests.unit.engine.match import cases

Row = tuple[Any, ...]


def interpreted(plan: MatchPlan, events: list[dict[str, Any]], opened: set[int]) -> list[Row]:
    """Matches of every key."""
    found: list[Row] = []
    keys = dict.fromkeys(tuple(read(event, name) for name in plan.key) for event in events)
    for key in keys:
        if None in key:
            continue
        interpreter = Interpreter(plan)
        for event in events:
            ours = tuple(read(event, name) for name in plan.key) == key
            opens = event["seq"] in opened
            if ours or reads_others(plan) or opens:
                interpreter.step(event, ours=ours, opens=opens)
        interpreter.finish()
        found += [(parts(one.bindings, plan.positive), one.window, one.opener) for one in interpreter.matches]
    return sorted(found, key=repr)


def cases_of(seed: int, count: int, *, timed: bool = False) -> Iterator[tuple[str, MatchPlan, list[dict[str, Any]]]]:
    """Random queries that bind, with streams."""
    rng = random.Random(seed)
    for _ in range(count):
        text, events = generate.case(rng, plain=True, timed=timed)
        try:
            plan = compile_query(text, cases.SCHEMA)
        except QueryError:  # it has no meaning, or no type: the generator knows less than the binder
            continue
        assert isinstance(plan, MatchPlan)
        yield text, plan, events


def openers(text: str, events: list[dict[str, Any]]) -> set[int]:
    """Positions at which windows of OPEN ON open."""
    found = windows(question(text), events_of(events))
    return {window.opener.seq for window in found if window.opener is not None}


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_it_finds_the_matches_of_the_definition(seed: int, timed: bool) -> None:
    found = tried = 0
    for text, plan, events in cases_of(seed, 150, timed=timed):
        expected = [
            (one.seqs(), one.window, None if one.opener is None else one.opener.seq)
            for one in all_matches(question(text), events_of(events))
        ]
        assert interpreted(plan, events, openers(text, events)) == sorted(expected, key=repr), (text, events)
        found += len(expected)
        tried += 1
    assert found > 50
    assert tried > (40 if timed else 80)


def test_it_finds_the_matches_of_the_engine() -> None:
    controls = (cases.schema_control(), cases.query_control("add"))
    found = 0
    for text, plan, events in cases_of(100, 300):
        opened = openers(text, events)
        blocks = cases.blocks(events, (), {"q": sorted(opened)}, controls)
        results = [orjson.loads(line) for line in cases.results(cases.operator({"q": plan}), blocks)]
        names = [component.variable for component in plan.components[: plan.positive]]
        expected = [
            (
                tuple(_seqs(one["events"][name]) for name in names),
                None if one["window"] is None else tuple(one["window"]),
            )
            for one in results
        ]
        told = [(bound, window) for bound, window, _ in interpreted(plan, events, opened)]
        assert sorted(told, key=repr) == sorted(expected, key=repr), (text, events)
        found += len(told)
    assert found > 200


def _seqs(bound: Any) -> tuple[int, ...]:
    events = bound if isinstance(bound, list) else [bound] if bound else []
    return tuple(event["seq"] for event in events)
