"""Topics as they live, on a real broker: grown, trimmed, made anew, and a group deleted, one after the other.

The same cases, and more, on the in-memory log: `simulated/topics/`.
"""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import confluent_kafka
import orjson
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.inspect import Inspector
from saffron.runtime.log.kafka import kafka_log
from saffron.runtime.log.topics import topic_files
from saffron.runtime.process.config import Settings
from tests.e2e.broker.processes import SERVICES, System

pytestmark = [pytest.mark.kafka]

SCHEMA = {"type": "object", "properties": {"type": {"enum": ["A", "B"]}, "k": {"type": ["string", "null"]}}}
PAIR = "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 10 minutes RETURN a.k AS k"
PATIENCE_S = 120.0


class Living:
    """A system with a query that pairs events of one key, and who works on its topics by Kafka's own tools."""

    def __init__(self, system: System, bootstrap: str) -> None:
        self.system = system
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        system.stream(SCHEMA)
        for service in SERVICES:
            system.start(service)
        system.query("pairs", PAIR)
        system.active(1)

    def send(self, *keys: str, kinds: str = "AB", partition: int = 0) -> None:
        topic = self.system.topics.events
        producer = self.system.log.producer()  # one that knows the topic as it is now
        for key, kind in itertools.product(keys, kinds):
            producer.send(topic, partition, orjson.dumps({"type": kind, "k": key}))
        producer.flush(20)
        producer.close()

    def pairs(self) -> list[str]:
        self.system.results()
        found = self.system.readers[self.system.topics.complex_events].found
        return sorted(orjson.loads(one)["return"]["k"] for part in found for one in part)

    def wait(self, *pairs: str) -> None:
        """Until these results are there, and, once they are, no others."""
        self.system.wait(lambda: len(self.pairs()) >= len(pairs), PATIENCE_S, f"{pairs} were not found")
        assert self.pairs() == sorted(pairs)

    def told(self) -> set[str]:
        """The kinds of incidents that were told of."""
        consumer = self.system.log.consumer(f"{self.system.topics.health}-test", committed_only=True)
        consumer.assign({TopicPartition(self.system.topics.health, 0): 0})
        kinds, seen = set[str](), 0
        while records := consumer.poll(1_000, 2.0 if not seen else 0.2):
            seen += len(records)
            bodies = [orjson.loads(record.value or b"") for record in records]
            rows = [row for body in bodies for row in body.get("inputs", [])]
            kinds |= {incident["kind"] for row in rows for incident in row["incidents"]}
        consumer.close()
        return kinds

    def has_logged(self, text: str) -> bool:
        """True if a service has."""
        return any(text in path.read_text(errors="replace") for path in self.system.directory.glob("*.log"))

    def configure(self, topic: str, name: str, value: str) -> None:
        setting = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[setting])
        self.admin.incremental_alter_configs([resource])[resource].result()

    def delete_group(self, group: str) -> None:
        self.admin.delete_consumer_groups([group])[group].result()

    def make_anew(self, topic: str) -> None:
        before = self.system.log.describe([topic])[topic].id
        self.admin.delete_topics([topic])[topic].result()

        def is_new() -> bool:
            """Creates the topic, which may seem to be there for a while after it was deleted."""
            self.system.log.create_topics([topic_files()["events"].spec(topic, 2)])
            found = self.system.log.describe([topic]).get(topic)
            return found is not None and found.id != before

        self.again(lambda: self.system.wait(is_new, PATIENCE_S, "the topic was not made"))

    def again(self, act: Callable[[], object]) -> None:
        """Once it works: a topic is deleted, and a group empty, a little later than that is answered."""
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                act()
                return
            except KafkaException:
                assert time.monotonic() < until
                time.sleep(0.1)


@pytest.fixture
def living(broker: str, prefix: str, tmp_path: Path) -> Iterator[Living]:
    system = System(broker, prefix, tmp_path, partitions=1)
    try:
        yield Living(system, broker)
    finally:
        system.close()


def test_topics_grow_are_trimmed_and_made_anew_and_groups_are_deleted(living: Living) -> None:
    system, admin, events = living.system, living.admin, living.system.topics.events
    living.send("first")
    living.wait("first")

    system.kill("matcher")
    group = system.settings.group("matcher")
    living.again(lambda: living.delete_group(group))
    for path in (system.directory / "snapshots").rglob("*.snapshot"):
        path.unlink()
    living.send("second")
    system.start("matcher")
    living.wait("first", "second")

    system.send("windowing", signal.SIGSTOP)
    admin.create_partitions([NewPartitions(events, 2)])[events].result()
    living.send("added", partition=1)
    living.send("third")
    system.send("windowing", signal.SIGCONT)
    living.wait("first", "second", "third", "added")

    system.kill("windowing")  # a stopped one is sent what comes, by a fetch that waits
    living.send("lost", "kept")
    place = confluent_kafka.TopicPartition(events, 0, 8)
    admin.delete_records([place])[place].result()
    system.start("windowing")
    living.wait("first", "second", "third", "added", "kept")

    system.send("windowing", signal.SIGSTOP)
    living.make_anew(events)
    anew = [f"anew{number:02}" for number in range(12)]
    living.send(*anew)
    system.send("windowing", signal.SIGCONT)
    living.wait("first", "second", "third", "added", "kept", *anew)
    system.wait(lambda: living.told() == {"grown", "lost", "remade"}, PATIENCE_S, "not all was told")

    living.make_anew(events)
    more = [f"more{number:02}" for number in range(24)]
    living.send(*more)  # beyond the old position, before the next of the checks that are made once a second
    living.wait("first", "second", "third", "added", "kept", *anew, *more)


def test_topics_that_refuse_what_is_written_end_no_service_and_lose_nothing(living: Living) -> None:
    system, sent = living.system, ["first"]
    living.send(*sent)
    living.wait(*sent)
    for topic, name, refusing, usual in (
        (system.topics.windows_of("events"), "cleanup.policy", "compact", "delete"),
        (system.topics.complex_events, "max.message.bytes", "100", "16777216"),
    ):
        living.configure(topic, name, refusing)
        sent.append(topic)
        living.send(topic)
        system.wait(partial(living.has_logged, f"delivering to {topic}/0: "), PATIENCE_S, "it was not told")
        living.configure(topic, name, usual)
        living.wait(*sent)
    assert not living.has_logged("starting again")


def test_a_topic_of_the_users_own_keeps_messages_of_the_past(broker: str, prefix: str) -> None:
    """The embedded broker would else remove those of last week, half a minute after its start."""
    log, topic = kafka_log.connect(Settings(bootstrap=broker)), prefix + "orders"
    log.create_topics([TopicSpec(topic, 1, {})])
    log.close()
    assert Inspector(Settings(bootstrap=broker)).topics([topic])[topic].config["retention.ms"] == "-1"
