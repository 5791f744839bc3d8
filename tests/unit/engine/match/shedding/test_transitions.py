"""Transitions of runs that walk a table: against what becomes of each run, one event after another."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from saffron.engine.events.block import Block
from saffron.engine.match.core.kernel_layout import AT_ONCE, CHAIN, DEADLINE_OF, FIRST_ROW, NODE
from saffron.engine.match.core.runs import DEADLINE, START
from saffron.engine.match.general.pending import PENDING_ROW, STATE_ROW
from saffron.engine.match.general.watch import DIED, FORKED, Watch
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.runs.query_runs import QueryRuns
from saffron.language import compile_query
from saffron.language.plan.match_plan import MatchPlan
from tests.unit.engine.match import cases
from tests.unit.engine.match.shedding.test_keep import plans


class Run(NamedTuple):
    """`head`: the node of the event bound last; a match that waits has that of the event before its last."""

    start: int
    head: int
    state: int
    deadline: int


def table_plans(rng: random.Random) -> Iterator[MatchPlan]:
    while True:
        ((_, plan),) = plans(rng, 1).items()
        if not plan.flat and not plan.timeouts:
            yield plan


def watched(run: MatchOperator) -> tuple[QueryRuns, Watch]:
    runs = run._standing["q"].runs
    assert isinstance(runs, QueryRuns)
    assert runs.watch is not None
    runs.watch.one_in = 1
    return runs, runs.watch


def held(runs: QueryRuns) -> list[Run]:
    pool, table = runs.pools[0], len(runs.program.tables[0])
    found = []
    for lane in pool.lanes().tolist():
        state = int(pool.ints[STATE_ROW, lane])
        head = int(pool.ints[PENDING_ROW, lane]) if state >= table else int(pool.heads[lane])
        found.append(Run(int(pool.ints[START, lane]), head, state, int(pool.ints[DEADLINE, lane])))
    return found


def successors(runs: QueryRuns, before: Run, after: Sequence[Run], first_node: int, last: int) -> Counter[int]:
    """The states in which what came of a run is after an event; DIED where nothing did."""
    table, found = len(runs.program.tables[0]), Counter[int]()
    for one in after:
        if one.start != before.start:
            continue
        new = one.state < table and one.head >= first_node
        if (new and int(runs.nodes.before[one.head & (len(runs.nodes.row) - 1)]) == before.head) or (
            not new and one.state < table and one.head == before.head
        ):
            found[one.state] += 1
    for match in runs.found.T.tolist():
        if match[DEADLINE_OF] == AT_ONCE and (match[FIRST_ROW], match[CHAIN]) == (before.start, before.head):
            found[last] += 1
    return found or Counter([DIED])


def start_one(events: Sequence[Any], plan: MatchPlan, cuts: Sequence[int]) -> tuple[MatchOperator, list[Any]]:
    controls = (cases.schema_control(), cases.query_control("add", shed="pspice"))
    operator = MatchOperator(partition=3, compiled=False, compiler=lambda *_: plan)
    blocks = cases.blocks(events, cuts, {"q": cases.openers(plan, events)})
    operator.apply(Block(cases.columns([]), 0, 0, -100, controls=controls))
    return operator, blocks


def test_transitions_are_what_becomes_of_each_run() -> None:
    rng = random.Random(3)
    seen: Counter[str] = Counter()
    made = table_plans(rng)
    for _ in range(40):
        plan = next(made)
        if plan.absences:  # matches that wait: below
            continue
        events = cases.stream(rng, 16)
        operator, blocks = start_one(events, plan, range(1, 16))
        runs, watch = watched(operator)
        last = watch.states - 1
        for block in blocks:
            clock = runs.clock
            before = held(runs)
            first_node = int(runs.counters[NODE])
            watch.clear()
            operator.apply(block)
            instant = runs.clock
            lived = sum(max(0, min(one.deadline, instant) - clock) for one in before if one.deadline >= clock)
            assert watch.lived == lived
            met = [one for one in before if one.deadline >= instant]
            if len({one[:2] for one in met}) < len(met):
                seen["alike"] += 1
                continue
            wanted: Counter[tuple[int, int]] = Counter()
            after = held(runs)
            for one in met:
                came = successors(runs, one, after, first_node, last)
                wanted.update({(one.state, into): count for into, count in came.items()})
                if came.total() > 1:
                    wanted[one.state, FORKED] += came.total() - 1
                    seen["forks"] += 1
                seen["deaths"] += DIED in came
            found = Counter({cell: count for cell, count in watch.cells().items() if cell[0] > 0})
            assert found == wanted, (plan.text, events, block.first_seq)
            seen["events"] += 1
    assert seen["events"] > 300, seen
    assert min(seen["forks"], seen["deaths"]) > 10, seen


def test_transitions_do_not_depend_on_blocks() -> None:
    rng = random.Random(13)
    made = table_plans(rng)
    waited = table = 0
    for _ in range(40):
        plan = next(made)
        events = cases.stream(rng, 16)
        told = []
        for cuts in ([], [5, 9], range(1, 16)):
            operator, blocks = start_one(events, plan, cuts)
            runs, watch = watched(operator)
            table = len(runs.program.tables[0])
            for block in blocks:
                operator.apply(block)
            told.append((watch.cells(), watch.lived, watch.events))
        assert told[0] == told[1] == told[2], (plan.text, events)
        cells, _, _ = told[0]
        met = Counter[int]()
        for (source, into), count in cells.items():
            met[source] += -count if into == FORKED else count
            waited += source >= table
        assert all(count >= 0 for count in met.values())
    assert waited > 1


@pytest.mark.parametrize("last", ["NOT C c", "NOT C c FOR 3 ms"])
def test_a_match_that_waited_is_counted_once(last: str) -> None:
    """Whether its key's next event or the end of the block shows that its window, or the NOT's time, is over."""
    plan = compile_query(f"PATTERN SEQ(A a, B b, {last}) WITHIN 10 ms", cases.SCHEMA, name="q")
    events = cases.stream(random.Random(1), 60, "ABBC")
    for cuts in (range(0), range(0, 60, 4)):
        run = MatchOperator(partition=3, compiled=False, compiler=lambda *_: plan, one_in=1)
        controls = (cases.schema_control(), cases.query_control("add"))
        texts = cases.results(run, cases.blocks(events, cuts, None, controls))
        rows = run.observations()["observations.transitions"]
        completed = [row["count"] for row in rows if (row["from"], row["to"]) == (2, 3)]
        assert completed == [len(texts)]
        assert texts


def test_a_share_of_blocks_is_watched() -> None:
    events = cases.stream(random.Random(1), 4)
    operator, _ = start_one(events, next(table_plans(random.Random(1))), [])
    runs, _ = watched(operator)
    watch = Watch(runs.program.tables, ())
    chosen = 0
    for seq in range(0, 4_000_000, 1000):
        watch.begin_block(runs.pools[0], 0, seq)
        chosen += watch.on
    assert 5 < chosen < 30


@pytest.mark.parametrize("flat", [True, False])
def test_blocks_that_lost_events_to_the_query_are_censored(flat: bool) -> None:
    """Rates are those of the whole stream, though every other span lost what cannot match, or what would have."""
    pattern = "SEQ(A a, B b)" if flat else "(A a AND B b)"
    plan = cases.plan_of(f"PATTERN {pattern} WITHIN 40 events")
    assert plan.flat == flat
    events = cases.stream(random.Random(5), 16_000, "ABCCCCCC")
    lost = [index // 800 % 2 for index in range(len(events))]
    useless = [slot & (event["type"] == "C") for slot, event in zip(lost, events, strict=True)]
    useful = [slot & (event["type"] == "B") for slot, event in zip(lost, events, strict=True)]
    rates = []
    for masks in ([0] * len(events), useless, useful):
        run = MatchOperator(partition=3, compiled=False, compiler=lambda *_: plan, one_in=1)
        controls = (cases.schema_control(), cases.query_control("add", slot=0))
        for block in cases.blocks(events, range(100, len(events), 100), {}, controls, masks):
            run.apply(block)
        rows = run.observations()["observations.transitions"]
        cells = {(row["from"], row["to"]): row["count"] for row in rows}
        whole = [low for low in range(0, len(events), 100) if not any(masks[max(0, low - 40) : low + 100])]
        assert rows[0]["events"] == 100 * len(whole)
        last = rows[0]["states"] - 1
        rates.append(cells[1, last] / (cells[1, 1] + cells[1, last]))
    assert rates[1] == pytest.approx(rates[0], rel=0.1)
    assert rates[2] == pytest.approx(rates[0], rel=0.1)


def test_rows_tell_what_was_counted_once_with_the_time_that_it_took() -> None:
    ticks = iter(range(0, 10_000, 5))
    made = {name: next(table_plans(random.Random(seed))) for name, seed in (("q", 5), ("r", 6))}
    made["s"] = cases.plan(random.Random(2))
    operator = MatchOperator(
        partition=3, compiled=False, compiler=lambda text, *_: made[text], stopwatch=lambda: next(ticks), one_in=1
    )
    events = cases.stream(random.Random(8), 30)
    controls = [cases.schema_control(), *(cases.query_control("add", name, slot=n) for n, name in enumerate(made))]
    opened = {name: cases.openers(plan, events) for name, plan in made.items()}
    for block in cases.blocks(events, [10, 20], opened, controls):
        operator.apply(block)
    rows = operator.observations()["observations.transitions"]
    assert {row["query"] for row in rows} == set(made)
    assert {(row["events"], row["nanoseconds"]) for row in rows} == {(30, 15)}, "three blocks, one reading for each"
    assert all(-2 <= row["to"] < row["states"] and row["count"] > 0 for row in rows)
    assert operator.observations() == {}
    state = operator.snapshot()
    operator.restore(state)
    assert operator.observations() == {}, "what was told before a snapshot is not told again"


def test_statistics_say_by_query_what_was_shed_and_found() -> None:
    made = {name: cases.plan(random.Random(3)) for name in ("q", "r")}
    operator = MatchOperator(partition=3, compiled=False, compiler=lambda text, *_: made[text])
    events = cases.stream(random.Random(8), 12)
    controls = [cases.schema_control(), *(cases.query_control("add", name, slot=n - 1) for n, name in enumerate(made))]
    masks = [2**63 + seq % 2 for seq in range(12)]
    for block in cases.blocks(events, [5], {}, controls, masks):
        operator.apply(block)
    numbers = operator.statistics()
    assert numbers["dropped_events"] == {"r": 6}, "a query without a slot is never dropped for"
    assert numbers["found"] == numbers["results"]
    operator.restore(operator.snapshot())
    assert set(operator.statistics()["found"].values()) == {0}
    assert operator.statistics()["dropped_events"] == {}
