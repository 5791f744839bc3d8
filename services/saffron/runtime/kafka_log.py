"""The log on a real Kafka cluster (confluent-kafka). `memory_log` is its twin; the contract tests run on both."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from saffron.errors import LogError, UnavailableError
from saffron.runtime import kafka_settings
from saffron.runtime.config import Settings
from saffron.runtime.kafka_consumer import KafkaConsumer
from saffron.runtime.kafka_errors import denies, translate
from saffron.runtime.kafka_producer import KafkaProducer
from saffron.runtime.kafka_settings import Cluster
from saffron.runtime.log import TopicSpec

_TIMEOUT = 10.0
_CREATE_TIMEOUT = 30.0


def connect(settings: Settings) -> KafkaLog:
    """The cluster that the settings name."""
    return KafkaLog(kafka_settings.cluster_of(settings))


class KafkaLog:
    """A connection to one cluster: makes clients and topics."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._admin: AdminClient | None = None
        self._consumers: WeakSet[KafkaConsumer] = WeakSet()
        self._producers: WeakSet[KafkaProducer] = WeakSet()

    def consumer(
        self, group: str, *, committed_only: bool, client_id: str = "", patient: bool = False, lazy: bool = False
    ) -> KafkaConsumer:
        settings = kafka_settings.consumer(self._cluster, group, client_id, committed_only=committed_only)
        made = KafkaConsumer(settings | kafka_settings.waits(patient=patient, lazy=lazy))
        self._consumers.add(made)
        return made

    def producer(
        self, transactional_id: str | None = None, *, client_id: str = "", bulk: bool = False
    ) -> KafkaProducer:
        made = KafkaProducer(kafka_settings.producer(self._cluster, client_id, transactional_id, bulk=bulk))
        self._producers.add(made)
        return made

    def create_topics(self, specs: Sequence[TopicSpec]) -> list[str]:
        have = self._topics()
        for spec in specs:
            if (count := have.get(spec.name, spec.partitions)) < spec.partitions:
                raise LogError(
                    f"topic {spec.name!r} has {count} partitions, {spec.partitions} are needed: create it anew"
                )
        missing = [spec for spec in specs if spec.name not in have]
        if not missing:
            return []
        wanted = [
            NewTopic(spec.name, spec.partitions, self._cluster.replication, config=dict(spec.config))
            for spec in missing
        ]
        for name, outcome in self._client().create_topics(wanted, operation_timeout=_CREATE_TIMEOUT).items():
            try:
                outcome.result()
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # another process was faster
                    raise translate(error, f"creating topic {name!r}") from error
        self._appear({spec.name for spec in missing})
        return [spec.name for spec in missing]

    def partitions(self, topic: str) -> int | None:
        found = self._topics()
        return found[topic] if topic in found else self._topics(topic).get(topic)

    def close(self) -> None:
        for consumer in list(self._consumers):
            consumer.abandon()
        for producer in list(self._producers):
            producer.close()
        self._admin = None

    # ------------------------------------------------------------ inside

    def _client(self) -> AdminClient:
        if self._admin is None:
            self._admin = AdminClient(kafka_settings.base(self._cluster, "admin"))
        return self._admin

    def _appear(self, names: set[str]) -> None:
        """A broker answers that a topic is made a moment before it knows of it."""
        deadline = time.monotonic() + _TIMEOUT
        while not names <= self._topics().keys():
            if time.monotonic() > deadline:
                raise UnavailableError(f"topics {sorted(names)} were created but do not appear at the broker")
            time.sleep(0.01)

    def _topics(self, one: str | None = None) -> dict[str, int]:
        """Their numbers of partitions. Of topics that may not be seen only who names `one` is told: DeniedError."""
        try:
            found: Any = self._client().list_topics(one, timeout=_TIMEOUT)
        except KafkaException as error:
            raise UnavailableError(
                f"no broker answers at {self._cluster.bootstrap} ({error.args[0].str()}): is it running? "
                "`saffron up` starts one, `--brokers HOST:PORT` names another"
            ) from error
        for name, topic in found.topics.items():
            if name == one and topic.error is not None and denies(topic.error):
                raise translate(topic.error, f"asking for topic {name}")
        return {name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None}
