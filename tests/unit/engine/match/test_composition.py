"""INTO: queries over results of queries, against the definition; block cuts, restarts, and queries that come and go."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from saffron.engine.composition import made_by, with_types
from saffron.engine.events.block import Control
from saffron.engine.match.operator import MatchOperator
from saffron.language import compile_query
from saffron.language.plan import MatchPlan
from tests.reference.match import generate
from tests.reference.match.absence import is_trailing
from tests.reference.match.answers import answers, composed
from tests.reference.match.events import Event, events_of
from tests.reference.match.question import ANY, Question, question
from tests.reference.match.windows import windows
from tests.unit.engine.match import cases
from tests.unit.engine.match.near import close
from tests.unit.engine.match.test_general import cut, described

Texts = Mapping[str, str]


def add(name: str, text: str, position: int = 0, **body: Any) -> Control:
    return Control(position, "query", {"op": "add", "name": name, "version": 1, "text": text, "slot": 0, **body})


def opened(text: str, events: Sequence[Event]) -> tuple[int, ...]:
    """Positions at which windows of a query open."""
    if "OPEN ON" not in text:
        return ()
    return tuple(one.opener.seq for one in windows(question(text), events) if one.opener is not None)


def run(
    texts: Texts, events: Sequence[dict[str, Any]], cuts: Sequence[int] = (), *, restarts: bool = False
) -> list[bytes]:
    """All results of queries added in this order."""
    openers = {name: opened(text, events_of(events)) for name, text in texts.items()}
    controls = (cases.schema_control(), *(add(name, text) for name, text in texts.items()))
    operator = MatchOperator(partition=3, compiled=False)
    found = []
    for block in cases.blocks(events, cuts, openers, controls):
        results = operator.apply(block)
        assert {status.state for status in operator.statuses().values()} == {"active"}, operator.statuses()
        found += results.json(0, len(results))
        if restarts:
            state = operator.snapshot()
            operator = MatchOperator(partition=3, compiled=False)
            operator.restore(state)
    return found


def of(name: str, results: Sequence[bytes]) -> list[bytes]:
    return [text for text in results if f'"query":"{name}"'.encode() in text]


def plan_of(text: str, *makers: MatchPlan) -> MatchPlan:
    plan = compile_query(text, with_types(cases.SCHEMA, made_by(makers)), name="q")
    assert isinstance(plan, MatchPlan)
    return plan


def waits(asked: Question, stream: Sequence[Event]) -> bool:
    """Whether some match is known only when its window has closed."""
    longest = asked.query.output is not None and asked.query.output.mode == "LONGEST"
    return longest or any(is_trailing(asked, match.bindings) for match in answers(asked, stream))


def pair(seed: int) -> tuple[str, str, list[dict[str, Any]], random.Random]:
    """A query that makes some D, one that may read it, a stream."""
    rng = random.Random(seed)
    while True:
        maker = generate.query(rng, strategy=rng.choice(generate.STRATEGIES[:3]), most=2, into="D")
        reader = generate.query(rng, most=3, types="ADDB")
        events = generate.stream(rng, rng.randrange(6, 10))
        if 2 <= len(composed(question(maker), events_of(events))) - len(events) <= 6 and "D" in reader:
            return maker, reader, events, rng


@pytest.mark.parametrize("first", range(0, 240, 30))
def test_results_are_those_of_the_definition_whatever_the_blocks_and_restarts(first: int) -> None:
    served = 0
    for seed in range(first, first + 30):
        maker, reader, events, rng = pair(seed)
        stream = composed(question(maker), events_of(events))
        if len(stream) > 12 and ANY in reader:
            continue
        plan, asked = plan_of(reader, plan_of(maker)), question(reader)
        matches = answers(asked, stream)
        served += any(event.counter for match in matches for event in match.events())
        texts = {"a": maker, "q": reader}
        results = run(texts, events)
        expected = [described(plan, asked, match) for match in matches]
        found = cases.parsed(of("q", results))
        if waits(asked, stream):
            found, expected = sorted(found, key=repr), sorted(expected, key=repr)
        assert close(found, expected), (seed, maker, reader)
        assert run(texts, events, cut(rng, events), restarts=rng.random() < 0.5) == results, seed
    assert served > 3
