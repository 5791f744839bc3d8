"""The ends of partitions, all in one request to each broker."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, OffsetSpec

from saffron.runtime.log import TopicPartition


def end_offsets(
    admin: AdminClient, partitions: Iterable[TopicPartition], timeout: float, *, stable: bool
) -> dict[TopicPartition, int]:
    """The end offsets of those partitions that have a leader, and that we may see. `stable`: of the stable records."""
    places = {Place(one.topic, one.partition): OffsetSpec.latest() for one in partitions}
    if not places:
        return {}
    level = IsolationLevel.READ_COMMITTED if stable else IsolationLevel.READ_UNCOMMITTED
    found = {}
    for one, answer in admin.list_offsets(places, isolation_level=level, request_timeout=timeout).items():
        try:
            found[TopicPartition(one.topic, one.partition)] = int(answer.result().offset)
        except KafkaException:
            continue
    return found
