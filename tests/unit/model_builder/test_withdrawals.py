"""Models of removed queries are withdrawn, those of others and of streams are not; a failed producer is replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from saffron.engine.models.events.event_record import part_key
from saffron.errors import LogError
from saffron.model_builder.batch import Batches
from saffron.model_builder.cell_sums import TRANSITION, Row
from saffron.model_builder.policy import Policy
from saffron.model_builder.reporter import Reporter
from saffron.model_builder.store import Store
from saffron.model_builder.withdrawals import Withdrawals
from saffron.runtime.log import Record, TopicPartition, TopicSpec
from saffron.runtime.log.topics import Topics
from saffron.runtime.telemetry.health import Health
from saffron.runtime.telemetry.metrics import Metrics
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

TOPICS = Topics("")
KEYS = [b"q/transitions", b"q/events", part_key("q", 1), b"r/transitions", b"@q/latency"]


class World:
    """Topics with models of the queries q and r and of the stream q."""

    def __init__(self) -> None:
        self.log = MemoryLog(MemoryBroker(lambda: 0))
        self.log.create_topics([TopicSpec(TOPICS.queries, 1, {}), TopicSpec(TOPICS.models, 1, {})])
        self.producer = self.log.producer()
        for key in KEYS:
            self.put(TOPICS.models, key, b"model")
        for key in (b"q", b"r"):
            self.put(TOPICS.queries, key, b"query")
        self.withdrawals = Withdrawals(self.log, TOPICS)

    def put(self, topic: str, key: bytes, value: bytes | None) -> None:
        self.producer.send(topic, 0, value, key=key)
        self.producer.flush(1.0)

    def step(self) -> list[bytes]:
        """Until nothing more comes."""
        return [key for _ in range(4) for key in self.withdrawals.step()]

    def tombstones(self) -> list[bytes | None]:
        consumer = self.log.consumer("test", committed_only=True)
        consumer.assign({TopicPartition(TOPICS.models, 0): 0})
        records: list[Record] = consumer.poll(100, 0.0)
        return [record.key for record in records if record.value is None]


@pytest.fixture
def world() -> World:
    return World()


def test_all_records_of_a_removed_querys_models_are_withdrawn_once(world: World) -> None:
    assert world.step() == []
    world.put(TOPICS.queries, b"q", None)
    assert world.step() == sorted(KEYS[:3])
    assert world.step() == []
    assert world.tombstones() == sorted(KEYS[:3])
    world.put(TOPICS.models, b"q/transitions", b"late")
    assert world.step() == [b"q/transitions"], "learned from the last that was observed"


def test_a_query_that_was_added_again_or_is_not_known_keeps_its_models(world: World) -> None:
    world.put(TOPICS.queries, b"q", None)
    world.put(TOPICS.queries, b"q", b"again")
    world.put(TOPICS.models, b"other/transitions", b"model")
    assert world.step() == world.tombstones() == []
    assert world.withdrawals.removed == frozenset()


def test_nothing_counts_as_removed_before_all_queries_have_been_read(world: World) -> None:
    world.put(TOPICS.queries, b"q", None)
    for number in range(2_000):
        world.put(TOPICS.queries, b"other", b"%d" % number)
    world.put(TOPICS.queries, b"q", b"again")
    world.withdrawals = Withdrawals(world.log, TOPICS)
    world.withdrawals.step()
    assert world.withdrawals.removed == frozenset(), "it may yet be added again"
    world.step()
    assert world.withdrawals.removed == frozenset()


def test_what_could_not_be_written_is_withdrawn_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.put(TOPICS.queries, b"q", None)
    with monkeypatch.context() as patch:
        patch.setattr(type(world.producer), "flush", failing)
        with pytest.raises(LogError):
            world.step()
    assert world.step() == sorted(KEYS[:3])
    assert set(world.tombstones()) == set(KEYS[:3])
    world.withdrawals.close()


def failing(*_: object) -> None:
    raise LogError("no broker")


def test_nothing_is_learned_of_a_removed_query_and_one_added_again_starts_anew(tmp_path: Path) -> None:
    store, removed = Store(tmp_path), frozenset[str]()
    store.open(7, -1)
    job = Batches(store, 7, lambda models: None, Policy(observations=10), lambda: removed)
    row = Row("t", 0, TRANSITION, "q", 1, "events", 3, 100, True, 1, 2, 50, 0, 0, 1, 10)
    assert len(job.run(0, [row]).models) == 1
    removed = frozenset({"q"})
    assert job.run(1, [row]).models == ()
    assert (books := store.newest()) is not None
    assert not books.queries
    removed = frozenset()
    (model,) = job.run(2, [row]).models
    assert model.observations == 50


def test_the_reporter_shows_withdrawn_models(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.open(7, -1)
    row = Row("t", 0, TRANSITION, "q", 1, "events", 3, 100, True, 1, 2, 50, 0, 0, 1, 10)
    health = Health("model-builder")
    reporter = Reporter(health, Metrics(), "group")
    reporter.done(Batches(store, 7, lambda models: None, Policy(observations=10)).run(0, [row]))
    assert health.status()["model q"] == [7, 0]
    reporter.withdrawn(KEYS)
    assert health.status()["model q"] == "withdrawn"
