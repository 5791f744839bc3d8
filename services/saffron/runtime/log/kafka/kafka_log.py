"""The log on a Kafka cluster (confluent-kafka). The contract tests run on it and on the log in memory."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakSet

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient, NewPartitions, NewTopic

from saffron.counted import counted
from saffron.errors import LogError, UnavailableError
from saffron.runtime.log import TopicPartition, TopicSpec, TopicState, require_group
from saffron.runtime.log.end_offsets import end_offsets
from saffron.runtime.log.kafka import librdkafka_settings
from saffron.runtime.log.kafka.consumer import KafkaConsumer, Waiting
from saffron.runtime.log.kafka.errors import is_denied, is_topic_invisible, translate
from saffron.runtime.log.kafka.librdkafka_settings import Cluster
from saffron.runtime.log.kafka.producer import KafkaProducer
from saffron.runtime.log.topics import replicas_of
from saffron.runtime.process.config import Settings

_TIMEOUT = 10.0
_CREATE_TIMEOUT = 30.0
_NO_ID = "A" * 22
"""The topic id that brokers before Kafka 2.8 report."""


def connect(settings: Settings) -> KafkaLog:
    """A connection to the cluster of the settings."""
    return KafkaLog(librdkafka_settings.cluster_of(settings))


class KafkaLog:
    """A connection to one cluster, which creates clients and topics. `waiting`: of all its consumers."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.waiting = Waiting()
        self._admin: AdminClient | None = None
        self._consumers: WeakSet[KafkaConsumer] = WeakSet()
        self._producers: WeakSet[KafkaProducer] = WeakSet()

    def consumer(
        self, group: str, *, committed_only: bool, client_id: str = "", patient: bool = False, lazy: bool = False
    ) -> KafkaConsumer:
        """Makes a consumer on librdkafka that is closed with this log, and whose waits count in `waiting`."""
        require_group(group)
        made = KafkaConsumer(
            librdkafka_settings.consumer(
                self._cluster, group, client_id, committed_only=committed_only, patient=patient, lazy=lazy
            ),
            self.waiting,
        )
        self._consumers.add(made)
        return made

    def producer(
        self, transactional_id: str | None = None, *, client_id: str = "", bulk: bool = False
    ) -> KafkaProducer:
        made = KafkaProducer(librdkafka_settings.producer(self._cluster, client_id, transactional_id, bulk=bulk))
        self._producers.add(made)
        return made

    def create_topics(self, specs: Sequence[TopicSpec]) -> list[str]:
        """Creates missing topics, and returns their names once their leaders serve them.

        A topic that another process creates meanwhile is no error. UnavailableError: they do not appear in time.
        """
        have = self._topics()
        for spec in specs:
            if (count := have.get(spec.name, spec.partitions)) < spec.partitions:
                raise LogError(
                    f"topic {spec.name!r} has {counted(count, 'partition')}, not {spec.partitions}: create it anew"
                )
        missing = [spec for spec in specs if spec.name not in have]
        if not missing:
            return []
        copies = replicas_of(self._cluster.replication, len(self._metadata().brokers))
        shared = {"min.insync.replicas": "2"} if copies > 2 else {}  # else a broker's death loses what it acknowledged
        wanted = [NewTopic(spec.name, spec.partitions, copies, config={**shared, **spec.config}) for spec in missing]
        for name, outcome in self._client().create_topics(wanted, operation_timeout=_CREATE_TIMEOUT).items():
            try:
                outcome.result()
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # another process was faster
                    raise translate(error, f"creating topic {name!r}") from error
        made = [TopicPartition(spec.name, one) for spec in missing for one in range(spec.partitions)]
        self._appear(made, f"topics {sorted(spec.name for spec in missing)} were created")
        return [spec.name for spec in missing]

    def topics(self) -> list[str]:
        return list(self._topics())

    def partitions(self, topic: str) -> int | None:
        found = self._topics()
        return found[topic] if topic in found else self._topics(topic).get(topic)

    def describe(self, topics: Sequence[str]) -> Mapping[str, TopicState]:
        """Asks the admin client for each topic. A broker before Kafka 2.8 gives the id ""."""
        found = {}
        answers = self._client().describe_topics(TopicCollection(list(topics)), request_timeout=_TIMEOUT)
        for name, answer in answers.items():
            try:
                state = answer.result()
            except KafkaException as error:
                if is_topic_invisible(error):
                    continue
                raise translate(error, f"describing topic {name!r}") from error
            topic_id = str(state.topic_id)
            leaderless = frozenset(one.id for one in state.partitions if one.leader is None or one.leader.id < 0)
            found[name] = TopicState("" if topic_id == _NO_ID else topic_id, len(state.partitions), leaderless)
        return found

    def writable(self, topic: str) -> bool:
        """Asks the broker for our rights; True where it names none, as without authorisation.

        False also where the topic does not exist, or may not be seen.
        """
        answer = self._client().describe_topics(
            TopicCollection([topic]), include_authorized_operations=True, request_timeout=_TIMEOUT
        )[topic]
        try:
            allowed = answer.result().authorized_operations
        except KafkaException as error:
            if is_topic_invisible(error):
                return False
            raise translate(error, f"asking for the rights on topic {topic!r}") from error
        return not allowed or AclOperation.WRITE in allowed or AclOperation.ALL in allowed

    def ends(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return end_offsets(self._client(), partitions, _TIMEOUT, stable=True)

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Adds the missing partitions, and waits until their leaders serve them.

        Another process that adds them first is no error. UnavailableError: they do not appear in time.
        """
        before = self.partitions(topic) or 0
        if before >= partitions:
            return
        try:
            wanted = [NewPartitions(topic, partitions)]
            self._client().create_partitions(wanted, operation_timeout=_CREATE_TIMEOUT)[topic].result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.INVALID_PARTITIONS:  # another process was faster
                raise translate(error, f"adding partitions to topic {topic!r}") from error
        added = [TopicPartition(topic, one) for one in range(before, partitions)]
        self._appear(added, f"partitions were added to topic {topic!r}")

    def close(self) -> None:
        for consumer in list(self._consumers):
            consumer.abandon()
        for producer in list(self._producers):
            producer.close()
        self._admin = None

    # ------------------------------------------------------------ inside

    def _client(self) -> AdminClient:
        if self._admin is None:
            self._admin = librdkafka_settings.client(AdminClient, librdkafka_settings.base(self._cluster, "admin"))
        return self._admin

    def _appear(self, partitions: Sequence[TopicPartition], done: str) -> None:
        """Waits until the brokers that lead new partitions serve them.

        A producer that is earlier may lose its first batch: it is refused, the next one is not, and with that Kafka's
        client takes both for written (KAFKA-15591).
        """
        deadline = time.monotonic() + _TIMEOUT
        while not self._are_served(partitions):
            if time.monotonic() > deadline:
                raise UnavailableError(f"{done}, but do not appear at the broker")
            time.sleep(0.01)

    def _are_served(self, partitions: Sequence[TopicPartition]) -> bool:
        counts = self._topics()
        known = all(one.partition < counts.get(one.topic, 0) for one in partitions)
        return known and len(self.ends(partitions)) == len(partitions)

    def _topics(self, one: str | None = None) -> dict[str, int]:
        """Numbers of partitions by topic. DeniedError: no right to see the topic `one`; others are left out."""
        found = self._metadata(one)
        for name, topic in found.topics.items():
            if name == one and topic.error is not None and is_denied(topic.error):
                raise translate(topic.error, f"asking for topic {name}", read=name)
        return {name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None}

    def _metadata(self, topic: str | None = None) -> Any:
        """The cluster's metadata, of one topic or all. UnavailableError: no broker answers."""
        try:
            return self._client().list_topics(topic, timeout=_TIMEOUT)
        except KafkaException as error:
            raise UnavailableError(
                f"no broker answers at {self._cluster.bootstrap} ({error.args[0].str()}): is it running? "
                "`saffron up` starts one, `--brokers HOST:PORT` names another"
            ) from error
