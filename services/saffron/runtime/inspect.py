"""Looks at a cluster without changing anything: what `saffron doctor` asks of Kafka."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

from saffron.errors import UnavailableError
from saffron.runtime import kafka_settings
from saffron.runtime.config import Settings

_SECONDS = 10.0


class Inspector:
    """One look at the cluster that the settings name."""

    def __init__(self, settings: Settings) -> None:
        """UnavailableError: no broker answers."""
        self._admin = AdminClient(kafka_settings.base(kafka_settings.cluster_of(settings), "doctor"))
        try:
            found = self._admin.list_topics(timeout=_SECONDS)
        except KafkaException as error:
            raise UnavailableError(f"no broker answers at {settings.bootstrap}: {error.args[0].str()}") from error
        self.brokers = len(found.brokers)
        self.topics: Mapping[str, int] = {
            name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None
        }

    def configs(self, topics: Sequence[str]) -> dict[str, dict[str, str]]:
        """Settings of each topic, defaults included."""
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
        if not resources:
            return {}
        asked = self._admin.describe_configs(resources, request_timeout=_SECONDS)
        return {
            one.name: {name: entry.value for name, entry in answer.result().items()} for one, answer in asked.items()
        }

    def lag(self, group: str, topic: str) -> int | None:
        """Messages of `topic` that `group` has not committed; None if it never committed a position."""
        partitions = [TopicPartition(topic, one) for one in range(self.topics.get(topic, 0))]
        wanted = ConsumerGroupTopicPartitions(group, partitions)
        committed = self._admin.list_consumer_group_offsets([wanted])[group].result().topic_partitions
        known = {one.partition: one.offset for one in committed if one.offset >= 0}
        if not known:
            return None
        ends = self._admin.list_offsets({one: OffsetSpec.latest() for one in partitions}, request_timeout=_SECONDS)
        return int(sum(max(0, end.result().offset - known.get(one.partition, 0)) for one, end in ends.items()))
