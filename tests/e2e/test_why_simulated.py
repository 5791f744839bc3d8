"""Why, asked of the running system: the story that the interpreter tells of the events that the matcher got."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import orjson
import pytest

from saffron.engine.why.interpreter import What
from saffron.engine.why.story import Story
from saffron.errors import InputError
from saffron.runtime.memory_log import MemoryLog
from saffron.runtime.recent import Answer, Question, why_now
from tests.e2e.system import FALLS, RALLY, TOPICS, Source, at_rest, close, make_system
from tests.unit.runtime.world import World

PARTITIONS = 2


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return lived(tmp_path_factory.mktemp("life"))


def lived(directory: Path) -> World:
    """A system that has matched some hundred events, and is at rest."""
    world = make_system(2, directory, partitions=PARTITIONS)
    source = Source(world, PARTITIONS, random.Random(2))
    source.query("rally", RALLY)
    source.query("falls", FALLS)
    turns = itertools.count()

    def feed() -> None:
        if next(turns) % 10 == 0:
            source.events(12)

    world.run(400, feed)
    close(world, PARTITIONS)
    world.settle(lambda: at_rest(world, PARTITIONS))
    return world


def ask(world: World, asked: str, query: str = "rally", text: str = RALLY, told: int = 40) -> Answer:
    question = Question(query, text, "events", asked, told)
    return why_now(MemoryLog(world.broker), TOPICS, "why", question)


def matches(story: Story) -> int:
    return sum(outcome.runs for row in story.rows for outcome in row.outcomes if outcome.what is What.MATCHES)


def test_each_result_is_explained_by_its_id(world: World) -> None:
    told = 0
    for partition in range(PARTITIONS):
        for record in world.read(TOPICS.complex_events, partition, committed_only=True)[-5:]:
            result = orjson.loads(record.value or b"")
            answer = ask(world, result["id"][:16])
            taken = [row.event["seq"] for row in answer.story.rows if row.event and row.outcomes]
            wanted = [event["seq"] for event in [*result["events"]["a"], result["events"]["b"]]]
            assert (answer.partition, matches(answer.story)) == (partition, 1)
            assert set(wanted) <= set(taken)
            told += 1
    assert told > 4


def test_a_key_is_told_of_with_all_its_matches(world: World) -> None:
    answer = ask(world, "symbol=IBM", told=10_000)
    records = world.read(TOPICS.complex_events, answer.partition, committed_only=True)
    results = [orjson.loads(record.value or b"") for record in records]
    assert matches(answer.story) == sum(result["key"] == {"symbol": "IBM"} for result in results) > 3
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
