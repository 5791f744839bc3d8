"""Models into the compacted `models` topic, and what stands there already."""

from __future__ import annotations

import time
from collections.abc import Sequence

from saffron.engine.models.envelope import ModelError, unseal, version_of
from saffron.engine.models.reader import AnyModel, records
from saffron.errors import LogError
from saffron.runtime.follower import Follower
from saffron.runtime.log import Log, Producer
from saffron.runtime.murmur2 import partition_of

_FLUSH_SECONDS = 30.0
_READ_SECONDS = 60.0
_LOOK = 0.05


class Publisher:
    """Writes models. A failed producer is not used again: the batch is done again with a new one."""

    def __init__(self, log: Log, topic: str) -> None:
        self._log = log
        self._topic = topic
        self._producer: Producer | None = None

    def publish(self, models: Sequence[AnyModel]) -> None:
        """Returns when the log has all of them. LogError: it may have some; publish the same ones again."""
        if not models:
            return
        partitions = self._log.partitions(self._topic)
        if partitions is None:
            raise LogError(f"topic {self._topic} is missing: `saffron up` creates all topics")
        producer = self._producer or self._log.producer(client_id="model-builder")
        self._producer = None
        try:
            for key, value in (record for model in models for record in records(model)):
                producer.send(self._topic, partition_of(key, partitions), value, key=key)
            producer.flush(_FLUSH_SECONDS)
        except LogError:
            producer.close()  # what it still has would come while the batch is done again
            raise
        self._producer = producer

    def close(self) -> None:
        if self._producer is not None:
            self._producer.close()
            self._producer = None


def newest_epoch(log: Log, topic: str) -> int:
    """The greatest epoch of the models in the topic, -1 if there are none. LogError: it cannot be read to its end."""
    follower = Follower(log, topic)
    newest = -1
    deadline = time.monotonic() + _READ_SECONDS
    try:
        while not follower.caught_up:
            records = follower.step()
            newest = max([newest, *(_epoch(record.value) for record in records)])
            if time.monotonic() > deadline:
                raise LogError(f"topic {topic} could not be read to its end within {_READ_SECONDS:g} s")
            if not records and not follower.caught_up:
                time.sleep(_LOOK)
    finally:
        follower.close()
    return newest


def _epoch(value: bytes | None) -> int:
    try:
        return -1 if value is None else version_of(unseal(value))[0]
    except ModelError:
        return -1
