"""A user's own programs: a producer and readers that know Kafka's client and nothing of Saffron."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

_FLUSH_S = 120.0
_SETTINGS: dict[str, Any] = {
    "group.id": "faults",
    "isolation.level": "read_committed",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "log_level": 0,
}


class Feeder:
    """Sends events by their keys, as Kafka's Java client spreads them."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "partitioner": "murmur2_random",
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": int(1000 * _FLUSH_S),
                "queue.buffering.max.messages": 1_000_000,
                "log_level": 0,
            }
        )

    def send(self, events: Sequence[tuple[bytes, bytes]]) -> None:
        """(key, value) of each event; returns at once."""
        for key, value in events:
            self._producer.produce(self._topic, value, key)
            self._producer.poll(0)

    def end(self, partitions: int, mark: bytes) -> None:
        """Send a mark to every partition, and wait until all that was sent is acknowledged."""
        for partition in range(partitions):
            self._producer.produce(self._topic, mark, partition=partition)
        left = self._producer.flush(_FLUSH_S)
        if left:
            raise SystemExit(f"{left} events were not acknowledged within {_FLUSH_S:g} s")


class Reader:
    """Reads result topics as a user would: read_committed, from the beginning.

    `found`: values by (topic, partition).
    """

    def __init__(self, bootstrap: str, topics: Sequence[str], partitions: int) -> None:
        self._consumer = Consumer({"bootstrap.servers": bootstrap, **_SETTINGS})
        places = [(topic, partition) for topic in topics for partition in range(partitions)]
        self._consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in places])
        self.found: dict[tuple[str, int], list[bytes]] = {place: [] for place in places}

    @property
    def count(self) -> int:
        return sum(map(len, self.found.values()))

    def read(self, wanted: int, seconds: float) -> int:
        """Read until `wanted` results are there, or none came for `seconds`; how many there are."""
        last = time.monotonic()
        while self.count < wanted and time.monotonic() - last < seconds:
            for message in self._consumer.consume(5_000, 0.2):
                if message.error() is None:
                    self.found[message.topic(), message.partition()].append(message.value())
                    last = time.monotonic()
        return self.count

    def close(self) -> None:
        self._consumer.close()


def contents(bootstrap: str, topic: str) -> dict[int, list[bytes]]:
    """All committed values of a topic, by partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, **_SETTINGS})
    partitions = consumer.list_topics(topic, timeout=_FLUSH_S).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    found: dict[int, list[bytes]] = {partition: [] for partition in partitions}
    reading = set(partitions)
    while reading:
        for message in consumer.consume(5_000, 0.2):
            error = message.error()
            if error is None:
                found[message.partition()].append(message.value())
            elif error.code() == KafkaError._PARTITION_EOF:
                reading.discard(message.partition())
            else:
                raise KafkaException(error)
    consumer.close()
    return found
