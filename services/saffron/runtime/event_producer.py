"""Producing events, one message each, as fast as librdkafka takes them in batches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from saffron.errors import LogError

_QUEUE = 500_000
_FULL_WAIT = 0.05


class EventProducer:
    """Writes to one topic, idempotently. `throughput`: large compressed requests; else the smallest delay."""

    def __init__(self, bootstrap: str, topic: str, *, throughput: bool) -> None:
        self._topic = topic
        self._failure: KafkaError | None = None
        self._producer = Producer(
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
            },
            logger=None,
        )

    def send(self, values: Sequence[bytes], keys: Sequence[bytes | None] | None = None, partition: int = -1) -> None:
        """Queue messages stamped now, waiting while the queue is full; -1 lets the key choose the partition.

        LogError: an earlier message could not be delivered.
        """
        messages: list[dict[str, Any]] = [{"value": value} for value in values]
        if keys is not None:
            for message, key in zip(messages, keys, strict=True):
                message["key"] = key
        while messages:
            queued = self._producer.produce_batch(
                self._topic, messages, partition=partition, on_delivery=self._delivered
            )
            self._producer.poll(0)
            self._check()
            if queued == len(messages):
                return
            refused = [message for message in messages if "_error" in message]
            for message in refused:
                error = message.pop("_error")
                if error.code() != KafkaError._QUEUE_FULL:
                    raise LogError(f"an event cannot be produced to {self._topic}: {error.str()}")
            messages = refused
            self._producer.poll(_FULL_WAIT)

    def flush(self, seconds: float) -> None:
        """Wait until all is acknowledged; LogError when it cannot be."""
        deadline = time.monotonic() + seconds
        try:
            left = self._producer.flush(seconds)
        except KafkaException as error:
            raise LogError(f"producing to {self._topic} failed: {error}") from error
        self._check()
        if left and time.monotonic() >= deadline:
            raise LogError(
                f"{left} events to {self._topic} were not acknowledged within {seconds:g} s: is the broker up?"
            )

    @property
    def waiting(self) -> int:
        """Messages queued and not yet acknowledged."""
        return len(self._producer)

    def _delivered(self, error: KafkaError | None, message: object) -> None:
        if error is not None and self._failure is None:
            self._failure = error

    def _check(self) -> None:
        if self._failure is not None:
            raise LogError(f"an event was not delivered to {self._topic}: {self._failure.str()}")
