"""librdkafka's client settings, with reasons. Its defaults suit other uses: batch jobs, distant brokers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from saffron.errors import SettingsError
from saffron.runtime.log.security.security import Security, security_of
from saffron.runtime.process.config import Settings

_MESSAGE_BYTES = 16 * 1024 * 1024
_REPEAT_SECONDS = 10.0

_C = TypeVar("_C")


class ErrorRateLimit(logging.Filter):
    """A logging filter that passes each kind of librdkafka message once per interval.

    An absent broker repeats it per attempt.
    """

    def __init__(self) -> None:
        super().__init__()
        self._passed_at: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.getMessage().partition(" ")[0]
        now = time.monotonic()
        if now - self._passed_at.get(kind, -_REPEAT_SECONDS) < _REPEAT_SECONDS:
            return False
        self._passed_at[kind] = now
        return True


_LOGGER = logging.getLogger("saffron.kafka.client")
_LOGGER.addFilter(ErrorRateLimit())


@dataclass(frozen=True)
class Cluster:
    """The address, time limits (ms), copies of new topics (0: see `replicas_of`) and security of a cluster."""

    bootstrap: str
    session_ms: int = 6_000
    transaction_ms: int = 10_000
    replication: int = 0
    security: Security = Security()


def cluster_of(settings: Settings) -> Cluster:
    """The cluster of the settings. SettingsError: the security settings do not fit."""
    return Cluster(
        bootstrap=settings.bootstrap,
        session_ms=settings.session_ms,
        transaction_ms=settings.transaction_ms,
        replication=settings.replication,
        security=security_of(settings),
    )


def base(cluster: Cluster, client_id: str) -> dict[str, Any]:
    """Settings of all clients, the user's own last."""
    return {
        "bootstrap.servers": cluster.bootstrap,
        **cluster.security.for_librdkafka(),
        "client.id": client_id or "saffron",
        "logger": _LOGGER,
        "log.connection.close": False,
        "socket.nagle.disable": True,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 500,
        "topic.metadata.refresh.interval.ms": 30_000,
        "allow.auto.create.topics": False,
        **cluster.security.more,
    }


def _waits(*, patient: bool, lazy: bool) -> dict[str, Any]:
    """Fetch waits at the broker (see `runtime.log.Log.consumer`)."""
    if lazy:
        return {"fetch.wait.max.ms": 1_000, "fetch.min.bytes": 1_000_000}
    if patient:
        return {"fetch.wait.max.ms": 2_000}
    # A seek or resume waits for the fetch in progress, so fetches are kept short. Added partitions are detected only by
    # refreshing the metadata.
    return {"fetch.wait.max.ms": 200, "topic.metadata.refresh.interval.ms": 3_000}


def consumer(
    cluster: Cluster, group: str, client_id: str, *, committed_only: bool, patient: bool = False, lazy: bool = False
) -> dict[str, Any]:
    """Settings of a consumer. `committed_only`: read_committed. `patient`, `lazy`: see `runtime.log.Log.consumer`."""
    return {
        **base(cluster, client_id),
        "group.id": group,
        "group.protocol": "classic",
        "partition.assignment.strategy": "range",
        "session.timeout.ms": cluster.session_ms,
        "heartbeat.interval.ms": max(200, cluster.session_ms // 20),
        "isolation.level": "read_committed" if committed_only else "read_uncommitted",
        # Offsets travel in transactions and blocks; a new group must not skip what is there.
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        # A missing offset is reported, and never skipped.
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "fetch.queue.backoff.ms": 2,
        "fetch.error.backoff.ms": 50,
        "fetch.message.max.bytes": 4 * 1024 * 1024,
        "fetch.max.bytes": 64 * 1024 * 1024,
        "receive.message.max.bytes": 100_000_000,
        "queued.min.messages": 50_000,
        "queued.max.messages.kbytes": 32 * 1024,
        "retry.backoff.ms": 5,
        **_waits(patient=patient, lazy=lazy),
        **cluster.security.more,
    }


def producer(cluster: Cluster, client_id: str, transactional_id: str | None, *, bulk: bool) -> dict[str, Any]:
    """The settings of a producer. `bulk`: many small messages, throughput before latency."""
    settings = {
        **base(cluster, client_id),
        "acks": "all",
        "enable.idempotence": True,
        # Java clients, Spark and Flink hash keys with murmur2; CRC32, the default here, would split streams elsewhere.
        "partitioner": "murmur2_random",
        "linger.ms": 10 if bulk else 1,
        "compression.type": "lz4" if bulk or transactional_id else "none",
        "message.max.bytes": _MESSAGE_BYTES,
        "batch.size": 1_000_000,
        "queue.buffering.max.messages": 2_000_000,
        "queue.buffering.max.kbytes": 256 * 1024,
        # Commits one right after the other would otherwise stall for 100 ms each.
        "retry.backoff.ms": 2,
        "retry.backoff.max.ms": 200,
        "delivery.report.only.error": True,
        **cluster.security.more,
    }
    if transactional_id is not None:
        settings |= {"transactional.id": transactional_id, "transaction.timeout.ms": cluster.transaction_ms}
    return settings


def event_producer(cluster: Cluster, *, throughput: bool) -> dict[str, Any]:
    """Settings of a program that only sends events. The broker's own limits on a message apply."""
    return {
        **base(cluster, "saffron-produce"),
        "enable.idempotence": True,
        "partitioner": "murmur2_random",  # as Java's clients, so that a key has one partition for all
        "compression.type": "lz4" if throughput else "none",
        "message.max.bytes": _MESSAGE_BYTES,  # the topic's own limit decides, and not a smaller one here
        "linger.ms": 20 if throughput else 1,
        "batch.size": 1 << 20,
        "queue.buffering.max.messages": 500_000,
        "delivery.report.only.error": True,
        **cluster.security.more,
    }


def client(kind: Callable[[dict[str, Any]], _C], settings: Mapping[str, Any]) -> _C:
    """A new client of confluent-kafka. SettingsError: librdkafka refuses its settings, with the reason."""
    try:
        return kind(dict(settings))
    except KafkaException as error:
        cause = error.args[0]
        why = cause.str() if isinstance(cause, KafkaError) else str(cause)
        raise SettingsError(
            f"Kafka's client refuses its settings ({why.rstrip('.')}): is one of `kafka` wrong, a certificate or a key?"
        ) from None
