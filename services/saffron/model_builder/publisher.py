"""The publisher of models to the compacted topic `models`, and the newest epoch there."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from saffron.engine.models.reader import AnyModel, records
from saffron.errors import LogError
from saffron.model_builder.writer import Writer
from saffron.records.envelope import ModelError, unseal, version_of
from saffron.runtime.log import Log
from saffron.runtime.log.follower import content
from saffron.runtime.log.murmur2 import partition_of

_FLUSH_SECONDS = 30.0
_READ_SECONDS = 60.0
_MOST_BYTES = 16_000_000
"""Bytes of a record; the topic, and a producer, take 16 MiB."""

_LOG = logging.getLogger(__name__)


class Publisher:
    """The writer of models to a topic."""

    def __init__(self, log: Log, topic: str) -> None:
        self._log = log
        self._topic = topic
        self._writer = Writer(log, topic, client_id="model-builder", seconds=_FLUSH_SECONDS)

    def publish(self, models: Sequence[AnyModel]) -> None:
        """Write models, and return when the log has all. After a LogError it may have some: publish them all again.

        A model that is too large for the topic is left out, and logged: it must not hold up the others.
        """
        if not models:
            return
        partitions = self._log.partitions(self._topic)
        if partitions is None:
            raise LogError(f"topic {self._topic} is missing: `saffron up` creates all topics")
        found = []
        for model in models:
            made = records(model)
            if (largest := max(len(value) for _, value in made)) > _MOST_BYTES:
                _LOG.error("the model %s has %d bytes, more than %d, and is left out", made[0][0], largest, _MOST_BYTES)
                continue
            found += made
        self._writer.write((partition_of(key, partitions), key, value) for key, value in found)

    def close(self) -> None:
        self._writer.close()


def newest_epoch(log: Log, topic: str) -> int:
    """The greatest epoch of the models in the topic, -1 without any; LogError if it cannot be read to its end."""
    newest = -1
    deadline = time.monotonic() + _READ_SECONDS
    for batch in content(log, topic):
        newest = max([newest, *(_epoch(record.value) for record in batch)])
        if time.monotonic() > deadline:
            raise LogError(f"topic {topic} could not be read to its end within {_READ_SECONDS:g} s")
    return newest


def _epoch(value: bytes | None) -> int:
    """The epoch of a model's record; -1 for a tombstone or an unreadable record."""
    try:
        return -1 if value is None else version_of(unseal(value))[0]
    except ModelError:
        return -1
