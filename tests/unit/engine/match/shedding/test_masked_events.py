"""Events that were dropped for a query are to it as if they had not come, but that windows in EVENTS count them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy
from tests.reference.match import generate
from tests.reference.match.question import ANY
from tests.unit.engine.match import cases

NOBODY = "Z"
"""A type that no query reads."""


def plan(rng: random.Random, shed: str) -> MatchPlan:
    if rng.random() < 0.5 and shed != "none":
        return cases.plan(rng)
    while True:
        text, _ = generate.case(rng, strategy=ANY if shed == "none" else None)
        try:
            made = compile_query(text, cases.SCHEMA, name="q")
        except QueryError:
            continue
        assert isinstance(made, MatchPlan)
        return made


def contiguous(made: MatchPlan) -> bool:
    """Whether an event that concerns nobody makes a difference."""
    return bool({Strategy.STRICT, Strategy.PARTITION} & {made.strategy, *made.begins, *made.continues})


def run(
    made: MatchPlan,
    events: Sequence[Any],
    opened: Sequence[int],
    kinds: Counter[str],
    dropped: Sequence[int] | None = None,
    shed: str = "pspice",
) -> list[bytes]:
    """Results of the query, whose bit is the third."""
    operator = MatchOperator(partition=3, compiled=False, compiler=lambda *_: made)
    controls = (cases.schema_control(), cases.query_control("add", slot=2, shed=shed))
    cuts = [len(events) // 3, len(events) // 2]
    texts = cases.results(operator, cases.blocks(events, cuts, {"q": opened}, controls, dropped))
    runs = operator._standing["q"].runs
    assert isinstance(runs, QueryRuns)
    kinds[type(runs.source).__name__] += 1
    return texts


@pytest.mark.parametrize("shed", ["pspice", "none"])
def test_masked_events_are_as_if_they_had_not_come(shed: str) -> None:
    rng = random.Random(41)
    kinds: Counter[str] = Counter()
    matches = 0
    for _ in range(120):
        made = plan(rng, shed)
        events = cases.stream(rng, rng.randrange(6, 15))
        masks = [rng.choice([0, 0, 0, 4, 7, 3]) for _ in events]
        opened = cases.openers(made, events)
        masked = run(made, events, opened, kinds, masks, shed)
        pairs = zip(events, masks, strict=True)
        gone = [{**event, "type": NOBODY} if mask & 4 else event for event, mask in pairs]
        if contiguous(made):  # an event of another type would break contiguity: there it is missing
            gone = [event for event in gone if event["type"] != NOBODY]
            if made.window.opens is not None or not gone or gone[-1] is not events[-1] or made.timeouts:
                continue
        assert masked == run(made, gone, opened, kinds, None, shed), (made.text, events, masks)
        matches += len(masked)
    assert matches > 40
    assert min(kinds[kind] for kind in (["Linking"] if shed == "none" else ["Stepping", "Scanning"])) > 10, kinds


def test_other_queries_see_what_is_masked_for_one() -> None:
    rng = random.Random(43)
    for _ in range(30):
        made = plan(rng, "pspice")
        events = cases.stream(rng, 12)
        opened = cases.openers(made, events)
        others = [rng.choice([0, 3, 8, 2**63]) for _ in events]
        assert run(made, events, opened, Counter(), others) == run(made, events, opened, Counter())
