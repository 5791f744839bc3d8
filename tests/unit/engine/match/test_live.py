"""Partial matches are counted alike by all engines that can run a plan (SASE+: runs alive)."""

from __future__ import annotations

from collections import Counter

import pytest

from saffron.engine.match import match_operator as operator
from saffron.engine.match.flat.states import ends_with_first
from saffron.engine.match.queries.fastest import started
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.operators.engine_choice import Engine, EngineChoice
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.merging import merging
from saffron.language.plan.pattern import Strategy
from tests.unit.engine.match import cases
from tests.unit.engine.match.test_general import queries

Way = tuple[Engine, bool]
"""An engine, and whether equivalent runs merge."""

WAYS = ((Engine.SCAN, False), (Engine.FLAT, False), (Engine.TABLE, False), (Engine.SCAN, True), (Engine.FLAT, True))


def counts(
    monkeypatch: pytest.MonkeyPatch, way: Way, plan: MatchPlan, events: list[dict[str, object]], cuts: list[int]
) -> list[int]:
    """Block by block the partial matches of a plan on an engine."""
    engine, merges = way
    choice = EngineChoice(engine, "chosen by a test", merging(plan).component if merges else None)

    def start(plan, schema, strings, *, slot, compiled, shed, merges):  # type: ignore[no-untyped-def]
        return started(plan, choice, schema, strings, slot=slot, compiled=compiled)

    monkeypatch.setattr(operator, "start", start)
    run = cases.operator({"q": plan})
    controls = (cases.schema_control(), cases.query_control("add"))
    found = []
    for block in cases.blocks(events, cuts, {"q": cases.openers(plan, events)}, controls):
        cases.results(run, [block])
        alive = run.statistics()["partial_matches"]["q"]
        assert run.cost()[0] == alive
        runs = run._standing["q"].runs
        assert isinstance(runs, QueryRuns)
        assert runs.held >= alive
        found.append(alive)
    return found


@pytest.mark.usefixtures("_any_two")
def test_every_engine_counts_the_same_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that end with their first match are flat ones alone: the planner gives no table to such plans."""
    compared: Counter[Way] = Counter()
    strategies: Counter[Strategy] = Counter()
    for text, plan, _, rng in queries(range(40_000, 40_400), lambda plan: plan.flat):
        events = cases.stream(rng, rng.randrange(10, 30), "AABBC")
        cuts = [rng.randrange(len(events)) for _ in range(5)]
        merges = merging(plan).component is not None
        ways = [
            way for way in WAYS if (merges or not way[1]) and (way[0] is not Engine.TABLE or not ends_with_first(plan))
        ]
        found = {way: counts(monkeypatch, way, plan, events, cuts) for way in ways}
        assert len({tuple(one) for one in found.values()}) == 1, (text, events, cuts, found)
        compared.update({way: sum(one) for way, one in found.items()})
        strategies[plan.strategy] += sum(found[WAYS[0]])
    assert min(compared[way] for way in WAYS[:3]) > 150, compared
    assert min(compared[way] for way in WAYS[3:]) > 20, compared
    assert min(strategies.values()) > 2, strategies
    assert len(strategies) == len(Strategy)
