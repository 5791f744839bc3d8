"""Looks at a cluster without changing anything: what `saffron doctor` asks of Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

from saffron.errors import UnavailableError
from saffron.runtime.log import TopicPartition, kafka_settings
from saffron.runtime.process.config import Settings

_SECONDS = 10.0
_TRIES, _TRY_SECONDS = 10, 1.0


class RefusedError(UnavailableError):
    """A broker answers, but not to this name and password."""


@dataclass(frozen=True)
class PartitionFacts:
    """Where one partition is: numbers of brokers. `leader` None: it has none."""

    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True)
class TopicFacts:
    """One topic as the cluster has it. `allowed`: what we may do with it (READ, WRITE, ...); None: nobody asks."""

    partitions: tuple[PartitionFacts, ...]
    config: Mapping[str, str] = field(default_factory=dict)
    allowed: frozenset[str] | None = None


class Inspector:
    """One look at the cluster that the settings name."""

    def __init__(self, settings: Settings) -> None:
        """RefusedError: not with this name and password. UnavailableError: no broker answers."""
        self._refused = ""
        cluster = kafka_settings.cluster_of(settings)
        self._admin = AdminClient({**kafka_settings.base(cluster, "doctor"), "error_cb": self._complain})
        found = self._metadata(settings)
        self.brokers = len(found.brokers)
        self.names = frozenset(name for name, topic in found.topics.items() if topic.error is None)

    def denied(self, topics: Iterable[str]) -> frozenset[str]:
        """Those of the topics that we may not even know of."""
        asked = ((name, self._admin.list_topics(name, timeout=_SECONDS).topics.get(name)) for name in topics)
        code = KafkaError.TOPIC_AUTHORIZATION_FAILED
        return frozenset(name for name, topic in asked if topic is not None and topic.error == code)

    def topics(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        """Topics that are there, by name, with their settings, defaults included."""
        wanted = sorted(self.names & set(names))
        if not wanted:
            return {}
        asked = self._admin.describe_topics(
            TopicCollection(wanted), include_authorized_operations=True, request_timeout=_SECONDS
        )
        configs = self._admin.describe_configs(
            [ConfigResource(ResourceType.TOPIC, name) for name in wanted], request_timeout=_SECONDS
        )
        config = {one.name: _config(answer) for one, answer in configs.items()}
        return {name: _facts(answer.result(), config[name]) for name, answer in asked.items()}

    def unstable(self, topics: Mapping[str, int]) -> dict[TopicPartition, int]:
        """Partitions in which a transaction is open now, and the offset where it begins. `topics`: their partitions."""
        places = {Place(name, one): OffsetSpec.latest() for name, count in topics.items() for one in range(count)}
        stable = self._offsets(places, IsolationLevel.READ_COMMITTED)
        ends = self._offsets(places, IsolationLevel.READ_UNCOMMITTED)
        return {place: offset for place, offset in stable.items() if offset < ends.get(place, 0)}

    # ------------------------------------------------------------ inside

    def _metadata(self, settings: Settings) -> Any:
        """All topics and brokers. A refusal is only told beside, while the client tries on."""
        last = ""
        for _ in range(_TRIES):
            try:
                return self._admin.list_topics(timeout=_TRY_SECONDS)
            except KafkaException as error:
                last = str(error.args[0].str())
            self._admin.poll(0)
            if self._refused:
                raise RefusedError(f"the broker at {settings.bootstrap} refuses us: {self._refused}")
        raise UnavailableError(f"no broker answers at {settings.bootstrap}: {last}")

    def _complain(self, error: KafkaError) -> None:
        if error.code() == KafkaError._AUTHENTICATION:
            self._refused = str(error.str())

    def _offsets(self, places: Mapping[Place, OffsetSpec], level: IsolationLevel) -> dict[TopicPartition, int]:
        asked = self._admin.list_offsets(dict(places), isolation_level=level, request_timeout=_SECONDS)
        found = {}
        for one, answer in asked.items():
            try:
                found[TopicPartition(one.topic, one.partition)] = answer.result().offset
            except KafkaException:
                continue  # without a leader, or not ours to read: other checks say so
        return found


def _config(answer: Any) -> dict[str, str]:
    """The settings of one topic; none where we may not see them."""
    try:
        return {name: entry.value for name, entry in answer.result().items()}
    except KafkaException:
        return {}


def _facts(found: Any, config: Mapping[str, str]) -> TopicFacts:
    partitions = tuple(
        PartitionFacts(
            None if one.leader is None or one.leader.id < 0 else one.leader.id,
            tuple(node.id for node in one.replicas),
            tuple(node.id for node in one.isr),
        )
        for one in found.partitions
    )
    allowed = None if found.authorized_operations is None else [one.name for one in found.authorized_operations]
    return TopicFacts(partitions, config, None if allowed is None else frozenset(allowed))
