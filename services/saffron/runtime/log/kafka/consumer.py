"""The `Consumer` on librdkafka.

librdkafka is given a partition once the offset to begin at is known. Until then it would read at an offset that may be
gone, or ask a broker where the partition begins. If the answer comes after the seek, librdkafka stops reading for good,
or goes back. Each message is also compared with the offset that comes next, so that none is returned twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import lt
from time import perf_counter
from typing import TYPE_CHECKING, Any

import confluent_kafka as ck
from confluent_kafka import KafkaError, KafkaException

from saffron.errors import LogError
from saffron.runtime.log import Committed, OutOfRange, Record, TopicPartition
from saffron.runtime.log.kafka import librdkafka_settings, partition_facts
from saffron.runtime.log.kafka.errors import is_transient, translate
from saffron.runtime.log.kafka.messages import offsets_of, record_of

if TYPE_CHECKING:
    from saffron.engine.events.raw import RawBatch

_LOG = logging.getLogger("saffron.kafka")
_ERROR, _OFFSET = ck.Message.error, ck.Message.offset
_WAKE_SECONDS = 0.5
_IN_CACHE = 500
"""Messages that are made into columns at a time, while the processor's cache holds them: a fifth faster than 2,000."""

Callback = Callable[[list[TopicPartition]], None]


@dataclass
class Waiting:
    """The time (s) that consumers have waited for messages."""

    seconds: float = 0.0


class KafkaConsumer:
    """Reads records. Seeks are done by the next poll.

    `_next`: the lowest offsets that may come next, of partitions sought or read. `_given`: the partitions that
    librdkafka has. `_seeks`: those whose next offset it does not know yet. `_ends`: end offsets of partitions read to
    the end. `_denied`: see `Consumer.denied`; None without a subscription.
    """

    def __init__(self, settings: Mapping[str, Any], waiting: Waiting) -> None:
        self._waiting = waiting
        self._group = str(settings["group.id"])
        self._consumer = librdkafka_settings.client(ck.Consumer, settings)
        self._assigned: set[TopicPartition] = set()
        self._ends: dict[TopicPartition, int] = {}
        self._next: dict[TopicPartition, int] = {}
        self._given: set[TopicPartition] = set()
        self._seeks: set[TopicPartition] = set()
        self._paused: set[TopicPartition] = set()
        self._out_of_range: dict[TopicPartition, OutOfRange] = {}
        self._denied: set[str] | None = None
        self._membership: Any = None
        self._abandoned = False

    # ------------------------------------------------------------ membership

    def subscribe(self, topics: Sequence[str], on_assign: Callback, on_revoke: Callback, on_lost: Callback) -> None:
        """Joins the group. librdkafka is given no partition until the first poll after a seek.

        After `abandon` the callbacks for partitions that go are not called.
        """

        def assigned(consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
            consumer.assign([])
            self._set_assignment({TopicPartition(one.topic, one.partition) for one in partitions})
            on_assign(sorted(self._assigned))

        def gone(callback: Callback) -> Callable[[ck.Consumer, list[ck.TopicPartition]], None]:
            def drop(consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
                if not self._abandoned:
                    callback(sorted(TopicPartition(one.topic, one.partition) for one in partitions))
                self._set_assignment(set())
                consumer.unassign()

            return drop

        self._denied = (self._denied or set()) & set(topics)
        self._consumer.subscribe(list(topics), on_assign=assigned, on_revoke=gone(on_revoke), on_lost=gone(on_lost))

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        self._set_assignment(set(positions))
        self._next.update(positions)
        self._give()

    def membership(self) -> Any:
        if self._membership is None:  # it waits for librdkafka's thread, and changes only with the assignment
            try:
                self._membership = self._consumer.consumer_group_metadata()
            except RuntimeError as error:
                raise LogError(f"this consumer of group {self._group} is closed") from error
        if self._membership is None:
            raise LogError("positions can only be committed by a member of a group")
        return self._membership

    # ------------------------------------------------------------ reading

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        found = self._messages(max_records, timeout)
        return [record_of(message) for messages in found.values() for message in messages]

    def poll_raw(
        self, max_records: int, timeout: float, *, fill: bool = False
    ) -> list[tuple[TopicPartition, RawBatch]]:
        """Polls a few hundred messages at a time, and joins their columns by partition at the end.

        Only the first of these polls waits: with `fill` until it has its few hundred, or for `timeout`. A new
        assignment drops what was polled before it.
        """
        from saffron.engine.events.raw import joined

        found: dict[TopicPartition, list[RawBatch]] = {}
        left = max_records
        while left > 0:
            assigned = self._assigned
            some = self._batches(min(left, _IN_CACHE), timeout, fill=fill)
            if self._assigned is not assigned:
                found.clear()  # the next owner reads them again
            for where, batch in some:
                found.setdefault(where, []).append(batch)
            count = sum(len(batch) for _, batch in some)
            left = left - count if count == _IN_CACHE else 0
            timeout, fill = 0.0, False
        return [(where, joined(batches)) for where, batches in found.items()]

    def _batches(self, max_records: int, timeout: float, *, fill: bool) -> list[tuple[TopicPartition, RawBatch]]:
        found = self._messages(max_records, timeout, fill=fill)
        if not found:
            return []
        from saffron.runtime.log.kafka.batches import batch_of

        return [(where, batch_of(messages)) for where, messages in found.items()]

    def at_end(self, partition: TopicPartition) -> bool:
        return partition in self._ends

    def has_read(self, partition: TopicPartition, end: int) -> bool:
        return self._ends.get(partition, -1) >= end

    def lag(self, partition: TopicPartition) -> int | None:
        if partition not in self._assigned:
            return None
        where = ck.TopicPartition(partition.topic, partition.partition)
        _, high = self._consumer.get_watermark_offsets(where, cached=True)
        position = self._ends.get(partition, self._next.get(partition, -1))
        return None if min(high, position) < 0 else max(0, high - position)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        if partition not in self._assigned:
            raise LogError(f"cannot seek in {partition}: it is not assigned to this consumer")
        self._ends.pop(partition, None)
        self._next[partition] = offset
        self._seeks.add(partition)

    def out_of_range(self) -> Mapping[TopicPartition, OutOfRange]:
        out_of_range, self._out_of_range = self._out_of_range, {}
        return out_of_range

    def denied(self) -> Collection[str]:
        return frozenset(self._denied or ())

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        self._paused.update(partitions)
        self._consumer.pause(_places(self._given.intersection(partitions)))

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self._paused.difference_update(partitions)
        self._resume(self._given.intersection(partitions) - self._seeks)

    def committed(self, partition: TopicPartition) -> Committed | None:
        return partition_facts.committed(self._consumer, self._group, partition)

    def watermarks(self, partition: TopicPartition) -> tuple[int, int]:
        return partition_facts.watermarks(self._consumer, partition)

    def offset_at(self, partition: TopicPartition, time: int) -> int:
        return partition_facts.offset_at(self._consumer, partition, time)

    def commit(self, positions: Mapping[TopicPartition, Committed]) -> None:
        try:
            self._consumer.commit(offsets=offsets_of(positions), asynchronous=False)
        except KafkaException as error:
            raise translate(error, f"committing positions of group {self._group}") from error

    def close(self) -> None:
        self._consumer.close()
        self._membership = None

    def abandon(self) -> None:
        """Leaves the group without callbacks. No effect on a closed consumer."""
        self._abandoned = True
        self.close()

    # ------------------------------------------------------------ inside

    def _set_assignment(self, partitions: set[TopicPartition]) -> None:
        self._assigned = partitions
        self._membership = None
        self._ends.clear()
        self._next.clear()
        self._given.clear()
        self._seeks.clear()
        self._paused.clear()
        self._out_of_range.clear()

    def _messages(
        self, max_records: int, timeout: float, *, fill: bool = False
    ) -> dict[TopicPartition, list[ck.Message]]:
        """The next messages by partition: returns with the first one and all others already fetched.

        `fill`: returns with `max_records`, or once `timeout` is over.
        """
        if self._seeks:
            self._do_seeks()
        assigned = self._assigned
        messages = self._wait(max_records, timeout, fill=fill)
        if not fill and messages and max_records > 1:
            messages += self._consumer.consume(max_records - 1, 0)
        if self._assigned is not assigned:  # by a callback meanwhile: records are of the assignment before
            messages = list(filter(_ERROR, messages))
        if any(map(_ERROR, messages)):
            # In order, since an end comes after the messages before it.
            messages = [message for message in messages if self._is_record(message)]
            split = self._split(messages)
        else:
            split = self._split(messages)
            for where in split:
                self._ends.pop(where, None)
        if self._denied:
            self._denied -= {where.topic for where in split}
        return {where: unread for where, some in split.items() if (unread := self._unread(where, some))}

    def _split(self, messages: list[ck.Message]) -> dict[TopicPartition, list[ck.Message]]:
        """The messages by partition."""
        if len(self._assigned) == 1:
            return {where: messages for where in self._assigned if messages}
        found: dict[tuple[str, int], list[ck.Message]] = {}
        for message in messages:
            found.setdefault((message.topic(), message.partition()), []).append(message)
        return {TopicPartition(*where): some for where, some in found.items()}

    def _unread(self, where: TopicPartition, messages: list[ck.Message]) -> list[ck.Message]:
        """The messages of a partition without those that librdkafka went back to."""
        offsets = list(map(_OFFSET, messages))
        if offsets[0] >= self._next[where] and all(map(lt, offsets, offsets[1:])):
            self._next[where] = offsets[-1] + 1
            return messages
        return self._ahead(where, messages)

    def _ahead(self, where: TopicPartition, messages: list[ck.Message]) -> list[ck.Message]:
        """The messages at and behind the offset that comes next. Seeks it again where the last one lies before it."""
        start = self._next[where]
        found: list[ck.Message] = []
        for message in messages:
            if message.offset() >= start:
                found.append(message)
                start = message.offset() + 1
        self._next[where] = start
        back = messages[-1].offset()
        if back < start - 1:
            _LOG.info("reading: Kafka's client went back to offset %d of %s; reading on at %d", back, where, start)
            self._seeks.add(where)
        return found

    def _wait(self, max_records: int, timeout: float, *, fill: bool) -> list[ck.Message]:
        """The first message, if there is one within `timeout`; `fill`: see `_messages`."""
        began = perf_counter() if timeout > 0 else 0.0
        messages: list[ck.Message]
        if fill:
            messages = self._consumer.consume(max_records, timeout)
        else:
            first = self._consumer.poll(timeout)
            messages = [] if first is None else [first]
        if timeout > 0:
            self._waiting.seconds += perf_counter() - began
        return messages

    def _is_record(self, message: ck.Message) -> bool:
        """True for a record. Else notes what the message says: end, missing right, or offset out of range.

        LogError: an error that does not pass by itself.
        """
        error, where = message.error(), TopicPartition(message.topic(), message.partition())
        if error is None:
            self._ends.pop(where, None)
            return True
        if error.code() == KafkaError._PARTITION_EOF:
            if where in self._given:
                self._ends[where] = message.offset()
            if self._denied:
                self._denied.discard(message.topic())
        elif error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED and self._denied is not None:
            if message.topic() not in self._denied:
                _LOG.error("%s", translate(error, f"reading {message.topic()} as group {self._group}"))
            self._denied.add(message.topic())
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            self._begin_again(where, message.offset())
        elif is_transient(error):
            _LOG.warning("reading: %s; going on", error.str())
        else:
            doing = " ".join(filter(None, ("reading", message.topic(), "as group", self._group)))
            raise translate(error, doing, read=message.topic() or "")
        return False

    def _begin_again(self, where: TopicPartition, missing: int) -> None:
        """Has a partition read on that librdkafka has stopped reading, since there was no record at an offset.

        It goes on at the first record, unless another offset was sought meanwhile, or the record is there now.
        """
        if where not in self._given:
            return  # it was assigned before
        if missing == self._next[where]:
            first, end = self.watermarks(where)
            if not first <= missing <= end:
                self._next[where] = first
                self._out_of_range[where] = OutOfRange(missing, first)
        self._seeks.add(where)

    def _do_seeks(self) -> None:
        if all(map(self._is_sought, self._seeks)):
            self._resume(self._seeks - self._paused)
        else:
            self._give()
        self._seeks.clear()

    def _is_sought(self, where: TopicPartition) -> bool:
        """Seeks the offset that comes next. False if librdkafka does not have the partition, or does not read it."""
        if where not in self._given:
            return False
        offset = self._next[where]
        try:
            self._consumer.seek(ck.TopicPartition(where.topic, where.partition, offset))
        except KafkaException as error:
            if error.args[0].code() not in (KafkaError._STATE, KafkaError._OUTDATED):
                raise translate(error, f"seeking to offset {offset} of {where}") from error
            return False
        return True

    def _give(self) -> None:
        """Gives librdkafka all partitions with the offset that comes next. It fetches again what was not returned."""
        self._given = set(self._next)
        self._consumer.assign([ck.TopicPartition(w.topic, w.partition, offset) for w, offset in self._next.items()])
        self._consumer.pause(_places(self._given & self._paused))
        self._consumer.resume(_places(self._given - self._paused))

    def _resume(self, partitions: Collection[TopicPartition]) -> None:
        if not partitions:
            return
        resumed = _places(partitions)
        self._consumer.resume(resumed)
        if self._given <= self._paused.union(partitions):
            self._wake(resumed)

    def _wake(self, partitions: Sequence[ck.TopicPartition]) -> None:
        """Has librdkafka fetch at once: its thread, which had nothing to do, sleeps for a second or until a request."""
        for one in partitions:
            with suppress(KafkaException):
                self._consumer.get_watermark_offsets(one, timeout=_WAKE_SECONDS, cached=False)


def _places(partitions: Collection[TopicPartition]) -> list[ck.TopicPartition]:
    return [ck.TopicPartition(one.topic, one.partition) for one in partitions]
