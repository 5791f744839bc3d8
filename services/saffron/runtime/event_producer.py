"""Producing events, one message each, as fast as librdkafka takes them in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saffron.runtime.kafka_producer import KafkaProducer

_QUEUE = 500_000


class EventProducer:
    """Writes to one topic, idempotently. `throughput`: large compressed requests; else the smallest delay."""

    def __init__(self, bootstrap: str, topic: str, *, throughput: bool) -> None:
        self._topic = topic
        self._producer = KafkaProducer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": "saffron-produce",
                "log_level": 2,  # failures are raised, not printed
                "enable.idempotence": True,
                "partitioner": "murmur2_random",  # as Java's clients do, so that a key has one home for all
                "compression.type": "lz4" if throughput else "none",
                "linger.ms": 20 if throughput else 1,
                "batch.size": 1 << 20,
                "queue.buffering.max.messages": _QUEUE,
                "delivery.report.only.error": True,
            }
        )

    def send(
        self, values: Sequence[bytes], keys: Sequence[bytes | None] | None = None, partition: int | None = None
    ) -> None:
        """Queue messages stamped now, waiting while the queue is full; None lets the key choose the partition.

        LogError: an earlier message could not be delivered.
        """
        messages: list[dict[str, Any]] = [{"value": value} for value in values]
        if keys is not None:
            for message, key in zip(messages, keys, strict=True):
                message["key"] = key
        self._producer.send_many(self._topic, messages, partition)

    def flush(self, seconds: float) -> None:
        """Wait until all is acknowledged; LogError when it cannot be."""
        self._producer.flush(seconds)
