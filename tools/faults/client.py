"""A user's own programs: a producer and a reader that know Kafka's client and nothing of Saffron."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

_FLUSH_S = 120.0


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
    """Reads topics as a user would: read_committed, from the beginning.

    `found`: values by (topic, partition).
    """

    def __init__(self, bootstrap: str, topics: Sequence[str], partitions: int) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "group.id": "faults",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
        self._consumer = Consumer(settings)
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
            if any(message.error() is None for message in self._take()):
                last = time.monotonic()
        return self.count

    def read_to_end(self) -> None:
        """Read until each partition is at its end. KafkaException: one cannot be read."""
        reading = set(self.found)
        while reading:
            for message in self._take():
                if (error := message.error()) is None:
                    continue
                if error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                reading.discard((message.topic(), message.partition()))

    def _take(self) -> list[Message]:
        """The next messages, errors among them; values are put where they belong."""
        messages: list[Message] = self._consumer.consume(5_000, 0.2)
        for message in messages:
            if message.error() is None:
                self.found[message.topic(), message.partition()].append(message.value())
        return messages

    def close(self) -> None:
        self._consumer.close()
