"""A log under test, and who works on its cluster by other tools than ours."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import confluent_kafka
from confluent_kafka.admin import AdminClient

from saffron.runtime.log import Consumer, Log, TopicPartition, TopicSpec


class Operator(Protocol):
    """Who works on the cluster by other tools than ours."""

    def delete(self, topic: str) -> None: ...

    def trim(self, where: TopicPartition, offset: int) -> None:
        """Retention: forget the records before `offset`."""

    def forget(self, group: str) -> None:
        """Delete a group that has no members, and its positions."""


class KafkaTools:
    """An `Operator` of a cluster."""

    def __init__(self, broker: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": broker, "log_level": 0})

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic], operation_timeout=20)[topic].result()

    def trim(self, where: TopicPartition, offset: int) -> None:
        place = confluent_kafka.TopicPartition(where.topic, where.partition, offset)
        self._admin.delete_records([place])[place].result()

    def forget(self, group: str) -> None:
        self._admin.delete_consumer_groups([group], request_timeout=20)[group].result()


@dataclass
class Subject:
    """A log under test; `another` is a second process's connection to the same cluster."""

    log: Log
    another: Callable[[], Log]
    prefix: str
    operator: Operator
    names: Iterator[int] = field(default_factory=itertools.count)

    def topic(self, partitions: int = 1) -> str:
        name = f"{self.prefix}topic{next(self.names)}"
        assert self.log.create_topics([TopicSpec(name, partitions, {})]) == [name]
        return name

    def name(self) -> str:
        return f"{self.prefix}id{next(self.names)}"

    def reader(self, topic: str, *, committed_only: bool = True, partitions: int = 1) -> Consumer:
        consumer = self.log.consumer(self.name(), committed_only=committed_only)
        consumer.assign({TopicPartition(topic, index): 0 for index in range(partitions)})
        return consumer
