"""The pages of docs/topics by the services under faults: what they find is what `replay --stream` finds.

A running system holds back what lies within `disorder` of the end of a topic, so it finds the first results, not all.
Results are compared as values: an event has its attributes in the order in which its stream first had them, and that
depends on which topic was read first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
import pytest

from saffron.mapping.definition import StreamDefinition
from saffron.mapping.definition_reader import read_definition
from saffron.records.query import ADD, QueryRecord
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log import Record, TopicPartition, TopicSpec
from saffron.runtime.log.topics import stream_topics, topic_files, topic_specs
from saffron.runtime.replay.fused import Query
from saffron.runtime.replay.merged_stream import MergedFiles
from saffron.runtime.replay.replay import Replay
from saffron.runtime.streams.messages import record_in
from tests.e2e.simulated.system import TOPICS, makers, settings, undated
from tests.memory.memory_log import MemoryLog
from tests.unit.cli.page import NOW, blocks_of
from tests.unit.interpreted import interpret_all
from tests.unit.runtime.world import World

PAGES = Path(__file__).parents[3] / "docs" / "topics"
FOUND = {
    ("shop", "shop.yaml"): 2,
    ("debezium", "changes.yaml"): 1,
    ("devices", "plant.yaml"): 5,
    ("logs", "security.yaml"): 0,
    ("clicks", "clicks.yaml"): 0,
    ("github", "github.yaml"): 0,
    ("cloudevents", "acme.yaml"): 0,
}
"""By page and definition how many results are found before the topics go on."""
IDLE = "20ms"
COMPILED = "devices"
"""The page whose queries are compiled; those of the others run as Python."""


@dataclass(frozen=True)
class Example:
    """A definition on a page, the lines of messages by topic, and the queries of the page."""

    text: str
    definition: StreamDefinition
    lines: dict[str, str]
    queries: dict[str, str]


def example(page: str, name: str) -> Example:
    blocks = {block.name: block.text for block in blocks_of(PAGES / f"{page}.md") if block.name}
    text = re.sub(r"(?m)^idle: .*\n", "", blocks[name]).replace("sources:", f"idle: {IDLE}\nsources:", 1)
    definition = read_definition(text)
    lines = {one.topic: blocks[f"{one.topic}.ndjson"] for one in definition.sources}
    queries = {name.removesuffix(".saf"): text for name, text in blocks.items() if name.endswith(".saf")}
    return Example(text, definition, lines, queries)


def by_services(one: Example, seed: int, directory: Path) -> list[bytes]:
    """The results of all services, the messages being there before the stream is made."""
    stream = one.definition.name
    world = World(seed, directory / "snapshots")
    topic = f"t.{stream}"
    world.topics(*topic_specs("t.", 1), topic_files()["events"].spec(topic, 1), *stream_topics("t.", stream, 1))
    world.topics(*(TopicSpec(source, 1, {}) for source in one.lines))
    for name, make in makers(replace(settings(directory, 1), disorder_ms=0)).items():
        world.add(name, make)
    producer = MemoryLog(world.broker).producer()
    for source in one.lines:
        for each in records_of(one, source):
            time = NOW if each.timestamp < 0 else each.timestamp
            producer.send(source, 0, each.value, key=each.key, headers=list(each.headers), timestamp=time)
    numbers = {source: number for number, source in enumerate(one.lines)}
    record = StreamRecord(
        stream,
        topic,
        one.definition.key,
        disorder=one.definition.disorder,
        idle=one.definition.idle,
        definition=AppliedDefinition(one.text, numbers, 1),
    )
    for name, text in one.queries.items():
        query = QueryRecord(name, 1, ADD, text, "earliest")
        producer.send(TOPICS.queries, 0, query.encode(), key=name.encode())
    producer.send(TOPICS.streams, 0, record.encode(), key=stream.encode())
    producer.flush(1)
    world.run(300)
    world.settle(lambda: _silent(world, topic, len(numbers)))
    return undated(world.read(TOPICS.complex_events, 0, committed_only=True))


def _silent(world: World, topic: str, sources: int) -> bool:
    """Whether all sources are silent, and the services have read all there is."""
    said: dict[tuple[int, int], tuple[bool, int]] = {}
    for each in world.read(topic, 0, committed_only=True):
        event = orjson.loads(each.value or b"{}")
        if event["type"] == "$watermark":
            of = event["of"], event["source"]
            said[of] = event.get("silent", False), max(event["ts"], said.get(of, (False, event["ts"]))[1])
    if len(said) < sources or not all(silent for silent, _ in said.values()):
        return False
    where = TopicPartition(TOPICS.admitted_of(topic.removeprefix("t.")), 0)
    standing = world.blocks(where.topic, 0)
    if not standing or standing[-1].watermark < max(ts for _, ts in said.values()):
        return False
    committed = world.broker.offsets.get(("t.matcher", where))
    return committed is not None and committed.offset >= world.broker.partition(where).high


def records_of(one: Example, topic: str) -> list[Record]:
    where = TopicPartition(topic, 0)
    return [record_in(line, where, number) for number, line in enumerate(one.lines[topic].encode().splitlines())]


def by_replay(one: Example, directory: Path) -> list[bytes]:
    """The results of `replay --stream` over the same messages in files."""
    files = {}
    for topic, lines in one.lines.items():
        path = directory / f"{topic}.ndjson"
        path.write_text(lines, "utf-8")
        files[topic] = [path]
    merged = MergedFiles(one.definition, files, 1)
    run = Replay([Query(name, text) for name, text in one.queries.items()], merged=merged, partitions=1)
    return [text for results in run.results(merged.batches()) for texts in results.json() for text in texts]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("page", "name"), FOUND)
def test_services_find_what_replay_finds(
    page: str, name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page != COMPILED:
        interpret_all(monkeypatch)
    one = example(page, name)
    expected = by_replay(one, tmp_path)
    found = by_services(one, seed, tmp_path)
    assert found == [result for result in expected if result in found]
    assert len(found) == FOUND[page, name]
    assert expected
