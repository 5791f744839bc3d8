"""What tests of the log's contract do with a log: read all or some, write, join a group, wait."""

from __future__ import annotations

import time
from collections.abc import Callable

from saffron.runtime.log import Consumer, Log, Producer, Record, TopicPartition
from tests.contracts.log.subject import Subject

PATIENCE = 20.0


def take(consumer: Consumer, count: int) -> list[Record]:
    """The next `count` records; fails when they do not come."""
    found: list[Record] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records came"
        found += consumer.poll(count - len(found), 0.05)
    return found


def drain(consumer: Consumer, *partitions: TopicPartition) -> list[Record]:
    """Everything up to the end."""
    found: list[Record] = []
    deadline = time.monotonic() + PATIENCE
    while True:
        records = consumer.poll(100, 0.05)
        found += records
        if not records and all(consumer.at_end(where) for where in partitions):
            return found
        assert time.monotonic() < deadline, "the end never came"


def values(records: list[Record]) -> list[bytes | None]:
    return [record.value for record in records]


def transaction(producer: Producer, topic: str, *bodies: bytes) -> None:
    producer.begin()
    for body in bodies:
        producer.send(topic, 0, body)


def fill(subject: Subject, topic: str, *bodies: bytes) -> None:
    producer = subject.log.producer()
    for body in bodies:
        producer.send(topic, 0, body)
    producer.flush(10)


def member(log: Log, group: str, topic: str, held: set[TopicPartition]) -> Consumer:
    """A member that keeps book of its partitions in `held`."""
    consumer = log.consumer(group, committed_only=True)
    consumer.subscribe([topic], held.update, held.difference_update, held.difference_update)
    return consumer


def until(condition: Callable[[], bool], *consumers: Consumer) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        for consumer in consumers:
            consumer.poll(10, 0.05)
