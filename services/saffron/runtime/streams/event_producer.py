"""Producer of events, one message each, in batches for librdkafka."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saffron.runtime.log.kafka import librdkafka_settings
from saffron.runtime.log.kafka.producer import KafkaProducer
from saffron.runtime.process.config import Settings


class EventProducer:
    """An idempotent producer for one topic. `throughput`: large compressed requests, else the least delay."""

    def __init__(self, settings: Settings, topic: str, *, throughput: bool) -> None:
        self._topic = topic
        cluster = librdkafka_settings.cluster_of(settings)
        self._producer = KafkaProducer(librdkafka_settings.event_producer(cluster, throughput=throughput))

    def send(
        self, values: Sequence[bytes], keys: Sequence[bytes | None] | None = None, partition: int | None = None
    ) -> None:
        """Queues messages with the present time; waits while the queue is full. `partition` None: chosen by the key.

        LogError: an earlier message could not be delivered.
        """
        messages: list[dict[str, Any]] = [{"value": value} for value in values]
        if keys is not None:
            for message, key in zip(messages, keys, strict=True):
                message["key"] = key
        self._producer.send_many(self._topic, messages, partition)

    def flush(self, seconds: float) -> None:
        """Waits until all messages are acknowledged. LogError: some cannot be."""
        self._producer.flush(seconds)
