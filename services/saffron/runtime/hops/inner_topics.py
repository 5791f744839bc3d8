"""Partition counts of internal topics: kept at least as high as those of the stream's topic."""

from __future__ import annotations

import logging

from saffron.errors import DeniedError, StreamError
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.log.topic_watch import missing_topic

_LOG = logging.getLogger(__name__)


def ensure_partition(log: Log, source: str, topic: str, partition: int) -> None:
    """Makes sure that the internal topic `topic` has partition number `partition`.

    Where it is missing, partitions are added until `topic` has as many as `source`. StreamError: the topic does not
    exist, the broker denies the change, or the partition has no leader.
    """
    try:
        have = log.partitions(topic)
    except DeniedError as error:
        raise StreamError(f"{error}: grant READ and WRITE on it") from error
    if have is None:
        raise StreamError(missing_topic(topic, is_source=False))
    if have > partition:
        if (state := log.describe([topic]).get(topic)) is not None:
            state.require(TopicPartition(topic, partition))
        return
    count = max(partition + 1, log.partitions(source) or 0)
    try:
        log.add_partitions(topic, count)
    except DeniedError as error:
        raise StreamError(
            f"{source} has {count} partitions, {topic} has {have}, and we may not add any ({error}): "
            f"kafka-topics --alter --topic {topic} --partitions {count}"
        ) from error
    _LOG.warning("topic %s has %d partitions now, as %s has; it had %d", topic, count, source, have)
