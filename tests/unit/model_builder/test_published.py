"""What the topic does not have is published again, whatever the books say: at the start, and in a topic made anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from saffron.engine.models.events.event_record import part_key
from saffron.model_builder.batch import Batches
from saffron.model_builder.policy import Policy
from saffron.model_builder.publisher import Published, Publisher
from saffron.model_builder.store import Store
from saffron.records.envelope import seal
from saffron.runtime.log import Record, TopicPartition, TopicSpec
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.model_builder.test_batch import counts, latencies

KEYS = [b"@events/latency", b"q/transitions"]


class World:
    """A topic of models, and the builder on one checkpoint, which may start again."""

    def __init__(self, folder: Path) -> None:
        self.broker = MemoryBroker(lambda: 0)
        self.log = MemoryLog(self.broker)
        self.create()
        self.store = Store(folder)
        self.store.open(1000, -1)
        self.start()

    def create(self) -> None:
        self.broker.create(TopicSpec("models", 2, {}))

    def start(self) -> None:
        publish = Publisher(self.log, "models").publish
        self.published = Published(self.log, "models")
        self.job = Batches(self.store, 1000, publish, Policy(observations=10), in_topic=self.published.before)

    def run(self, batch: int) -> list[bytes]:
        """The keys of the models that a batch publishes; nothing has moved since the first one."""
        rows = (counts(2, 8) if batch else counts(200, 800)) + latencies(2000)
        return sorted(model.key for model in self.job.run(batch, rows).models)

    def records(self) -> list[Record]:
        return [
            record
            for number in range(2)
            for record in self.broker.partition(TopicPartition("models", number)).read(0, 100, False)[0]
        ]

    def put(self, key: bytes, value: bytes | None) -> None:
        (where,) = {record.partition for record in self.records() if record.key == key} or {0}
        producer = self.log.producer()
        producer.send("models", where, value, key=key)
        producer.flush(1.0)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    assert (world.run(0), world.run(1)) == (KEYS, [])
    return world


def test_models_in_the_topic_are_not_published_again_at_a_start(world: World) -> None:
    world.start()
    assert (world.run(2), world.run(3)) == ([], [])


def test_a_topic_made_anew_gets_all_models_with_the_next_batch(world: World) -> None:
    world.broker.delete("models")
    world.create()
    assert world.run(2) == KEYS
    assert sorted({record.key or b"" for record in world.records()}) == KEYS
    assert world.run(3) == []


@pytest.mark.parametrize("value", [b"torn", None])
def test_a_model_that_the_topic_lacks_is_published_again_at_a_start(world: World, value: bytes | None) -> None:
    world.put(KEYS[1], value)
    assert world.run(2) == [], "what others write is looked at when the builder starts"
    world.start()
    assert world.run(3) == KEYS[1:]
    assert world.run(3) == KEYS[1:], "a batch that is repeated does the same"
    assert world.run(4) == []


def test_a_model_of_events_is_there_once_all_its_parts_are(world: World) -> None:
    def whole() -> bool:
        world.start()
        return part_key("q", 0) in (world.published.before(5) or ())

    for number in range(3):
        assert not whole()
        world.put(part_key("q", number), seal({"part": number, "parts": 3}))
    assert whole()
    world.put(part_key("q", 1), b"torn")
    assert not whole()
