"""Controls, drop masks, history, results and limits of the match operator."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.match_operator import MatchOperator
from saffron.errors import QueryError
from saffron.language.plan.clauses import ReturnItem, Window
from saffron.language.plan.expressions import Attribute as Ref
from saffron.language.plan.expressions import Which
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Component, Strategy
from saffron.schema.event_types import one_type
from saffron.schema.schema import Kind, Schema
from tests.unit.engine.match import cases

PAIR = MatchPlan(
    "q",
    "pair",
    "events",
    (Component("a", one_type("A"), False), Component("b", one_type("B"), True)),
    Strategy.NEXT,
    (),
    (),
    Window(100, False, None, None),
    (ReturnItem("x", Ref(0, Which.SINGLE, "x", Kind.INT)),),
)


def events(types: str, first: int = 0) -> list[dict[str, Any]]:
    """One event a ms, x counting up."""
    return [
        {"seq": n, "ts": n, "type": kind, "x": n, "f": n / 2, "s": "a", "t": None, "k": 0, "g": "b"}
        for n, kind in enumerate(types, first)
    ]


def run(operator: MatchOperator, types: str, controls: Sequence[Control] = (), first: int = 0) -> list[str]:
    """Apply one block; matches as "0;1,2"."""
    (block,) = cases.blocks(events(types, first), [], None, controls)
    return [positions(text) for text in cases.results(operator, [block])]


def positions(text: bytes) -> str:
    parts = (part if isinstance(part, list) else [part] for part in orjson.loads(text)["events"].values())
    return ";".join(",".join(str(event["seq"]) for event in part) for part in parts)


START = (cases.schema_control(), cases.query_control("add"))


def test_a_result_is_the_object_that_the_language_promises() -> None:
    operator = cases.operator({"q": PAIR})
    (block,) = cases.blocks(events("AB"), [], None, START)
    found = operator.apply(block)
    assert found.names == ("q",)
    assert (found.query.tolist(), found.position.tolist(), found.last_time.tolist()) == ([0], [1], [10])
    (text,) = found.json(0, 1)
    rest = ',"s":"a","k":0,"g":"b"}'
    a = '{"seq":0,"ts":0,"type":"A","x":0,"f":0' + rest
    b = '{"seq":1,"ts":1,"type":"B","x":1,"f":0.5' + rest
    head = f'{{"id":"{orjson.loads(text)["id"]}","query":"q","partition":3,"key":{{}},"start":0,"end":1,"window":null'
    assert text.decode() == head + f',"events":{{"a":{a},"b":[{b}]}},"return":{{"x":0}}}}'


def test_ids_do_not_depend_on_versions_of_anything() -> None:
    """A golden value: results already written keep their ids."""
    (block,) = cases.blocks(events("AB"), [], None, START)
    assert (
        orjson.loads(cases.results(cases.operator({"q": PAIR}), [block])[0])["id"] == "68d43d856d5b9a63c4f7c0e450e8eb47"
    )


def test_a_query_waits_for_the_schema_and_begins_at_its_own_position() -> None:
    operator = cases.operator({"q": PAIR})
    assert run(operator, "A", [cases.query_control("add")]) == []
    assert operator.statuses()["q"].state == "waiting"
    assert run(operator, "BAB", [cases.schema_control(2)], first=1) == ["2;3"]
    assert operator.statuses()["q"].state == "active"


def test_a_query_that_does_not_bind_is_a_status() -> None:
    def refuse(text: str, _schema: Schema | None, _name: str) -> MatchPlan:
        raise QueryError("no such thing", stage="schema", text=text, start=0, end=1)

    operator = MatchOperator(partition=0, compiler=refuse)
    assert run(operator, "AB", START) == []
    status = operator.statuses()["q"]
    assert status.state == "rejected"
    assert "no such thing" in status.reason
    assert operator.statistics()["partial_matches"] == {}


def test_other_streams_queries_are_left_alone() -> None:
    operator = MatchOperator(partition=0, stream="other", compiler=lambda *_: PAIR)
    assert run(operator, "AB", START) == []
    assert operator.statuses() == {}


def test_pause_drops_the_runs_and_resume_begins_anew() -> None:
    operator = cases.operator({"q": PAIR})
    controls = [*START, cases.query_control("pause", position=2), cases.query_control("resume", position=4)]
    assert run(operator, "ABBBBAB", controls) == ["0;1", "5;6"]
    assert operator.statuses()["q"].state == "active"


def test_remove_and_replace_keep_what_was_found_before() -> None:
    operator = cases.operator({"q": PAIR})
    controls = [*START, cases.query_control("remove", position=2), cases.query_control("add", position=3)]
    assert run(operator, "ABBABB", controls) == ["0;1", "3;4", "3;4,5"]
    assert run(operator, "B", [cases.query_control("remove", position=6)], first=6) == []
    assert operator.statuses() == {}
    assert operator.statistics()["state_bytes"] == 0


def test_results_stand_by_position_then_name() -> None:
    operator = cases.operator({"q2": PAIR, "q1": PAIR})
    controls = [cases.schema_control(), cases.query_control("add", "q2"), cases.query_control("add", "q1")]
    (block,) = cases.blocks(events("ABB"), [], None, controls)
    found = operator.apply(block)
    assert [found.names[index] for index in found.query] == ["q1", "q2", "q1", "q2"]
    assert [positions(text) for text in found.json(0, 4)] == ["0;1", "0;1", "0;1,2", "0;1,2"]
    assert found.json(2, 2) == []


def test_dropped_events_are_not_there_for_their_query() -> None:
    plan = MatchPlan("q", "strict", "events", PAIR.components, Strategy.STRICT, (), (), PAIR.window, ())
    operator = cases.operator({"q": plan, "r": plan})
    controls = [cases.schema_control(), cases.query_control("add", slot=1), cases.query_control("add", "r", slot=0)]
    stream = events("ACB")
    (block,) = cases.blocks(stream, [], None, controls, dropped=[0, 2, 0])
    found = operator.apply(block)
    assert [found.names[index] for index in found.query] == ["q"]
    assert [positions(text) for text in found.json(0, 1)] == ["0;2"]


def test_from_earliest_sees_the_past_at_its_own_position() -> None:
    rng = random.Random(5)
    for _ in range(30):
        plan = cases.plan(rng)
        stream = cases.stream(rng, 14)
        opened = {"q": cases.openers(plan, stream)}
        cuts = [4, 9]
        now = cases.operator({"q": plan})
        whole = cases.results(now, cases.blocks(stream, cuts, opened, START))
        position = stream[9]["seq"] if len(stream) > 9 else 0
        late = (cases.schema_control(), cases.query_control("add", position=position, **{"from": "earliest"}))
        masks = [int(event["seq"] < position) for event in stream]  # for whoever had the slot before
        blocks = cases.blocks(stream, cuts, opened, late, masks)
        operator, texts, fired = cases.operator({"q": plan}), [], []
        for index, block in enumerate(blocks):
            past = blocks[: index + 1]
            found = operator.apply(block, lambda past=past: iter(past))  # type: ignore[misc]
            texts += found.json(0, len(found))
            fired += found.position.tolist()
        assert texts == whole
        assert fired == sorted(fired)
        assert all(at >= position for at in fired)


def keep(n: int, position: int, **body: Any) -> Control:
    return Control(position, "keep", {"query": "q", "n": n, "utility": [], "bin": 1, "per_ms": 0.0, **body})


def test_a_drop_order_keeps_the_runs_of_highest_utility() -> None:
    """Without a table the oldest go first; with one, by state and what is left of the window."""
    plan = MatchPlan(
        "q",
        "abc",
        "events",
        tuple(Component(name, one_type(name.upper()), False) for name in "abc"),
        Strategy.NEXT,
        (),
        (),
        Window(100, False, None, None),
        (),
    )
    # At position 4 run 0 and run 1 stand in state 2 (A and B bound), run 3 in state 1.
    orders: list[tuple[dict[str, Any], list[str]]] = [
        ({"n": 3}, ["0;2;5", "1;2;5", "3;4;5"]),
        ({"n": 2}, ["1;2;5", "3;4;5"]),
        ({"n": 1}, ["3;4;5"]),
        ({"n": 0}, []),
        ({"n": 2, "utility": [[0.0, 0.1, 0.9, 1.0]], "per_ms": 1.0}, ["0;2;5", "1;2;5"]),
        ({"n": 1, "utility": [[0.0, 0.9, 0.1, 1.0]], "per_ms": 1.0}, ["3;4;5"]),
        ({"n": 1, "utility": [[0.0, 0.0, 0.4, 1.0], [0.0, 0.5, 0.5, 1.0]], "per_ms": 0.01}, ["1;2;5"]),
    ]
    for body, matches in orders:
        operator = cases.operator({"q": plan})
        assert run(operator, "AABABC", [*START, keep(position=4, **body)]) == matches, body
        assert operator.statistics()["dropped_partial_matches"] == 3 - body["n"]


def test_a_drop_order_counts_no_run_whose_window_is_over() -> None:
    plan = MatchPlan("q", "t", "events", PAIR.components, Strategy.NEXT, (), (), Window(3, False, None, None), ())
    operator = cases.operator({"q": plan})
    assert run(operator, "ACCCCAB", [*START, keep(1, 6)]) == ["5;6"]
    assert operator.statistics()["dropped_partial_matches"] == 0


def test_what_an_order_drops_is_told_by_query_with_the_matches_to_be_missed_and_the_time_it_took() -> None:
    ticks = itertools.count(100, 7)
    operator = MatchOperator(
        partition=0, compiled=False, compiler=lambda *_: PAIR, stopwatch=lambda: 1000 * next(ticks)
    )
    table = {"utility": [[0.0, 0.25, 1.0]], "per_ms": 1.0}
    run(operator, "AAAA", [*START, keep(1, 3, **table), keep(1, 3)])
    numbers = operator.statistics()
    assert (numbers["dropped"], numbers["loss"], numbers["shedding_ns"]) == ({"q": 2}, {"q": 0.5}, 7000)
    rows = operator.observations()["observations.latency"]
    assert rows == [{"partial_matches": 3, "nanoseconds": 7000}], "an order that drops nothing is no sample"
    assert "observations.latency" not in operator.observations()


def test_drop_orders_survive_snapshots_and_cuts() -> None:
    rng = random.Random(11)
    for _ in range(25):
        plan = cases.plan(rng)
        stream = cases.stream(rng, 16)
        opened = {"q": cases.openers(plan, stream)}
        controls = [*START, *(keep(rng.randrange(3), stream[at]["seq"]) for at in (5, 10))]
        whole = cases.results(cases.operator({"q": plan}), cases.blocks(stream, [], opened, controls))
        operator, texts = cases.operator({"q": plan}), []
        for block in cases.blocks(stream, range(0, 16, 2), opened, controls):
            texts += cases.results(operator, [block])
            state = operator.snapshot()
            operator = cases.operator({"q": plan})
            operator.restore(state)
        assert texts == whole


def test_a_schema_that_adds_attributes_changes_nothing() -> None:
    wider = Schema({**cases.KINDS, "new": Kind.INT}, {**cases.TYPES, "A": (*cases.KINDS, "new")}, {})
    operator = cases.operator({"q": PAIR})
    assert run(operator, "A", START) == []
    (block,) = cases.blocks(events("BA", 1), [], None, [Control(1, "schema", {"schema": schema_to_record(wider)})])
    attributes = {**block.columns.attributes, "new": Column(Kind.INT, np.array([7, 8]))}
    columns = type(block.columns)(
        block.columns.seq, block.columns.ts, block.columns.time, block.columns.type, attributes
    )
    found = operator.apply(Block(columns, 1, 3, 3, controls=block.controls))
    (text,) = found.json(0, 1)
    assert "new" not in orjson.loads(text)["events"]["a"]


def test_a_schema_of_other_kinds_begins_the_query_anew() -> None:
    other = Schema({**cases.KINDS, "f": Kind.INT}, cases.TYPES, {})
    operator = cases.operator({"q": PAIR})
    run(operator, "A", START)
    (block,) = cases.blocks(events("CCC", 1), [], None, [Control(1, "schema", {"schema": schema_to_record(other)})])
    assert len(operator.apply(Block(block.columns, 1, 1, 1, controls=block.controls))) == 0


def test_a_reader_may_start_at_a_checkpoint() -> None:
    operator = cases.operator({"q": PAIR})
    body = {
        "schema": schema_to_record(cases.SCHEMA),
        "queries": [{"name": "q", "version": 4, "text": "q", "slot": 0, "state": "active"}],
        "models": [],
        "windows": {},
    }
    assert run(operator, "AB", [Control(0, "checkpoint", body)]) == ["0;1"]
    assert operator.statuses()["q"].version == 4
    assert run(operator, "B", [Control(2, "checkpoint", body)], first=2) == ["0;1,2"]


def test_transitions_are_counted_by_event_and_run() -> None:
    """A at 0 and 1; B at 2 and 3: two runs move at 2 and (their closures) stay."""
    operator = cases.operator({"q": PAIR})
    run(operator, "AABBC", START)
    rows = operator.observations()["observations.transitions"]
    counts = {(row["from"], row["to"]): row["count"] for row in rows}
    assert {(row["states"], row["events"], row["lived"] > 0) for row in rows} == {(3, 5, True)}
    assert counts[(0, 1)] == 2
    assert counts[(0, 0)] == 3
    assert counts[(1, 2)] == 2
    assert operator.observations() == {}


def test_idle_keys_and_strings_are_freed() -> None:
    """A hundred thousand keys come and go: state stays that of the window."""
    plan = MatchPlan(
        "q", "keys", "events", PAIR.components, Strategy.NEXT, ("g",), (), Window(50, False, None, None), ()
    )
    operator = cases.operator({"q": plan}, compiled=True)
    operator.apply(cases.blocks(events("C"), [], None, START)[0])
    sizes = []
    for number in range(1, 101):
        first = 1000 * number
        stream = [{**event, "g": f"key{event['seq']}"} for event in events("A" * 1000, first)]
        (block,) = cases.blocks(stream, [])
        operator.apply(Block(block.columns, first, first + 1000, first))
        statistics = operator.statistics()
        sizes.append(statistics["state_bytes"])
        assert statistics["keys"]["q"] <= 1100
    assert sizes[-1] == sizes[20]
    assert sum(value is not None for value in operator._strings.values) < 10_000
