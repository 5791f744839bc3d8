"""Inner topics follow the stream's topic: they get as many partitions, where we have the right to add them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from saffron.errors import DeniedError, StreamError
from saffron.runtime.log import Log

_LOG = logging.getLogger(__name__)


def grow(log: Log, source: str, inner: Sequence[str], partition: int) -> None:
    """See that each of the topics `inner` has this partition, else as many as `source` has.

    StreamError: one is missing, or may not be changed.
    """
    for topic in inner:
        have = log.partitions(topic)
        if have is None:
            raise StreamError(f"topic {topic} is not there: make it again, or remove its stream")
        if have > partition:
            continue
        count = max(partition + 1, log.partitions(source) or 0)
        try:
            log.add_partitions(topic, count)
        except DeniedError as error:
            raise StreamError(
                f"{source} has {count} partitions, {topic} has {have}, and we may not add any ({error}): "
                f"kafka-topics --alter --topic {topic} --partitions {count}"
            ) from error
        _LOG.warning("topic %s has %d partitions now, as %s has; it had %d", topic, count, source, have)
