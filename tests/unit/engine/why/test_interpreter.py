"""The explaining interpreter finds exactly the matches of the definition, and of the engine: so it can be believed."""

from __future__ import annotations

import random
from typing import Any

import pytest

from saffron.engine.why.bindings import parts
from saffron.engine.why.interpreter import Interpreter
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan import MatchPlan
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
    keys = dict.fromkeys(tuple(event.get(name) for name in plan.key) for event in events)
    for key in keys:
        if None in key:
            continue
        interpreter = Interpreter(plan)
        for event in events:
            ours = tuple(event.get(name) for name in plan.key) == key
            opens = event["seq"] in opened
            if ours or interpreter.reads_others or opens:
                interpreter.step(event, ours=ours, opens=opens)
        interpreter.finish()
        found += [(parts(one.bindings, plan.positive), one.window, one.opener) for one in interpreter.matches]
    return sorted(found, key=repr)


@pytest.mark.parametrize("seed", range(8))
def test_it_finds_the_matches_of_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    found = 0
    tried = 0
    for _ in range(60):
        text, events = generate.case(rng, plain=True)
        try:
            plan = compile_query(text, cases.SCHEMA)
        except QueryError:  # it has no meaning, or no type: the generator knows less than the binder
            continue
        assert isinstance(plan, MatchPlan)
        tried += 1
        asked = question(text)
        stream = events_of(events)
        opened = {window.opener.seq for window in windows(asked, stream) if window.opener is not None}
        expected = [
            (one.seqs(), one.window, None if one.opener is None else one.opener.seq)
            for one in all_matches(asked, stream)
        ]
        assert interpreted(plan, events, opened) == sorted(expected, key=repr), (text, events)
        found += len(expected)
    assert found > 50
    assert tried > 30
