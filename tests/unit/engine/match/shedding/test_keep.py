"""Drop orders over several queries: against their definition, for every kind of runs, and what they cannot do."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from saffron.engine.events.block import Control
from saffron.engine.match.core.kernel_layout import LIVE, place
from saffron.engine.match.core.rows import SEQ
from saffron.engine.match.core.runs import BASE, BEGIN, DEADLINE, FIRST_FEATURE, LENGTH, START
from saffron.engine.match.keep import keep_best
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.engine.match.shedding.orders import read_order
from saffron.engine.match.shedding.worst import least
from saffron.errors import QueryError
from saffron.language import compile_query
from saffron.language.plan.clauses import Output
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Strategy
from tests.reference.drop_orders import Partial, dropped, worth
from tests.reference.match import generate
from tests.unit.engine.match import cases

Fields = Mapping[str, Any]


def test_the_least_are_those_that_sorting_puts_first() -> None:
    rng = np.random.default_rng(3)
    for size in [1, 2, 7, 50, 300]:
        for _ in range(20):
            keys = [rng.integers(0, rng.integers(1, 4), size).astype(float), *rng.integers(0, 5, (2, size))]
            count = int(rng.integers(1, size + 1))
            wanted = np.lexsort(keys[::-1])[:count]
            assert np.array_equal(np.flatnonzero(least(keys, count)), np.sort(wanted))


# ---------------------------------------------------------------- against the definition


def plans(rng: random.Random, count: int, *, written: bool = False) -> dict[str, MatchPlan]:
    """Random plans: flat ones, and such as walk a table; `written`: bound from a text, as graphs need them."""
    made: dict[str, MatchPlan] = {}
    while len(made) < count:
        name = f"q{len(made)}"
        if rng.random() < 0.4 and not written:
            made[name] = cases.plan(rng)
            continue
        text, _ = generate.case(rng, plain=True)
        try:
            plan = compile_query(text, cases.SCHEMA, name=name)
        except QueryError:
            continue
        assert isinstance(plan, MatchPlan)
        made[name] = plan
    return made


def operator(made: Mapping[str, MatchPlan], merges: bool = False) -> MatchOperator:
    return MatchOperator(partition=3, compiled=False, compiler=lambda text, *_: made[text], merges=merges)


def controls(made: Mapping[str, MatchPlan]) -> list[Control]:
    return [
        cases.schema_control(),
        *(cases.query_control("add", name, slot=n, shed="pspice") for n, name in enumerate(made)),
    ]


def opened(made: Mapping[str, MatchPlan], events: Sequence[Any]) -> dict[str, tuple[int, ...]]:
    return {name: cases.openers(plan, events) for name, plan in made.items()}


def order(rng: random.Random, names: Sequence[str], most: int) -> dict[str, Any]:
    """A random order on some of the queries."""
    queries: dict[str, Any] = {}
    for name in rng.sample(names, rng.randrange(1, len(names) + 1)):
        states, bins = rng.randrange(2, 8), rng.randrange(0, 4)
        tables = [
            [[rng.choice([0.0, 0.25, 0.5, rng.random()]) for _ in range(states)] for _ in range(bins)] for _ in range(2)
        ]
        queries[name] = {"utility": tables[0], "loss": tables[1], "bin": rng.randrange(1, 6), "per_ms": 0.5}
    return {"n": rng.randrange(most), "queries": queries}


def strategies(plan: MatchPlan) -> set[Strategy]:
    return {plan.strategy, *plan.begins, *plan.continues}


def held(runs: QueryRuns) -> Iterator[tuple[int, int, int, int, Any]]:
    """(state, first, rank, left, all that the run is) of each run, key by key in order of lanes.

    Those that strict contiguity has ended are none.
    """
    for number, pool in enumerate(runs.pools):
        alive = set(runs.alive(number).tolist())
        for segment in pool.segments:
            begin = int(segment[BASE] + segment[BEGIN])
            rank = 0
            for lane in range(begin, begin + int(segment[LENGTH])):
                left = int(pool.ints[DEADLINE, lane]) - runs.clock
                assert left >= 0 or lane not in alive
                assert lane in alive or left < 0 or Strategy.STRICT in strategies(runs.plan)
                if lane in alive:
                    state = number + 1 if runs.program.flat else int(pool.ints[FIRST_FEATURE, lane])
                    first = int(runs.rows.columns[SEQ][pool.ints[START, lane] & runs.rows.mask])
                    whole = (*pool.ints[:, lane].tolist(), *map(repr, pool.floats[:, lane].tolist()))
                    yield state, first, rank, left, (number, int(pool.heads[lane]), whole)
                    rank += 1


def weighed(name: str, runs: QueryRuns, body: Fields) -> Iterator[tuple[Partial, float, Any]]:
    """The partial matches of a query as the definition takes them, the loss of each, and what the run is."""
    asked = body["queries"][name]
    for state, first, rank, left, whole in held(runs):
        remaining = left * (1.0 if runs.plan.window.events else asked["per_ms"])
        utility, loss = (worth(asked[table], asked["bin"], state, remaining) for table in ("utility", "loss"))
        yield Partial(round(utility, 12), first, name, state, rank), loss, whole


def test_what_an_order_drops_is_what_the_definition_drops() -> None:
    rng = random.Random(17)
    total: Counter[str] = Counter()
    for _ in range(70):
        made = plans(rng, rng.randrange(1, 4))
        events = cases.stream(rng, rng.randrange(12, 24))
        run = operator(made)
        cases.results(run, cases.blocks([*events, events[-1]], [len(events)], opened(made, events), controls(made))[:1])
        runs = {name: one.runs for name, one in run._standing.items() if isinstance(one.runs, QueryRuns)}
        body = order(rng, list(runs), 5)
        found = [one for name in body["queries"] for one in weighed(name, runs[name], body)]
        gone = set(dropped([one for one, *_ in found], body["n"]))
        result = keep_best(runs, read_order(body))
        left = [whole for one, _, whole in found if one not in gone]
        assert [whole for name in body["queries"] for *_, whole in held(runs[name])] == left
        assert result.counts == Counter(one.query for one in gone)
        for name, loss in result.losses.items():
            wanted = sum(loss for one, loss, _ in found if one in gone and one.query == name)
            assert loss == pytest.approx(wanted)
        for one in runs.values():
            for number, pool in enumerate(one.pools):
                assert one.counters[place(number, LIVE)] == pool.held
            total["flat" if one.program.flat else "table"] += 1
        total["dropped"] += result.count
    assert min(total[kind] for kind in ("flat", "table")) > 40
    assert total["dropped"] > 150


def test_random_orders_depend_on_their_seed_and_nothing_else() -> None:
    made = {"q": compile_query("PATTERN SEQ(A a, B b, C c) WITHIN 100 ms", cases.SCHEMA, name="q")}
    assert isinstance(made["q"], MatchPlan)
    events = [{**event, "type": "A"} for event in cases.stream(random.Random(1), 60)]

    def kept(seed: int, cuts: Sequence[int]) -> list[int]:
        run = operator(made)  # type: ignore[arg-type]
        body = {"n": 20, "queries": {"q": {"by": "random", "seed": seed, "utility": [], "bin": 1, "per_ms": 0.0}}}
        at = Control(events[50]["seq"], "keep", body)
        cases.results(run, cases.blocks(events, cuts, None, [*controls(made), at]))  # type: ignore[arg-type]
        runs = run._standing["q"].runs
        assert isinstance(runs, QueryRuns)
        return [first for _, first, *_ in held(runs)]

    assert kept(5, ()) == kept(5, range(0, 60, 7))
    assert kept(5, ()) != kept(6, ())
    assert set(kept(5, ())) != {event["seq"] for event in events[40:]}, "not the youngest"


@pytest.mark.parametrize("evenly", [0.0, 0.5, 1.0])
def test_a_share_of_those_that_go_is_drawn_whatever_its_worth(evenly: float) -> None:
    made = {"q": compile_query("PATTERN SEQ(A a, B b, C c) WITHIN 4000 EVENTS", cases.SCHEMA, name="q")}
    events = [{**event, "type": "A"} for event in cases.stream(random.Random(1), 400)]
    worth_of = {"utility": [[0.0, 1.0, 1.0, 1.0]], "bin": 4000, "per_ms": 0.0}
    body = {"n": 200, "queries": {"q": worth_of}, "evenly": evenly, "exempt_seed": 3}
    run = operator(made)  # type: ignore[arg-type]
    cases.results(run, cases.blocks([*events, events[-1]], [400], None, controls(made))[:1])  # type: ignore[arg-type]
    runs = run._standing["q"].runs
    assert isinstance(runs, QueryRuns)
    before = sorted(first for _, first, *_ in held(runs))
    assert keep_best({"q": runs}, read_order(body)).count == 200
    gone = set(before) - {first for _, first, *_ in held(runs)}
    least = round(200 * (1 - evenly))
    assert set(before[:least]) <= gone
    rest = [one in gone for one in before[least:]]
    halves = [sum(half) / len(half) for half in (rest[: len(rest) // 2], rest[len(rest) // 2 :])]
    assert halves[0] == pytest.approx(halves[1], abs=0.15)


# ---------------------------------------------------------------- what an order cannot do


def test_orders_leave_the_same_whatever_the_blocks_and_after_snapshots() -> None:
    rng = random.Random(23)
    for _ in range(15):
        made = plans(rng, rng.randrange(1, 4))
        events = cases.stream(rng, 16)
        orders = [Control(events[at]["seq"], "keep", order(rng, list(made), 6)) for at in (5, 10)]
        for each in orders:
            for worth_of in each.body["queries"].values():
                worth_of["by"] = rng.choice(["utility", "random"])
        orders = [replace(one, body={**one.body, "evenly": rng.choice([0.0, 0.5, 1.0])}) for one in orders]
        given = [*controls(made), *orders]
        whole = cases.results(operator(made), cases.blocks(events, [], opened(made, events), given))
        run, texts = operator(made, merges=True), []
        for block in cases.blocks(events, range(0, 16, 3), opened(made, events), given):
            texts += cases.results(run, [block])
            state = run.snapshot()
            run = operator(made, merges=True)
            run.restore(state)
        if any(plan.output is Output.LONGEST or "NOT" in plan.text for plan in made.values()):
            whole, texts = sorted(whole), sorted(texts)
        assert texts == whole, made


def test_dropping_partial_matches_never_makes_a_match() -> None:
    """Patterns with NOT too, as it is judged on events: results are a subset of those without orders."""
    rng = random.Random(31)
    lost: Counter[str] = Counter()
    for _ in range(130):
        ((name, plan),) = plans(rng, 1).items()
        made = {name: plan}
        events = cases.stream(rng, rng.randrange(8, 15))
        orders = [Control(event["seq"], "keep", order(rng, [name], 3)) for event in events if rng.random() < 0.3]
        without, dropped_too = (
            cases.results(operator(made), cases.blocks(events, [], opened(made, events), given))
            for given in (controls(made), [*controls(made), *orders])
        )
        assert set(dropped_too) <= set(without), (plan.text, events)
        kind = "NOT" if plan.absences else "positive"
        lost[kind] += len(without) - len(dropped_too)
        lost[f"{kind} left"] += len(dropped_too)
    assert min(lost[kind] for kind in ("NOT", "NOT left", "positive", "positive left")) >= 10, lost
