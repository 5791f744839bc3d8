"""A new topic has three copies, or as many as there are brokers, unless the settings say a number."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from saffron.runtime.log import TopicSpec
from saffron.runtime.log.kafka.kafka_log import KafkaLog
from saffron.runtime.log.kafka.librdkafka_settings import Cluster


class FakeAdmin:
    """An admin client of a cluster without topics, which keeps what is created."""

    def __init__(self, brokers: int) -> None:
        self._brokers = brokers
        self.made: list[Any] = []

    def list_topics(self, topic: str | None, timeout: float) -> Any:
        del topic, timeout
        return SimpleNamespace(brokers=dict.fromkeys(range(self._brokers)), topics={})

    def create_topics(self, topics: list[Any], operation_timeout: float) -> dict[str, Future[None]]:
        del operation_timeout
        self.made += topics
        done: Future[None] = Future()
        done.set_result(None)
        return {one.topic: done for one in topics}


@pytest.mark.parametrize(
    ("asked", "brokers", "copies", "needed"),
    [(0, 1, 1, None), (0, 2, 2, None), (0, 3, 3, "2"), (0, 9, 3, "2"), (1, 3, 1, None), (4, 5, 4, "2")],
)
def test_a_new_topic_has_as_many_copies_as_may_be_wanted(
    asked: int, brokers: int, copies: int, needed: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin = FakeAdmin(brokers)
    log = KafkaLog(Cluster("nowhere:1", replication=asked))
    monkeypatch.setattr(log, "_client", lambda: admin)
    monkeypatch.setattr(log, "_appear", lambda *_: None)
    assert log.create_topics([TopicSpec("t", 2, {"retention.ms": "9"})]) == ["t"]
    (one,) = admin.made
    assert (one.num_partitions, one.replication_factor) == (2, copies)
    assert one.config == {"retention.ms": "9"} | ({} if needed is None else {"min.insync.replicas": needed})
