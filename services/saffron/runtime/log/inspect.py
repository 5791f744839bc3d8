"""Read-only inspection of a cluster, for `saffron doctor`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from saffron.errors import UnavailableError
from saffron.runtime.log import TopicPartition
from saffron.runtime.log.end_offsets import end_offsets
from saffron.runtime.log.kafka import librdkafka_settings
from saffron.runtime.process.config import Settings

_SECONDS = 10.0
_TRIES, _TRY_SECONDS = 10, 1.0


class RefusedError(UnavailableError):
    """A broker refuses this user name and password."""


@dataclass(frozen=True)
class PartitionFacts:
    """The broker ids of one partition. `leader` None: it has no leader."""

    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True)
class TopicFacts:
    """One topic as the cluster reports it. `allowed`: our rights (READ, WRITE, ...); None: no authorisation."""

    partitions: tuple[PartitionFacts, ...]
    config: Mapping[str, str] = field(default_factory=dict)
    allowed: frozenset[str] | None = None


class Inspector:
    """One inspection of the cluster of the settings."""

    def __init__(self, settings: Settings) -> None:
        """RefusedError: authentication failed. UnavailableError: no broker answers."""
        self._refused = self._untrusted = ""
        cluster = librdkafka_settings.cluster_of(settings)
        self._admin = librdkafka_settings.client(
            AdminClient, {**librdkafka_settings.base(cluster, "doctor"), "error_cb": self._note}
        )
        found = self._metadata(settings)
        self.brokers = len(found.brokers)
        self.names = frozenset(name for name, topic in found.topics.items() if topic.error is None)

    def denied(self, topics: Iterable[str]) -> frozenset[str]:
        """The topics that we have no right to see."""
        answers = ((name, self._admin.list_topics(name, timeout=_SECONDS).topics.get(name)) for name in topics)
        code = KafkaError.TOPIC_AUTHORIZATION_FAILED
        return frozenset(name for name, topic in answers if topic is not None and topic.error == code)

    def topics(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        """Existing topics by name, with all settings."""
        wanted = sorted(self.names & set(names))
        if not wanted:
            return {}
        answers = self._admin.describe_topics(
            TopicCollection(wanted), include_authorized_operations=True, request_timeout=_SECONDS
        )
        configs = self._admin.describe_configs(
            [ConfigResource(ResourceType.TOPIC, name) for name in wanted], request_timeout=_SECONDS
        )
        config = {one.name: _config(answer) for one, answer in configs.items()}
        return {name: _facts(answer.result(), config[name]) for name, answer in answers.items()}

    def unstable(self, topics: Mapping[str, int]) -> dict[TopicPartition, int]:
        """Partitions with an open transaction, and the offset where it begins. `topics`: numbers of partitions."""
        places = [TopicPartition(name, one) for name, count in topics.items() for one in range(count)]
        ends = end_offsets(self._admin, places, _SECONDS, stable=False)  # first: what comes meanwhile is no transaction
        stable = end_offsets(self._admin, places, _SECONDS, stable=True)
        return {place: offset for place, offset in stable.items() if offset < ends.get(place, 0)}

    # ------------------------------------------------------------ inside

    def _metadata(self, settings: Settings) -> Any:
        """All topics and brokers, asked for `_TRIES` times; only the error callback says why there is no answer.

        RefusedError: authentication failed. UnavailableError: no encrypted connection, or no answer.
        """
        last = ""
        for _ in range(_TRIES):
            try:
                return self._admin.list_topics(timeout=_TRY_SECONDS)
            except KafkaException as error:
                last = str(error.args[0].str())
            self._admin.poll(0)
            if self._refused:
                raise RefusedError(f"the broker at {settings.bootstrap} refuses us: {self._refused}")
            if self._untrusted:
                raise UnavailableError(f"no encrypted connection to {settings.bootstrap}: {self._untrusted}")
        raise UnavailableError(f"no broker answers at {settings.bootstrap}: {last}")

    def _note(self, error: KafkaError) -> None:
        if error.code() == KafkaError._AUTHENTICATION:
            self._refused = str(error.str())
        elif error.code() == KafkaError._SSL:
            self._untrusted = str(error.str())


def _config(answer: Any) -> dict[str, str]:
    """The settings of one topic; empty without the right to see them."""
    try:
        return {name: entry.value for name, entry in answer.result().items()}
    except KafkaException:
        return {}


def _facts(found: Any, config: Mapping[str, str]) -> TopicFacts:
    """The facts on a topic, from its description by the admin client and its settings.

    A leader of None or with an id below 0 means that the partition has no leader.
    """
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
