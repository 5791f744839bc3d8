"""The publisher of models to the compacted topic `models`, and what the topic has: keys, and the newest epoch."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Mapping, Sequence

from saffron.engine.models.events.event_record import part_key
from saffron.engine.models.features.event_model import EVENTS
from saffron.engine.models.reader import AnyModel, records
from saffron.errors import LogError
from saffron.model_builder.writer import Writer
from saffron.records.envelope import ModelError, unseal, version_of
from saffron.runtime.log import Log, Record
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


class Published:
    """The reader of the models' keys: at the start, and when the topic was deleted and made anew.

    Meanwhile the builder knows what it wrote. Tombstones are its own too.
    """

    def __init__(self, log: Log, topic: str) -> None:
        self._log = log
        self._topic = topic
        self._id: str | None = None
        self._batch = -1
        self._keys: Collection[bytes] = ()

    def before(self, batch: int) -> Collection[bytes] | None:
        """The keys of the whole models in the topic, if they may be others than the books say; else None.

        A batch that is repeated gets the same answer. Raises LogError.
        """
        state = self._log.describe([self._topic]).get(self._topic)
        if state is not None and state.id != self._id:
            self._keys, self._id, self._batch = self._read(), state.id, batch
        return self._keys if batch == self._batch else None

    def _read(self) -> Collection[bytes]:
        """The keys of models whose records, the newest of each key, are all there and not broken."""
        held: dict[bytes, int] = {}
        for record in records_in(self._log, self._topic):
            key = record.key or b""
            held[key] = 0 if record.value is None else _parts(record.value)
        return frozenset(key for key, parts in held.items() if parts and _is_whole(key, parts, held))


def newest_epoch(log: Log, topic: str) -> int:
    """The greatest epoch of the models in the topic, -1 without any; LogError if it cannot be read to its end."""
    return max((_epoch(record.value) for record in records_in(log, topic)), default=-1)


def records_in(log: Log, topic: str) -> Iterator[Record]:
    """The records of a topic to its present end; LogError if it cannot be read to there."""
    deadline = time.monotonic() + _READ_SECONDS
    for batch in content(log, topic):
        yield from batch
        if time.monotonic() > deadline:
            raise LogError(f"topic {topic} could not be read to its end within {_READ_SECONDS:g} s")


def _epoch(value: bytes | None) -> int:
    """The epoch of a model's record; -1 for a tombstone or an unreadable record."""
    try:
        return -1 if value is None else version_of(unseal(value))[0]
    except ModelError:
        return -1


def _parts(value: bytes) -> int:
    """The number of records of a record's model; 0 for a broken one."""
    try:
        parts = unseal(value).get("parts", 1)
    except ModelError:
        return 0
    return parts if type(parts) is int and parts > 0 else 0


def _is_whole(key: bytes, parts: int, held: Mapping[bytes, int]) -> bool:
    """True if all parts of a model have this number of parts."""
    query, _, kind = key.decode(errors="replace").partition("/")
    return kind != EVENTS or all(held.get(part_key(query, number)) == parts for number in range(parts))
