"""Random queries over the whole grammar of patterns, from their text to their results, against the definition.

Kernels run as plain Python. A case is named by its seed: `generate.case(random.Random(seed))`. `make nightly` takes
other seeds, and many more of them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from saffron.engine.events.strings import Strings
from saffron.engine.match import match_operator as operator
from saffron.engine.match.core.runs import DEADLINE
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.queries.fastest import started
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.operators.engine_choice import Engine
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan.clauses import Output
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy
from saffron.schema.schema import Schema
from tests.reference.match import generate
from tests.reference.match.absence import is_trailing
from tests.reference.match.answers import answers, returned
from tests.reference.match.events import Event
from tests.reference.match.generate import STRATEGIES
from tests.reference.match.matches import Match
from tests.reference.match.question import Question, question
from tests.unit.engine.match import cases
from tests.unit.engine.match.near import close

CHUNK = 50
"""Queries that one test asks."""

COMPILED = [3, 4, 6, 9, 11, 12, 13, 14]

PARTS = ["OR", "AND", "ANY(", "DISTINCT", "NOT", "+", "*", "?", "{2", "[i-1]", "[..i-1", "[]", "[k]"]
WORDS = [*PARTS, "SLIDE", "EVENTS", "OPEN", "RETURN", *STRATEGIES]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`first`: the seeds from there on, CHUNK of them."""
    if "first" in metafunc.fixturenames:
        count = 20_000 if metafunc.config.getoption("nightly") else 1_500
        metafunc.parametrize("first", range(0, count, CHUNK))


Case = tuple[str, MatchPlan, list[dict[str, Any]], random.Random]


def query(seed: int) -> Case:
    """A random query (every other one with OUTPUT and the like), its plan, a stream for it, and more chance."""
    rng = random.Random(seed)
    text, events = generate.case(rng, plain=seed % 2 == 0)
    try:
        plan = compile_query(text, cases.SCHEMA, name="q")
    except QueryError:  # one in twenty thousand reads what has no meaning
        return query(seed + 1_000_000)
    assert isinstance(plan, MatchPlan)
    return text, plan, events, rng


def queries(seeds: Iterable[int], fits: Callable[[MatchPlan], bool] = lambda plan: True) -> Iterator[Case]:
    yield from (made for made in map(query, seeds) if fits(made[1]))


def described(plan: MatchPlan, asked: Question, match: Match) -> dict[str, Any]:
    """A match as a result, without its id."""
    listed = {component.variable: component.closure for component in plan.components[: plan.positive]}
    parts = zip(listed.items(), match.parts, strict=True)
    first, last = match.events()[0], match.events()[-1]
    return {
        "query": "q",
        "partition": 3,
        "key": cases.key_values(plan.key, first),
        "start": first.ts,
        "end": last.ts if match.due is None else match.due,
        "window": None if match.window is None else list(match.window),
        "events": {name: list(map(cases.whole, part)) if many else one(part) for (name, many), part in parts},
        "return": returned(asked, match),
    }


def one(part: tuple[Event, ...]) -> dict[str, Any] | None:
    return cases.whole(part[0]) if part else None


def wanted(text: str, events: Sequence[dict[str, Any]]) -> tuple[Question, list[Match]]:
    """What the definition gives."""
    asked = question(text)
    return asked, answers(asked, events)


def cut(rng: random.Random, events: Sequence[Any]) -> list[int]:
    return [rng.randrange(len(events)) for _ in range(rng.randrange(5))]


def test_results_are_those_of_the_definition_whatever_the_blocks(first: int) -> None:
    for text, plan, events, rng in queries(range(first, first + CHUNK)):
        asked, matches = wanted(text, events)
        expected = [described(plan, asked, match) for match in matches]
        cuts = cut(rng, events)
        texts = cases.engine(plan, events, cuts=cuts)
        found = cases.parsed(texts)
        waits = plan.output is Output.FIRST and bool(plan.absences)  # perhaps for another match's trailing NOT
        if plan.output is Output.LONGEST or waits or any(is_trailing(asked, match.bindings) for match in matches):
            # They come when their windows close: at the same place whatever the blocks.
            assert texts == cases.engine(plan, events), (text, cuts, events)
            found, expected = sorted(found, key=repr), sorted(expected, key=repr)
        assert close(found, expected), (text, cuts, events)


def test_flat_patterns_give_the_same_bytes_from_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of compiling, for the patterns that both can run."""
    flat = list(queries(range(40_000, 40_300), lambda plan: plan.flat))
    assert len(flat) > 60
    made = [cases.engine(plan, events) for _, plan, events, _ in flat]
    monkeypatch.setattr(operator, "start", on_a_table)
    assert [cases.engine(plan, events, cuts=cut(rng, events)) for _, plan, events, rng in flat] == made
    assert sum(map(len, made)) > 100


def test_snapshot_and_restore_between_any_blocks_change_nothing() -> None:
    matches = 0
    for text, plan, events, rng in queries(range(50_000, 50_120), lambda plan: not plan.flat):
        controls = (cases.schema_control(), cases.query_control("add"))
        blocks = cases.blocks(events, cut(rng, events), {"q": cases.openers(plan, events)}, controls)
        whole = cases.results(cases.operator({"q": plan}), blocks)
        run, texts = cases.operator({"q": plan}), []
        for block in blocks:
            texts += cases.results(run, [block])
            alive, counted = live_runs(run), run.statistics()["partial_matches"]["q"]
            ended = Strategy.STRICT in (*plan.begins, *plan.continues)  # by an event that is not theirs
            assert counted == alive or (ended and counted < alive), (text, events)
            state = {name: array.copy() for name, array in run.snapshot().items()}
            run = cases.operator({"q": plan})
            run.restore(state)
        assert texts == whole, (text, events)
        matches += len(whole)
    assert matches > 100


def on_a_table(
    plan: MatchPlan, schema: Schema, strings: Strings, *, slot: int, compiled: bool, shed: str, merges: bool
) -> QueryRuns:
    """Runs of a plan that walk its table."""
    runs = started(plan, cases.choice(Engine.TABLE, plan), schema, strings, slot=slot, compiled=compiled)
    assert not runs.program.flat
    return runs


def live_runs(run: MatchOperator) -> int:
    """The runs of query q whose window holds the last event, counted one by one."""
    runs = run._standing["q"].runs
    assert isinstance(runs, QueryRuns)
    return sum(int((pool.ints[DEADLINE, pool.lanes()] >= runs.clock).sum()) for pool in runs.pools)


@pytest.mark.parametrize("seed", COMPILED)
def test_compiled_kernels_give_what_plain_ones_give(seed: int) -> None:
    for text, plan, _, rng in queries([seed]):
        for _ in range(25):
            events = generate.stream(rng, rng.randrange(5, 16), "AABBC")
            compiled = cases.engine(plan, events, compiled=True, cuts=cut(rng, events))
            assert compiled == cases.engine(plan, events), (text, events)


def test_the_random_queries_do_match_something() -> None:
    """Guards the generator: every kind of pattern, every strategy, whole results."""
    seen: Counter[str] = Counter()
    for text, plan, events, _ in queries(range(300)):
        if cases.engine(plan, events):
            seen.update(word for word in WORDS if word in text)
            seen["flat" if plan.flat else "any"] += 1
    assert min(seen[word] for word in (*WORDS, "flat", "any")) > 3, seen
