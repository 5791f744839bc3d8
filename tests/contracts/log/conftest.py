"""The subject of the log's contract: Kafka, and its in-memory twin, one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from saffron.runtime.log.kafka.kafka_log import KafkaLog
from saffron.runtime.log.kafka.librdkafka_settings import Cluster
from tests.contracts.log.subject import KafkaTools, Subject
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog


@pytest.fixture
def memory(prefix: str) -> Iterator[Subject]:
    clock = itertools.count(1_000)
    broker = MemoryBroker(lambda: next(clock))
    log = MemoryLog(broker)
    yield Subject(log, lambda: MemoryLog(broker), prefix, broker)
    log.close()


@pytest.fixture
def kafka(broker: str, prefix: str) -> Iterator[Subject]:
    log = KafkaLog(Cluster(broker))
    yield Subject(log, lambda: KafkaLog(Cluster(broker)), prefix, KafkaTools(broker))
    log.close()


@pytest.fixture(params=["memory", pytest.param("kafka", marks=pytest.mark.kafka)])
def subject(request: pytest.FixtureRequest) -> Subject:
    found: Subject = request.getfixturevalue(request.param)
    return found
