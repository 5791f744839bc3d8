"""The shedder's operator: dense counter, controls in their places, orders, models, coming back."""

from __future__ import annotations

from dataclasses import replace

import jsonschema
import numpy as np
import pytest
import yaml

from saffron.engine.events.block import Block, Control
from saffron.engine.models.transitions.model import TransitionModel
from saffron.engine.models.transitions.trainer import TransitionCounts, train_transitions
from saffron.engine.shed.load.settings import Overload
from saffron.engine.shed.operator import ShedderOperator
from saffron.engine.windows.in_force import InForce
from saffron.errors import InputError
from saffron.runtime.log.topics import schema_folder
from tests.unit.engine.shed.blocks import (
    block,
    body,
    checkpoint,
    columns,
    kinds,
    latency_model,
    query,
    transition_model,
)


def operator() -> ShedderOperator:
    return ShedderOperator(0, "events")


def with_query(name: str = "q", version: int = 1) -> tuple[ShedderOperator, Block]:
    shedder = operator()
    return shedder, shedder.apply(block(0, 5, 0, query(2, "add", name, version)), now_ms=0)


def offer(shedder: ShedderOperator, model: object, offset: int = 0) -> str | None:
    return shedder.offer(model.key, model.encode(), offset)  # type: ignore[attr-defined]


def test_every_event_passes_and_the_block_says_what_it_is_a_function_of() -> None:
    shedder = operator()
    given = block(0, 5, 0, query(2, "add", "q"))
    passed = shedder.apply(given, now_ms=100, offset=12, appended_ms=70)
    assert passed.columns is given.columns
    assert (passed.first_seq, passed.next_seq, passed.watermark) == (0, 5, 50)
    assert (passed.claim, passed.counter, passed.next_counter) == (0, 0, 6)
    assert passed.input == {"windows": 12, "models": 0}
    assert passed.controls == given.controls
    assert dict(shedder.statistics())["decision"] == "pass"


def test_own_controls_are_counted_and_the_counter_stays_dense() -> None:
    shedder, first = with_query()
    shedder.order("q", 7)
    second = shedder.apply(block(5, 3, 6), now_ms=0)
    third = shedder.apply(block(8, 2, 9), now_ms=0)
    assert (first.next_counter, second.counter, second.next_counter, third.counter) == (6, 6, 10, 10)
    assert kinds(second) == [(5, "keep")]
    assert body(second, "keep") == {"query": "q", "n": 7, "utility": [], "bin": 1, "per_ms": 0.0}
    assert third.controls == ()
    assert (shedder.counter, shedder.next_seq) == (12, 10)


def test_own_controls_stand_behind_those_at_the_first_position_and_before_later_ones() -> None:
    shedder, _ = with_query()
    shedder.order("q", 1)
    later = shedder.apply(block(5, 3, 6, checkpoint(5, q=1), query(5, "add", "r"), query(7, "add", "s")), now_ms=0)
    assert kinds(later) == [(5, "checkpoint"), (5, "query"), (5, "keep"), (7, "query")]


def test_an_order_carries_the_utility_of_the_model_in_force() -> None:
    shedder, _ = with_query()
    model = transition_model("q", (1, 4))
    assert offer(shedder, model) is None
    shedder.order("q", 3)
    passed = shedder.apply(block(5, 3, 6), now_ms=0)
    assert kinds(passed) == [(5, "model"), (5, "keep")]
    assert body(passed, "model") == {"query": "q", "version": [1, 4]}
    keep = body(passed, "keep")
    assert keep["utility"] == model.completion.tolist()
    assert (keep["bin"], keep["per_ms"]) == (model.bin_size, 0.0)
    assert dict(shedder.statistics())["models"] == {"q": [1, 4]}


def test_a_query_that_was_paused_keeps_its_models_behind_the_next_checkpoint() -> None:
    """Pausing and resuming give it new versions; its models stay those of the version by which it was added."""
    shedder, first = with_query()
    in_force = InForce()
    in_force.apply(first)
    switched = block(5, 3, 6, query(5, "pause", "q", 2), query(6, "resume", "q", 3))
    in_force.apply(switched)
    shedder.apply(switched, now_ms=0)
    shedder.apply(block(8, 3, 11, Control(8, "checkpoint", in_force.checkpoint())), now_ms=0)
    model = transition_model("q", (1, 4))
    assert offer(shedder, model) is None
    shedder.order("q", 3)
    passed = shedder.apply(block(11, 3, 15), now_ms=0)
    assert body(passed, "keep")["utility"] == model.completion.tolist()


def test_an_order_for_nobody_or_below_zero_is_refused() -> None:
    shedder, _ = with_query()
    with pytest.raises(InputError, match="no query 'r' is in force on events/0"):
        shedder.order("r", 3)
    with pytest.raises(InputError, match="give 0 or more"):
        shedder.order("q", -1)


def test_an_order_for_a_query_that_goes_at_the_same_position_is_void() -> None:
    shedder, _ = with_query()
    shedder.order("q", 3)
    passed = shedder.apply(block(5, 3, 6, query(5, "remove", "q")), now_ms=0)
    assert kinds(passed) == [(5, "query")]


def test_what_the_shedder_says_is_as_the_schema_of_admitted_says() -> None:
    definitions = yaml.safe_load((schema_folder() / "admitted.yaml").read_text("utf-8"))["schema"]["$defs"]
    contract = {"$defs": definitions, "$ref": "#/$defs/control"}
    for made in [*journey(operator()), *overloaded()]:
        for control in made.controls:
            message = {"position": control.position, "kind": control.kind, "body": dict(control.body)}
            jsonschema.validate(message, contract)


def test_a_later_order_replaces_one_that_waits() -> None:
    shedder, _ = with_query()
    shedder.order("q", 3)
    shedder.order("q", 9)
    assert body(shedder.apply(block(5, 3, 6), now_ms=0), "keep")["n"] == 9


@pytest.mark.parametrize(("query", "keep"), [("r", 2), ("q", "2"), ("q", None), ("q", -1)])
def test_a_wrong_order_is_refused(query: str, keep: object) -> None:
    shedder, _ = with_query()
    with pytest.raises(InputError):
        shedder.order(query, keep)
    assert shedder.apply(block(5, 1, 6), now_ms=0).controls == ()


# ------------------------------------------------------------ models


def test_a_model_waits_for_its_query_and_its_version() -> None:
    shedder = operator()
    assert offer(shedder, transition_model("q", (1, 1), query_version=2)) is None
    assert kinds(shedder.apply(block(0, 2, 0, query(0, "add", "q", 1)), now_ms=0)) == [(0, "query")]
    replaced = block(2, 2, 3, query(2, "remove", "q", 1), query(2, "add", "q", 2))
    assert kinds(shedder.apply(replaced, now_ms=0)) == [(2, "query"), (2, "query"), (2, "model")]


def test_a_newer_model_replaces_and_an_older_one_is_refused() -> None:
    shedder, _ = with_query()
    offer(shedder, transition_model("q", (2, 5)), 0)
    assert body(shedder.apply(block(5, 1, 6), now_ms=0), "model")["version"] == [2, 5]
    assert "was in force before" in str(offer(shedder, transition_model("q", (2, 4)), 1))
    assert "was in force before" in str(offer(shedder, transition_model("q", (1, 99)), 2))
    assert shedder.apply(block(6, 1, 7), now_ms=0).controls == ()
    assert offer(shedder, transition_model("q", (3, 0)), 3) is None
    passed = shedder.apply(block(7, 1, 8), now_ms=0)
    assert body(passed, "model")["version"] == [3, 0]
    assert passed.input["models"] == 4
    assert dict(shedder.statistics())["refused_models"] == {"older": 2}


REAL = "PATTERN SEQ(A a, B b) WITHIN 4 EVENTS"
"""What `transition_model` is of."""


def of_another(*, states: int = 3, window: int = 4, events: bool = True) -> TransitionModel:
    counts = TransitionCounts("q", 1, states, window, events)
    counts.cells = {(state, state + 1): 1 + state for state in range(states - 1)}
    counts.lived = 0 if events else 1
    return train_transitions(counts, (1, 9), {})


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (of_another(states=5), "it has 5 states, the query 3"),
        (of_another(window=7), "its window is 7 events, the query's 4 events"),
        (of_another(events=False), "its window is 4 ms, the query's 4 events"),
    ],
)
def test_a_model_of_another_query_is_refused_and_the_last_good_one_stays(wrong: TransitionModel, told: str) -> None:
    added = query(0, "add", "q")
    added = replace(added, body={**added.body, "text": REAL})
    shedder = operator()
    shedder.apply(block(0, 5, 0, added), now_ms=0)
    assert offer(shedder, transition_model("q", (1, 0))) is None
    assert offer(shedder, wrong, 1) == f"model q/transitions is of another query: {told}"
    passed = shedder.apply(block(5, 1, 6), now_ms=0)
    assert body(passed, "model")["version"] == [1, 0]
    assert dict(shedder.statistics())["refused_models"] == {"query": 1}
    early = operator()
    assert offer(early, wrong) is None, "its query is not known yet"
    assert kinds(early.apply(block(0, 5, 0, added), now_ms=0)) == [(0, "query")]
    assert kinds(early.apply(block(5, 1, 6), now_ms=0)) == [], "and it is not taken for a model of this one"


def test_what_is_no_model_leaves_the_last_good_one_in_force() -> None:
    shedder, _ = with_query()
    offer(shedder, transition_model("q", (1, 0)))
    shedder.apply(block(5, 1, 6), now_ms=0)
    value = transition_model("q", (1, 1)).encode()
    assert shedder.offer(b"q/transitions", value[:-9], 1) is not None
    assert shedder.offer(b"q/transitions", b"\x00\xff", 2) is not None
    assert shedder.offer(b"r/transitions", value, 3) is not None
    assert shedder.offer(None, value, 4) is not None
    assert dict(shedder.statistics())["refused_models"] == {"broken": 2, "query": 2}
    shedder.order("q", 1)
    assert body(shedder.apply(block(6, 1, 7), now_ms=0), "keep")["utility"] != []


def test_a_withdrawn_model_is_used_no_more_and_does_not_come_back_older() -> None:
    shedder, _ = with_query()
    offer(shedder, transition_model("q", (2, 5)))
    shedder.apply(block(5, 1, 6), now_ms=0)
    assert shedder.offer(b"q/transitions", None, 1) is None
    shedder.order("q", 1)
    assert body(shedder.apply(block(6, 1, 7), now_ms=0), "keep")["utility"] == []
    assert offer(shedder, transition_model("q", (1, 9)), 2) is not None


def test_latency_functions_give_the_detectors_inputs() -> None:
    shedder, _ = with_query()
    assert (shedder.statistics()["processing_ms"], shedder.statistics()["shedding_ms"]) == (None, None)
    assert offer(shedder, latency_model((1, 1))) is None
    assert offer(shedder, latency_model((9, 9), stream="other")) is None
    assert offer(shedder, latency_model((1, 0))) is not None
    shedder.observe({"service": "matcher", "partial_matches": {"q": 90, "r": "many"}})
    shedder.observe({"service": "greta", "partial_matches": {"t": 5}})
    shedder.observe({"service": "greta"})
    shedder.apply(block(5, 1, 6), now_ms=1000, appended_ms=800)
    found = shedder.statistics()
    assert (found["partial_matches"], found["shedding_ms"]) == ({"q": 90, "t": 5}, None)
    assert found["processing_ms"] == pytest.approx((5000 + 95 * 1000) / 1e6)


# ------------------------------------------------------------ under a bound


def overloaded(shed: str = "auto", *before: Control, model: bool = True, last: tuple[Control, ...] = ()) -> list[Block]:
    """Blocks that wait for longer and longer, in front of many partial matches of queries q and r; `last`: controls of
    the last one."""
    shedder = ShedderOperator(0, "events", Overload(1000.0))
    controls = [replace(one, body={**one.body, "shed": shed}) for one in (query(0, "add", "q"), query(0, "add", "r"))]
    controls[1] = replace(controls[1], body={**controls[1].body, "slot": 1})
    blocks = [shedder.apply(block(0, 10, 0, *before, *controls), now_ms=0, appended_ms=0)]
    if model:
        offer(shedder, transition_model("q", (1, 4)))
    offer(shedder, latency_model((1, 1), slope=20_000.0))
    for number in range(1, 40):
        shedder.observe({"service": "matcher", "partial_matches": {"q": 900, "r": 100}})
        given = block(10 * number, 10, blocks[-1].next_counter, *(last if number == 39 else ()))
        blocks.append(shedder.apply(given, now_ms=60.0 * number, appended_ms=35.0 * number))
    return blocks


def test_nothing_is_shed_before_the_bound_is_near() -> None:
    for passed in overloaded()[1:10]:
        assert passed.columns.dropped is None
        assert "keep" not in [control.kind for control in passed.controls]


def test_partial_matches_are_kept_by_what_they_are_worth_and_drawn_without_a_model() -> None:
    orders = [c.body for passed in overloaded("pspice") for c in passed.controls if c.kind == "keep"]
    assert {tuple(order["queries"]) for order in orders} == {("q",), ("r",)}
    assert {order["queries"]["q"]["by"] for order in orders if "q" in order["queries"]} == {"utility"}
    assert {order["queries"]["r"]["by"] for order in orders if "r" in order["queries"]} == {"random"}
    together = [c.body for passed in overloaded("pspice", model=False) for c in passed.controls if c.kind == "keep"]
    assert {tuple(order["queries"]) for order in together} == {("q", "r")}
    assert all(0 <= order["n"] < 1000 for order in together)


def test_an_order_does_not_reach_a_query_that_takes_the_place_of_one_at_its_position() -> None:
    replaced = query(390, "remove", "q"), query(390, "add", "q", 2)
    passed = overloaded("pspice", model=False, last=replaced)[-1]
    assert [kind for _, kind in kinds(passed)] == ["query", "query", "keep"]
    assert body(passed, "keep")["queries"].keys() == {"r"}


def test_events_are_dropped_for_their_queries_only() -> None:
    masks = [passed.columns.dropped for passed in overloaded("gspice-h") if passed.columns.dropped is not None]
    assert masks
    assert set(np.concatenate(masks).tolist()) <= {0, 1, 2, 3}
    for passed in overloaded("none")[1:]:
        assert passed.columns.dropped is None
        assert "keep" not in [control.kind for control in passed.controls]


@pytest.mark.parametrize(("times", "orders"), [({}, True), ({"A": "uniform"}, False)])
def test_over_imprecise_time_there_are_no_partial_matches_to_drop(times: dict[str, str], orders: bool) -> None:
    schema = Control(0, "schema", {"schema": {"kinds": {}, "types": {"A": []}, "required": {}, "times": times}})
    found = [control.kind for passed in overloaded("auto", schema, model=False) for control in passed.controls]
    assert ("keep" in found) is orders


def test_what_is_decided_does_not_depend_on_the_machine() -> None:
    for shed in ("auto", "pspice", "gspice-tree"):
        one, other = overloaded(shed), overloaded(shed)
        assert same(one, other)
        assert [dropped(passed) for passed in one] == [dropped(passed) for passed in other]


def dropped(given: Block) -> list[int]:
    mask = given.columns.dropped
    return [] if mask is None else mask.tolist()


# ------------------------------------------------------------ coming back


def journey(shedder: ShedderOperator) -> list[Block]:
    """A stream with everything in it: queries, checkpoint, models, orders."""
    blocks = [shedder.apply(block(0, 5, 0, query(2, "add", "q"), query(3, "add", "r")), now_ms=0, offset=0)]
    offer(shedder, transition_model("q", (1, 4)), 0)
    blocks.append(shedder.apply(block(5, 3, 7, checkpoint(6, q=1, r=1), query(7, "pause", "r")), now_ms=0, offset=1))
    shedder.order("q", 4)
    blocks.append(shedder.apply(block(8, 2, 12, query(8, "resume", "r")), now_ms=0, offset=5))
    return blocks


def rest(shedder: ShedderOperator) -> list[Block]:
    offer(shedder, transition_model("q", (1, 4)), 0)
    offer(shedder, transition_model("q", (1, 9)), 3)
    blocks = [shedder.apply(block(10, 2, 15, checkpoint(11, q=1, r=1)), now_ms=0, offset=6)]
    shedder.order("r", 1)
    blocks.append(shedder.apply(block(12, 2, 18), now_ms=0, offset=7))
    return blocks


def same(one: list[Block], other: list[Block]) -> bool:
    return [(b.counter, b.next_counter, b.controls, b.input) for b in one] == [
        (b.counter, b.next_counter, b.controls, b.input) for b in other
    ]


def test_the_checkpoint_carries_the_models_in_force() -> None:
    blocks = journey(operator())
    assert kinds(blocks[1]) == [(5, "model"), (6, "checkpoint"), (7, "query")]
    assert body(blocks[1], "checkpoint")["models"] == {"q": [1, 4]}


@pytest.mark.parametrize("start", [0, 1])
def test_resuming_from_own_blocks_goes_on_as_if_nothing_had_happened(start: int) -> None:
    """From the beginning, or from the block that holds the newest checkpoint record."""
    shedder = operator()
    blocks = journey(shedder)
    taken_over = operator()
    for own in blocks[start:]:
        taken_over.resume(own)
    assert (taken_over.counter, taken_over.next_seq) == (shedder.counter, shedder.next_seq)
    assert taken_over.input == {"windows": 5, "models": 1}
    assert same(rest(taken_over), rest(shedder))


def test_a_block_without_an_input_position_starts_from_the_beginning() -> None:
    shedder = operator()
    shedder.resume(Block(columns(0, 1), 0, 1, 10))
    assert shedder.input == {"windows": -1, "models": 0}


def test_paused_and_removed_queries_are_not_active() -> None:
    shedder, _ = with_query()
    assert shedder.has_queries
    shedder.apply(block(5, 1, 6, query(5, "pause", "q")), now_ms=0)
    assert not shedder.has_queries
    shedder.apply(block(6, 1, 8, query(6, "resume", "q")), now_ms=0)
    assert shedder.has_queries
    shedder.apply(block(7, 1, 10, query(7, "remove", "q")), now_ms=0)
    assert not shedder.has_queries


def test_the_columns_are_never_copied() -> None:
    shedder = operator()
    given = block(0, 1000, 0)
    assert np.shares_memory(shedder.apply(given, now_ms=0).columns.seq, given.columns.seq)


def test_events_that_readers_will_not_see_are_counted_by_query() -> None:
    shedder, _ = with_query()
    assert shedder.statistics()["shed_events"] == {"q": 0}
    masked = replace(columns(5, 3), dropped=np.array([1, 2, 3], dtype=np.uint64))
    shedder.apply(Block(masked, 5, 10, 0, counter=6), now_ms=0)
    assert shedder.statistics()["shed_events"] == {"q": 2 + 2}, "two in its slot, two dropped whole"
