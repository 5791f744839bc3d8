"""A `Consumer` on librdkafka."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import confluent_kafka as ck
import numpy as np
from confluent_kafka import KafkaError, KafkaException

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.errors import LogError
from saffron.runtime.kafka_errors import denies, moving, passing, translate
from saffron.runtime.log import Committed, Record, TopicPartition
from saffron.runtime.traces import traces_of

_LOG = logging.getLogger("saffron.kafka")
_TIMEOUT = 10.0
_AGAIN = 0.05
_NO_TIME = 0
_HEADERS = ck.Message.headers

Callback = Callable[[list[TopicPartition]], None]


class KafkaConsumer:
    """Reads records. Seeks that come before librdkafka has started a partition are kept and done as soon as it has.

    `_starts`: where reading began, as long as nothing has come from there; `_ends`: the offset behind the last record.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._group = str(settings["group.id"])
        self._consumer = ck.Consumer(dict(settings))
        self._assigned: set[TopicPartition] = set()
        self._ends: dict[TopicPartition, int] = {}
        self._starts: dict[TopicPartition, int] = {}
        self._seeks: dict[TopicPartition, int] = {}
        self._resumes: set[TopicPartition] = set()
        self._abandoned = False

    # ------------------------------------------------------------ membership

    def subscribe(self, topics: Sequence[str], on_assign: Callback, on_revoke: Callback, on_lost: Callback) -> None:
        def assigned(consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
            consumer.assign(partitions)
            self._hold({TopicPartition(one.topic, one.partition) for one in partitions})
            on_assign(sorted(self._assigned))

        def gone(callback: Callback) -> Callable[[ck.Consumer, list[ck.TopicPartition]], None]:
            def drop(consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
                if not self._abandoned:
                    callback(sorted(TopicPartition(one.topic, one.partition) for one in partitions))
                self._hold(set())
                consumer.unassign()

            return drop

        self._consumer.subscribe(list(topics), on_assign=assigned, on_revoke=gone(on_revoke), on_lost=gone(on_lost))

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        self._hold(set(positions))
        self._starts.update(positions)
        self._consumer.assign([ck.TopicPartition(w.topic, w.partition, offset) for w, offset in positions.items()])

    def membership(self) -> Any:
        try:
            found = self._consumer.consumer_group_metadata()
        except RuntimeError as error:
            raise LogError(f"this consumer of group {self._group} is closed") from error
        if found is None:
            raise LogError("positions can only be committed by a member of a group")
        return found

    # ------------------------------------------------------------ reading

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        return [_record(message) for message in self._messages(max_records, timeout)]

    def poll_raw(self, max_records: int, timeout: float) -> list[tuple[TopicPartition, RawBatch]]:
        messages = self._messages(max_records, timeout)
        if not messages:
            return []
        if len(self._assigned) == 1:
            return [(next(iter(self._assigned)), _batch(messages))]
        split: dict[tuple[str, int], list[ck.Message]] = {}
        for message in messages:
            split.setdefault((message.topic(), message.partition()), []).append(message)
        return [(TopicPartition(*where), _batch(some)) for where, some in split.items()]

    def at_end(self, partition: TopicPartition) -> bool:
        return partition in self._ends

    def lag(self, partition: TopicPartition) -> int | None:
        if partition not in self._assigned:
            return None
        where = ck.TopicPartition(partition.topic, partition.partition)
        _, high = self._consumer.get_watermark_offsets(where, cached=True)
        position = self._ends.get(partition)
        if position is None:
            position = max(self._consumer.position([where])[0].offset, self._starts.get(partition, -1))
        return None if min(high, position) < 0 else max(0, high - position)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        if partition not in self._assigned:
            raise LogError(f"cannot seek in {partition}: it is not assigned to this consumer")
        self._ends.pop(partition, None)
        self._seeks[partition] = self._starts[partition] = offset
        self._finish_seeks()

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self._resumes.difference_update(partitions)
        self._consumer.pause([ck.TopicPartition(one.topic, one.partition) for one in partitions])

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self._resumes.update(one for one in partitions if one in self._seeks)
        ready = [ck.TopicPartition(one.topic, one.partition) for one in partitions if one not in self._seeks]
        if ready:
            self._consumer.resume(ready)

    def committed(self, partition: TopicPartition) -> Committed | None:
        where = [ck.TopicPartition(partition.topic, partition.partition)]
        try:
            found = self._consumer.committed(where, timeout=_TIMEOUT)[0]
        except KafkaException as error:
            raise translate(error, f"asking for the position of {_named(partition)} in group {self._group}") from error
        if found.error is not None:
            raise translate(found.error, f"asking for the position of {_named(partition)} in group {self._group}")
        return None if found.offset < 0 else Committed(found.offset, found.metadata or "")

    def watermarks(self, partition: TopicPartition) -> tuple[int, int]:
        where = ck.TopicPartition(partition.topic, partition.partition)
        until = time.monotonic() + _TIMEOUT
        while True:
            try:
                low, high = self._consumer.get_watermark_offsets(where, timeout=_TIMEOUT, cached=False)
                return int(low), int(high)
            except KafkaException as error:
                if not moving(error) or time.monotonic() > until:
                    raise translate(error, f"asking for the ends of {_named(partition)}") from error
            self._require_seen(partition)
            time.sleep(_AGAIN)

    def commit(self, positions: Mapping[TopicPartition, Committed]) -> None:
        try:
            self._consumer.commit(offsets=offsets_of(positions), asynchronous=False)
        except KafkaException as error:
            raise translate(error, f"committing positions of group {self._group}") from error

    def close(self) -> None:
        self._consumer.close()

    def abandon(self) -> None:
        """Leave the group, telling nobody; nothing where it is closed."""
        self._abandoned = True
        self._consumer.close()

    # ------------------------------------------------------------ inside

    def _require_seen(self, partition: TopicPartition) -> None:
        """DeniedError: it is known to nobody because it may not be seen."""
        try:
            found = self._consumer.list_topics(partition.topic, timeout=_TIMEOUT).topics
        except KafkaException as error:
            raise translate(error, f"asking for topic {partition.topic}") from error
        wrong = found[partition.topic].error if partition.topic in found else None
        if wrong is not None and denies(wrong):
            raise translate(wrong, f"asking for the ends of {_named(partition)}")

    def _hold(self, partitions: set[TopicPartition]) -> None:
        self._assigned = partitions
        self._ends.clear()
        self._starts.clear()
        self._seeks.clear()
        self._resumes.clear()

    def _messages(self, max_records: int, timeout: float) -> list[ck.Message]:
        """One message as soon as there is one, and what else is at hand (`consume` alone would wait to fill up)."""
        if self._seeks:
            self._finish_seeks()
            timeout = min(timeout, 0.005)
        first = self._consumer.poll(timeout)
        if first is None:
            return []
        messages = [first]
        if max_records > 1:
            messages += self._consumer.consume(max_records - 1, 0)
        if any(message.error() is not None for message in messages):
            # In order: an end is behind the messages that it ends.
            messages = [message for message in messages if self._good(message)]
        elif self._ends:
            for where in {TopicPartition(m.topic(), m.partition()) for m in messages}:
                self._ends.pop(where, None)
        if messages and self._seeks:
            messages = [m for m in messages if TopicPartition(m.topic(), m.partition()) not in self._seeks]
        return messages

    def _good(self, message: ck.Message) -> bool:
        error = message.error()
        if error is None:
            self._ends.pop(TopicPartition(message.topic(), message.partition()), None)
            return True
        if error.code() == KafkaError._PARTITION_EOF:
            self._ends[TopicPartition(message.topic(), message.partition())] = message.offset()
        elif passing(error):
            _LOG.warning("reading: %s; going on", error.str())
        else:
            raise translate(error, " ".join(filter(None, ("reading", message.topic(), "as group", self._group))))
        return False

    def _finish_seeks(self) -> None:
        for where, offset in list(self._seeks.items()):
            try:
                self._consumer.seek(ck.TopicPartition(where.topic, where.partition, offset))
            except KafkaException as error:
                if error.args[0].code() in (KafkaError._STATE, KafkaError._OUTDATED):
                    continue  # not started yet, or just being started: once more at the next poll
                raise translate(error, f"seeking to offset {offset} of {where}") from error
            del self._seeks[where]
            if where in self._resumes:
                self._resumes.discard(where)
                self._consumer.resume([ck.TopicPartition(where.topic, where.partition)])


def _named(partition: TopicPartition) -> str:
    return f"{partition.topic}/{partition.partition}"


def offsets_of(positions: Mapping[TopicPartition, Committed]) -> list[ck.TopicPartition]:
    """Positions in the client's own form."""
    return [ck.TopicPartition(w.topic, w.partition, c.offset, c.metadata) for w, c in positions.items()]


def _record(message: ck.Message) -> Record:
    kind, time = message.timestamp()
    return Record(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        timestamp=time if kind != _NO_TIME else -1,
        key=message.key(),
        value=message.value(),
        headers=tuple(message.headers() or ()),
    )


def _batch(messages: Sequence[ck.Message]) -> RawBatch:
    first, last = messages[0].offset(), messages[-1].offset()
    if last - first == len(messages) - 1:  # nothing between them: no need to ask each
        offsets = np.arange(first, last + 1, dtype=np.int64)
    else:
        offsets = np.array([message.offset() for message in messages], dtype=np.int64)
    times = np.array([message.timestamp()[1] for message in messages], dtype=np.int64)
    batch = batch_of_values([message.value() for message in messages], offsets, times)
    if any(map(_HEADERS, messages)):
        return replace(batch, traces=traces_of([message.headers() for message in messages]))
    return batch
