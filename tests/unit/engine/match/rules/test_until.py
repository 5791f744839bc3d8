"""UNTIL: what ends a repetition, in random patterns and conditions, by the definition."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from saffron.engine.match.match_operator import MatchOperator
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from tests.reference.match import generate
from tests.reference.match.answers import answers
from tests.reference.match.events import events_of
from tests.reference.match.generate import STRATEGIES
from tests.reference.match.matches import all_matches, all_matches_by_subsets
from tests.reference.match.question import ANY, NEXT, question
from tests.unit.engine.match import cases
from tests.unit.engine.match.near import close
from tests.unit.engine.match.selection import test_selection
from tests.unit.engine.match.test_general import described
from tests.unit.engine.why.test_interpreter import interpreted, openers


def queries(
    seed: int, count: int, *, plain: bool = True, strategies: Sequence[str | None] = (None, *STRATEGIES)
) -> Iterator[tuple[random.Random, str, MatchPlan]]:
    """`count` random queries with UNTIL that have a meaning."""
    rng = random.Random(seed)
    while count:
        chosen = rng.choice(strategies)
        text = generate.query(rng, until=True, plain=plain, strategy=chosen, most=rng.choice([1, 2, 3, 4]))
        try:
            plan = compile_query(text, cases.SCHEMA, name="q")
        except QueryError:
            continue
        assert isinstance(plan, MatchPlan)
        if any(absence.until for absence in plan.absences):
            count -= 1
            yield rng, text, plan


def _same(rng: random.Random, text: str, plan: MatchPlan, *, compiled: bool) -> int:
    """How many matches the engine finds: those of the definition."""
    events = generate.stream(rng, rng.randrange(5, 8 if ANY in text else 11), rng.choice(["AABBC", "ABC", "AAB"]))
    wanted = question(text)
    expected = [described(plan, wanted, match) for match in answers(wanted, events)]
    run = MatchOperator(partition=3, compiled=compiled, compiler=lambda *_: plan)
    controls = (cases.schema_control(), cases.query_control("add"))
    blocks = cases.blocks(events, [rng.randrange(len(events))], test_selection.openers(wanted, plan, events), controls)
    found = cases.parsed(cases.results(run, blocks))
    assert close(sorted(found, key=repr), sorted(expected, key=repr)), (text, events)
    return len(expected)


@pytest.mark.parametrize("seed", range(6))
def test_results_are_those_of_the_definition(seed: int) -> None:
    made = queries(seed, 100, plain=seed % 2 == 0)
    assert sum(_same(rng, text, plan, compiled=False) for rng, text, plan in made for _ in range(3)) > 100


def test_compiled_results_are_those_of_the_definition() -> None:
    assert sum(_same(rng, text, plan, compiled=True) for rng, text, plan in queries(100, 5) for _ in range(10)) > 20


@pytest.mark.parametrize("mode", test_selection.MODES)
def test_reports_are_those_of_the_definition(mode: str) -> None:
    """OUTPUT, WITH TIMEOUTS: a run that waits for what follows an ended repetition times out with that alone."""
    reported = 0
    strategies = [ANY, NEXT] if mode == "COMPRESSED" else [None, *STRATEGIES]
    for rng, text, _ in queries(400, 60, strategies=strategies):
        timeouts = " WITH TIMEOUTS" * (rng.random() < 0.5)
        text = f"{text.partition(' RETURN ')[0]} OUTPUT {mode}{timeouts}"
        plan = cases.plan_of(text)
        events = generate.stream(rng, rng.randrange(4, 8), "AABBC")
        expected = test_selection.wanted(question(text), plan, events)
        opened = test_selection.openers(question(text), plan, events)
        controls = (cases.schema_control(), cases.query_control("add"))
        run = MatchOperator(partition=3, compiled=False, compiler=lambda *_, plan=plan: plan)
        found = test_selection.rows(plan, cases.results(run, cases.blocks(events, (), opened, controls)))
        assert sorted(found, key=repr) == sorted(expected, key=repr), (text, events)
        reported += len(found)
    assert reported > 50


@pytest.mark.parametrize("seed", range(3))
def test_why_finds_the_same_matches(seed: int) -> None:
    found = 0
    for rng, text, plan in queries(200 + seed, 60):
        events = generate.stream(rng, rng.randrange(5, 9), "AABBC")
        expected = [
            (one.seqs(), one.window, None if one.opener is None else one.opener.seq)
            for one in all_matches(question(text), events_of(events))
        ]
        assert interpreted(plan, events, openers(text, events)) == sorted(expected, key=repr), (text, events)
        found += len(expected)
    assert found > 50


def test_the_definition_holds_without_runs() -> None:
    """Under skip-till-any-match: every choice of events that the pattern derives, and that no event ends too early."""
    matched = 0
    for rng, text, _ in queries(300, 120, strategies=[ANY]):
        asked, events = question(text), events_of(generate.stream(rng, rng.randrange(4, 8)))
        found = {match.order() for match in all_matches(asked, events)}
        assert found == all_matches_by_subsets(asked, events), (text, events)
        matched += bool(found)
    assert matched > 30
