"""The doctor's look at a cluster: what topics hold, since when, whatever stands in them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
import pytest

from saffron.cli.checks.cluster import look as cluster_look
from saffron.cli.checks.cluster import topics
from saffron.cli.checks.cluster.look import look_at_topics, look_further
from saffron.cli.checks.of_cluster import judge
from saffron.cli.client import Client
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log import Record, TopicPartition, TopicSpec
from saffron.runtime.log.inspect import PartitionFacts, TopicFacts
from saffron.runtime.log.topics import Topics, topic_specs
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.cli.checks.sound import (
    NOW,
    PARTITIONS,
    SETTINGS,
    bad,
    digests,
    query,
    sound,
    stream,
)
from tests.unit.runtime.written import write_letter


class FakeCluster:
    """What Kafka's admin client would say of topics in memory."""

    brokers = 1

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker
        self.names = frozenset(broker.topics)

    def denied(self, topics: Any) -> frozenset[str]:
        return frozenset(name for name in topics if name == "secret")

    def topics(self, names: Any) -> dict[str, TopicFacts]:
        there = {name: self._broker.topics[name] for name in names if name in self._broker.topics}
        one = PartitionFacts(1, (1,), (1,))
        return {name: TopicFacts((one,) * len(logs), self._broker.configs[name]) for name, logs in there.items()}

    def unstable(self, topics: Mapping[str, int]) -> dict[TopicPartition, int]:
        places = {TopicPartition(name, i): log for name in topics for i, log in enumerate(self._broker.topics[name])}
        return {place: log.stable for place, log in places.items() if log.stable < log.high}


@pytest.mark.parametrize(
    "strange",
    [
        {"at": "now"}, {"interval_ms": 0}, {"events": "5"}, {"service": ["m"]}, {"lag": 1.5}, {"shed": {}},
        {"inputs": [5]}, {"inputs": 5}, {"inputs": [{"topic": "t", "partition": 0, "incidents": [{}]}]},
        {"troubles": 5},
    ],
)  # fmt: skip
def test_a_digest_of_another_form_is_passed_over(strange: dict[str, Any]) -> None:
    names = ("service", "stream", "partition", "at", "interval_ms", "events", "lag")
    first = digests("matcher", 0)[0]
    body = {name: getattr(first, name) for name in names} | {"inputs": [], "troubles": []}
    kept, lost = (Record("saffron.health", 0, 0, NOW, b"x", orjson.dumps(one)) for one in (body, body | strange))
    assert len(cluster_look._digests([kept, lost], {})) == len(cluster_look._inputs([kept, lost])) == 1


@pytest.mark.parametrize("most", [2, 5, 6])
def test_a_look_says_from_which_time_on_it_knows_all(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    times = itertools.count(NOW)
    broker = MemoryBroker(lambda: next(times))
    log = MemoryLog(broker)
    log.create_topics(topic_specs("saffron.", 2))
    client, cluster = Client(replace(SETTINGS, replication=1), log), FakeCluster(broker)
    for place in range(5):
        write_letter(log, Topics("saffron."), place % 2, b"-", "not-json", "-")
        client.put("saffron.health", "windowing", b"{}")
    monkeypatch.setattr(cluster_look, "_LETTERS", most)
    monkeypatch.setattr(cluster_look, "_DIGESTS", most)
    look = look_further(look_at_topics(cluster, client.settings, NOW), cluster, client, None, lambda: NOW + 1000)
    assert len(look.letters) == min(most, 5)
    assert look.letters_since == (look.letters[0].at if most < 5 else 0)
    digests = [one.timestamp for one in cluster_look.newest(client, "saffron.health", 9)]
    assert look.digests_since == (digests[-most] if most <= 5 else 0)


def test_a_look_gathers_what_topics_hold() -> None:
    broker = MemoryBroker(lambda: NOW)
    log = MemoryLog(broker)
    mine = replace(SETTINGS, replication=1)
    log.create_topics(topic_specs(mine.prefix, PARTITIONS))
    log.create_topics([TopicSpec("crm", 1, {"cleanup.policy": "delete", "retention.ms": "5"})])
    client, cluster = Client(mine, log), FakeCluster(broker)
    client.put("saffron.streams", "events", stream().encode())
    tables = [f"{{name: {name}, topic: {name}, key: id}}" for name in ("crm", "secret", "gone")]
    merged = AppliedDefinition(f"stream: s\nsources: [{{topic: o}}]\ntables: [{', '.join(tables)}]", {"o": 0}, 1)
    client.put("saffron.streams", "s", StreamRecord("s", "saffron.s", definition=merged).encode())
    client.put("saffron.queries", "q", query().record.encode())
    client.put("saffron.query-status", "q/windowing/events/0", query().statuses[0].encode())
    client.put("saffron.health", "windowing", b'{"broken": true}')
    for one in sound().digests[-1:]:
        body = {
            name: getattr(one, name)
            for name in ("service", "stream", "partition", "at", "interval_ms", "events", "lag")
        }
        client.put("saffron.health", "greta/events/2", orjson.dumps(body))
    producer = log.producer()
    producer.send_many("saffron.events", [{"value": b"{}", "key": b"IBM"}])
    producer.flush(1.0)
    hanging = log.producer("foreign")
    hanging.begin()
    hanging.send("saffron.trends", 0, b"{}")
    hanging.flush(1.0)
    first = look_at_topics(cluster, mine, NOW)
    look = look_further(first, cluster, client, None, lambda: NOW + 60_000)
    assert not bad(topics.check_there(first))
    assert [one.service for one in look.digests] == ["greta"]
    broker.leaderless.add(TopicPartition("saffron.events", PARTITIONS - 1))
    assert len(look_further(first, cluster, client, None, lambda: NOW).events["events"]) <= 1, "a client would wait"
    client.put("saffron.streams", "events", None)
    client.put("saffron.streams", "events", stream().encode())
    assert look_further(first, cluster, client, None, lambda: NOW + 60_000).digests == (), "of the stream before"
    assert (look.queries["q"].state, look.queries["q"].reason) == ("starting", "not yet on partitions 1, 2")
    assert len(look.events["events"]) == 1
    found = {(one.check, one.where) for one in bad(judge(look))}
    assert {("tables", f"stream s, table {name}") for name in ("crm", "secret", "gone")} <= found
    assert {("transactions", "saffron.trends/0"), ("heartbeat", "windowing"), ("heartbeat", "greta")} <= found
