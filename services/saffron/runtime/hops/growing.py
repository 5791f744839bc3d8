"""Inner topics follow the stream's topic: they get as many partitions, where we have the right to add them."""

from __future__ import annotations

import logging

from saffron.errors import DeniedError, StreamError
from saffron.runtime.log import Log

_LOG = logging.getLogger(__name__)


def grow(log: Log, source: str, topic: str, partition: int) -> None:
    """See that the inner topic `topic` has this partition, else as many as `source` has.

    StreamError: it is missing, or may not be changed.
    """
    have = log.partitions(topic)
    if have is None:
        raise StreamError(f"topic {topic} is not there: make it again, or remove its stream")
    if have > partition:
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
