"""Why, asked of the running system: the trace that the interpreter tells of the events that the matcher got."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import orjson
import pytest

from saffron.engine.why.bindings import MADE
from saffron.engine.why.decisions import What
from saffron.engine.why.trace import Trace
from saffron.errors import InputError
from saffron.records.stream import StreamRecord
from saffron.runtime.replay.recent import Answer, Question, why_now
from tests.e2e.simulated.system import FALLS, RALLY, TOPICS, Source, at_rest, close, make_system
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.world import World

PARTITIONS = 2


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return lived(tmp_path_factory.mktemp("life"), {"rally": RALLY, "falls": FALLS})


def lived(directory: Path, queries: Mapping[str, str]) -> World:
    """A system that has matched some hundred events, and is at rest."""
    world = make_system(2, directory, partitions=PARTITIONS)
    source = Source(world, PARTITIONS, random.Random(2))
    for name, text in queries.items():
        source.query(name, text)
    turns = itertools.count()

    def feed() -> None:
        if next(turns) % 10 == 0:
            source.events(12)

    world.run(400, feed)
    close(world, PARTITIONS)
    world.settle(lambda: at_rest(world, PARTITIONS))
    return world


def ask(
    world: World,
    asked: str,
    query: str = "rally",
    text: str = RALLY,
    told: int = 40,
    beside: Mapping[str, str] = MappingProxyType({}),
) -> Answer:
    question = Question(query, text, StreamRecord("events", TOPICS.events), asked, told, beside)
    return why_now(MemoryLog(world.broker), TOPICS, "why", question)


def matches(trace: Trace) -> int:
    return sum(outcome.runs for row in trace.rows for outcome in row.outcomes if outcome.what is What.MATCHES)


def test_each_result_is_explained_by_its_id(world: World) -> None:
    told = 0
    for partition in range(PARTITIONS):
        for record in world.read(TOPICS.complex_events, partition, committed_only=True)[-5:]:
            result = orjson.loads(record.value or b"")
            answer = ask(world, result["id"][:16])
            taken = [row.event["seq"] for row in answer.trace.rows if row.event and row.outcomes]
            wanted = [event["seq"] for event in [*result["events"]["a"], result["events"]["b"]]]
            assert (answer.partition, matches(answer.trace)) == (partition, 1)
            assert set(wanted) <= set(taken)
            told += 1
    assert told > 4


def test_a_key_is_told_of_with_all_its_matches(world: World) -> None:
    answer = ask(world, "symbol=IBM", told=10_000)
    records = world.read(TOPICS.complex_events, answer.partition, committed_only=True)
    results = [orjson.loads(record.value or b"") for record in records]
    assert matches(answer.trace) == sum(result["key"] == {"symbol": "IBM"} for result in results) > 3
    assert answer.events > 100
    assert answer.since == 1_000_000 or (answer.since or 0) > 990_000


def test_what_cannot_be_told_is_said(world: World) -> None:
    with pytest.raises(InputError, match=r"no event has symbol = 'IBN'; .* Did you mean 'IBM'"):
        ask(world, "symbol=IBN")
    with pytest.raises(InputError, match="none of the newest results of rally has an id that begins with 'ffffffffff'"):
        ask(world, "ffffffffff")
    with pytest.raises(InputError, match="falls counts trends"):
        ask(world, "sector=tech", "falls", FALLS)
    with pytest.raises(InputError, match="no events have come on stream 'events' yet"):
        ask(make_system(2, Path("unused"), partitions=1), "symbol=IBM")


COMPOSED = {
    "rise": "PATTERN SEQ(Stock a, Stock b) WHERE [symbol] AND b.price > a.price WITHIN 3 seconds "
    "RETURN b.symbol, b.price - a.price AS gain INTO Rise",
    "steeper": "PATTERN SEQ(Rise r, Rise s) WHERE [symbol] AND s.gain > r.gain WITHIN 5 seconds",
}


def test_results_of_other_queries_are_made_again_from_the_blocks(tmp_path: Path) -> None:
    world = lived(tmp_path, {**COMPOSED, "rise": f"{COMPOSED['rise']} PUBLISH"})
    answer = ask(world, "symbol=IBM", "steeper", COMPOSED["steeper"], told=10_000, beside=COMPOSED)
    records = world.read(TOPICS.complex_events, answer.partition, committed_only=True)
    results = [orjson.loads(record.value or b"") for record in records]
    mine = [one for one in results if one["query"] == "steeper" and one["key"] == {"symbol": "IBM"}]
    assert matches(answer.trace) == len(mine) > 3
    ids = {one["id"] for one in results if one["query"] == "rise"}
    origins = [orjson.loads(row.event[MADE].result) for row in answer.trace.rows if row.event and MADE in row.event]
    assert {one["id"] for one in origins} <= ids
    told = ask(world, mine[-1]["id"], "steeper", COMPOSED["steeper"], beside=COMPOSED)
    assert matches(told.trace) == 1
    assert matches(ask(world, "symbol=IBM", "steeper", COMPOSED["steeper"]).trace) == 0, "who makes them is not known"


LEAN = {
    "rise": f"{COMPOSED['rise']} EMIT VALUES",
    "steeper": COMPOSED["steeper"] + " EMIT VALUES PUBLISH 'steep' KEY r.symbol",
}


def test_results_without_events_and_in_topics_of_their_own_are_explained_by_their_ids(tmp_path: Path) -> None:
    world = lived(tmp_path, LEAN)
    told = 0
    for partition in range(PARTITIONS):
        for record in world.read("steep", partition, committed_only=True)[-3:]:
            result = orjson.loads(record.value or b"")
            assert "events" not in result
            answer = ask(world, result["id"], "steeper", LEAN["steeper"], beside=LEAN)
            assert (answer.partition, matches(answer.trace)) == (result["partition"], 1)
            (made, *_) = [row.event[MADE] for row in answer.trace.rows if row.event and MADE in row.event]
            rise = orjson.loads(made.result)
            assert matches(ask(world, rise["id"], "rise", LEAN["rise"], beside=LEAN).trace) == 1, "it is in no topic"
            told += 1
        assert not world.read(TOPICS.complex_events, partition, committed_only=True)
    assert told > 2
