"""Events that need a version of the schema wait until it is announced, and the queries are compiled for it."""

from __future__ import annotations

import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.raw import batch_of_values
from saffron.engine.events.schema_record import fingerprint, schema_to_record
from saffron.runtime.hops.hop import InputPartition
from saffron.runtime.log import TopicState
from saffron.runtime.streams.schema_versions import Announcements
from tests.unit.windowing.test_hop import MATCH, TOPICS, TREND, Bench, events, sizes

MISFIT = "PATTERN SEQ(A a, A b) WHERE NOT a.x WITHIN 1 second"


@pytest.fixture
def bench() -> Bench:
    """A match and an aggregate query, in force before the first event."""
    bench = Bench()
    for name, text, service in (("m", MATCH, "matcher"), ("t", TREND, "greta")):
        bench.query(name, 1, text)
        bench.ready(name, 1, service)
    assert bench.controls(0) == [("add", "m"), ("add", "t")]
    bench.said.clear()
    return bench


def kinds(blocks: list[Block]) -> list[str]:
    return [control.kind for block in blocks for control in block.controls]


def test_events_leave_once_every_query_is_compiled_for_the_inferred_schema(bench: Bench) -> None:
    bench.hop.take(events(0, 3), 100)
    assert bench.leave(600) == []
    assert bench.said == [("m", 1, "waiting"), ("t", 1, "waiting")]
    bench.ready("m", 1, "matcher", bench.announced["m"])
    assert bench.leave(900) == []
    bench.ready("t", 1, "greta", bench.announced["t"])
    blocks = bench.leave(1000)
    assert (kinds(blocks), sizes(blocks)) == (["schema"], [3])
    assert sorted(bench.said[-2:]) == [("m", 1, "active"), ("t", 1, "active")]
    assert bench.happened == []


def test_ready_for_another_schema_is_not_ready(bench: Bench) -> None:
    bench.hop.take(events(0, 3), 100)
    bench.leave(600)
    bench.ready("m", 1, "matcher", "0" * 16)
    bench.ready("t", 1, "greta", bench.announced["t"])
    assert bench.leave(700) == []


def test_events_that_come_meanwhile_wait_behind_and_have_a_version_of_their_own(bench: Bench) -> None:
    bench.hop.take(events(0, 1), 100)
    bench.leave(600)
    announced = bench.announced["m"]
    bench.hop.take(events(1, 3, b'{"type": "B", "ts": 2000, "y": 1}'), 610)
    bench.leave(620)
    assert bench.announced["m"] == announced
    bench.ready("m", 1, "matcher", announced)
    bench.ready("t", 1, "greta", announced)
    (first,) = bench.leave(700)
    (second,) = bench.leave(710)
    assert (kinds([first]), first.columns.ts.tolist()) == (["schema"], [1000])
    assert (kinds([second]), second.columns.ts.tolist()) == (["schema"], [1001, 1002, 1003, 2000])
    assert bench.hop.operator.schema is not None
    assert bench.hop.operator.schema.types == {"A": ("x",), "B": ("y",)}


def test_a_service_that_is_dead_holds_the_stream_for_a_while_only(bench: Bench) -> None:
    bench.hop.take(events(0, 3), 100)
    bench.leave(600)
    bench.ready("m", 1, "matcher", bench.announced["m"])
    assert bench.leave(1500) == []
    assert bench.leave(2499) == [], "who makes progress gets more time"
    assert sizes(bench.leave(2500)) == [3]
    assert "t (greta)" in bench.happened[0]
    assert ("t", 1, "active") in bench.said, "it is in force all the same"


def test_a_query_that_does_not_fit_the_schema_is_not_waited_for(bench: Bench) -> None:
    bench.query("x", 1, MISFIT)
    bench.ready("x", 1, "matcher")
    assert bench.controls(10) == [("add", "x")]
    bench.hop.take(events(0, 3), 100)
    bench.leave(600)
    for name, service in (("m", "matcher"), ("t", "greta")):
        bench.ready(name, 1, service, bench.announced[name])
    assert sizes(bench.leave(700)) == [3]
    assert ("x", 1, "rejected") in bench.said
    assert bench.said[-1] != ("x", 1, "active")


def test_a_query_that_reads_what_no_event_has_had_is_active_and_says_so(bench: Bench) -> None:
    bench.query("x", 1, "PATTERN SEQ(A a, B b) WHERE a.late > 1 AND b.own = 'y' WITHIN 1 second")
    bench.ready("x", 1, "matcher")
    assert bench.controls(50) == [("add", "x")]
    bench.hop.take(events(0, 3), 100)
    bench.leave(600)
    for name, service in (("m", "matcher"), ("t", "greta"), ("x", "matcher")):
        bench.ready(name, 1, service, bench.announced[name])
    assert sizes(bench.leave(700)) == [3]
    waits = "event type 'B', attribute 'late' of type A, attribute 'own' of type B"
    assert ("x", 1, "active") in bench.said
    assert (bench.reasons["x"] or "").endswith(waits)
    bench.hop.take(events(3, 1, b'{"type": "A", "ts": 2000, "late": 1}', b'{"type": "B", "ts": 2001, "own": "y"}'), 800)
    assert bench.leave(900) == []
    bench.ready("x", 1, "matcher", bench.announced["x"])
    assert bench.announced["m"] != bench.announced["x"], "a version that does not change a plan needs no compiling"
    (block,) = bench.leave(1000)
    assert (kinds([block]), sizes([block])) == (["schema"], [3])
    assert (bench.said[-1], bench.reasons["x"]) == (("x", 1, "active"), None)


def test_whoever_takes_over_meanwhile_reads_the_events_again_and_begins_anew() -> None:
    bench = Bench()
    bench.query("m", 1, MATCH)
    bench.ready("m", 1, "matcher")
    (block,) = bench.hop.emit(5, flush=True)
    bench.hop.take(events(0, 2), 100)
    bench.leave(600)
    first = bench.announced["m"]
    assert bench.hop.emit(610, flush=True) == [], "nothing of it is in the log"
    bench.ready("m", 1, "matcher", first)
    bench.hop = bench.chain()
    bench.hop.resume(block)
    assert bench.hop.begin(InputPartition(TopicState("id", 1), 0, 2), 650) == 0
    bench.hop.take(events(0, 2, b'{"type": "B", "ts": 2000, "y": 1}'), 700)
    assert bench.leave(1200) == []
    assert bench.announced["m"] != first
    bench.ready("m", 1, "matcher", bench.announced["m"])
    assert sizes(bench.leave(1300)) == [3]


def test_a_silent_partition_does_not_follow_others_while_it_holds_events_back(bench: Bench) -> None:
    bench.hop.take(events(0, 2), 100)
    bench.leave(600)
    bench.hop.follow(9_000)
    for name, service in (("m", "matcher"), ("t", "greta")):
        bench.ready(name, 1, service, bench.announced[name])
    assert sizes(bench.leave(700)) == [2], "none of them is late"


def test_a_query_added_once_the_schema_is_in_force_waits_until_it_is_compiled_for_it() -> None:
    bench = Bench()
    bench.hop.take(events(0, 3), 0)
    bench.leave(500)
    bench.query("m", 1, MATCH)
    bench.ready("m", 1, "matcher")
    assert bench.controls(600) == [], "ready for a stream without a schema, which this no longer is"
    assert bench.hop.operator.schema is not None
    schema = schema_id(bench)
    bench.ready("m", 1, "matcher", schema)
    assert bench.controls(700) == [("add", "m")]


INTERVAL = b'{"type": "B", "ts": [2000, 2500], "y": 1}'


def announce(bench: Bench, *values: bytes) -> None:
    """The version that another partition has inferred from its first events."""
    schema = infer_schema([batch_of_values(list(values))])
    Announcements(bench.producer, TOPICS).need("events", 0, bench.control.schemas.of("events"), schema, 0)
    bench.control.step()


def test_first_events_with_intervals_are_events_whichever_partition_speaks_first() -> None:
    bench = Bench()
    announce(bench, b'{"type": "A", "ts": 1, "x": 1}')
    bench.hop.take(events(0, 1, INTERVAL), 100)
    assert sizes(bench.leave(600)) == [2]
    assert bench.letters == []
    version = bench.control.schemas.of("events")
    assert version is not None
    assert version.schema.times == {"B": "uniform"}


def test_times_stay_exact_in_a_partition_whose_first_events_had_exact_times() -> None:
    bench = Bench()
    bench.hop.take(events(0, 1), 100)
    assert sizes(bench.leave(600)) == [1]
    announce(bench, INTERVAL)
    bench.hop.take(events(1, 1, b'{"type": "A", "ts": 1900, "new": 1}', INTERVAL), 700)
    assert sizes(bench.leave(800)) == [2]
    assert bench.hop.operator.schema is not None
    assert bench.hop.operator.schema.times == {}
    assert [one.reason for one in bench.letters] == ["bad-ts"]


def schema_id(bench: Bench) -> str:
    assert bench.hop.operator.schema is not None
    return fingerprint(schema_to_record(bench.hop.operator.schema))


def test_a_first_event_of_a_type_that_a_query_makes_is_none_of_the_schema() -> None:
    bench = Bench()
    bench.query("maker", 1, f"{MATCH} RETURN a.x AS x INTO B")
    bench.ready("maker", 1, "matcher")
    bench.controls(0)
    bench.hop.take(events(0, 1, b'{"type": "B", "ts": 2000, "x": "forged"}'), 100)
    bench.leave(600)
    bench.ready("maker", 1, "matcher", bench.announced["maker"])
    (block,) = bench.leave(700)
    assert (kinds([block]), block.columns.ts.tolist()) == (["schema"], [1000])
    assert bench.hop.operator.schema is not None
    assert set(bench.hop.operator.schema.types) == {"A"}
    assert "rejected" not in {state for _, _, state in bench.said}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("event_first", [False, True])
def test_a_query_that_waits_for_its_service_already_makes_its_type(*, known: bool, event_first: bool) -> None:
    """The type is then none of the stream's, which would have the query rejected in every partition."""
    bench = Bench()
    if known:
        bench.hop.take(events(0, 1), 0)
        assert sizes(bench.leave(500)) == [1]
    mid = events(1, 1, b'{"type": "Mid", "ts": 2000, "x": 1}')
    if event_first:
        bench.hop.take(mid, 600)
    bench.query("m", 1, MATCH + " RETURN a.x AS x INTO Mid")
    if not event_first:
        bench.leave(600)
        bench.hop.take(mid, 600)
    bench.leave(1100)
    bench.leave(1200)
    bench.ready("m", 1, "matcher", bench.announced.get("m"))
    bench.leave(1300)
    schema = bench.hop.operator.schema
    assert schema is not None
    assert set(schema.types) == {"A"}
    assert [state for _, _, state in bench.said if state == "rejected"] == []
    assert ["query m makes" in one.detail for one in bench.letters] == [True]
