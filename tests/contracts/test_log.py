"""One contract for every `Log`: what the services rely on, asked of Kafka and of its in-memory twin alike."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from saffron.errors import AbortableError, FencedError, LogError
from saffron.runtime.log import Committed, Consumer, Log, OutOfRange, Producer, Record, TopicPartition, TopicSpec
from saffron.runtime.log.kafka_log import KafkaLog
from saffron.runtime.log.kafka_settings import Cluster
from saffron.runtime.log.murmur2 import partition_of
from saffron.testing.memory_broker import MemoryBroker
from saffron.testing.memory_log import MemoryLog

_PATIENCE = 20.0


class Operator(Protocol):
    """Who works on the cluster by other tools than ours."""

    def delete(self, topic: str) -> None: ...

    def trim(self, where: TopicPartition, offset: int) -> None:
        """Retention: forget the records before `offset`."""

    def forget(self, group: str) -> None:
        """Delete a group that has no members, and its positions."""


class KafkaTools:
    """An `Operator` of a cluster."""

    def __init__(self, broker: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": broker})

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic], operation_timeout=20)[topic].result()

    def trim(self, where: TopicPartition, offset: int) -> None:
        place = confluent_kafka.TopicPartition(where.topic, where.partition, offset)
        self._admin.delete_records([place])[place].result()

    def forget(self, group: str) -> None:
        self._admin.delete_consumer_groups([group], request_timeout=20)[group].result()


@dataclass
class Subject:
    """A log under test; `another` is a second process's connection to the same cluster."""

    log: Log
    another: Callable[[], Log]
    prefix: str
    operator: Operator
    names: Iterator[int] = field(default_factory=itertools.count)

    def topic(self, partitions: int = 1) -> str:
        name = f"{self.prefix}topic{next(self.names)}"
        assert self.log.create_topics([TopicSpec(name, partitions, {})]) == [name]
        return name

    def name(self) -> str:
        return f"{self.prefix}id{next(self.names)}"

    def reader(self, topic: str, *, committed_only: bool = True, partitions: int = 1) -> Consumer:
        consumer = self.log.consumer(self.name(), committed_only=committed_only)
        consumer.assign({TopicPartition(topic, index): 0 for index in range(partitions)})
        return consumer


@pytest.fixture
def memory(prefix: str) -> Iterator[Subject]:
    clock = itertools.count(1_000)
    broker = MemoryBroker(lambda: next(clock))
    log = MemoryLog(broker)
    yield Subject(log, lambda: MemoryLog(broker), prefix, broker)
    log.close()


@pytest.fixture
def kafka(broker: str, prefix: str) -> Iterator[Subject]:
    log = KafkaLog(Cluster(broker))
    yield Subject(log, lambda: KafkaLog(Cluster(broker)), prefix, KafkaTools(broker))
    log.close()


@pytest.fixture(params=["memory", pytest.param("kafka", marks=pytest.mark.kafka)])
def subject(request: pytest.FixtureRequest) -> Subject:
    found: Subject = request.getfixturevalue(request.param)
    return found


def take(consumer: Consumer, count: int) -> list[Record]:
    """The next `count` records; fails when they do not come."""
    found: list[Record] = []
    deadline = time.monotonic() + _PATIENCE
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records came"
        found += consumer.poll(count - len(found), 0.05)
    return found


def drain(consumer: Consumer, *partitions: TopicPartition) -> list[Record]:
    """Everything up to the end."""
    found: list[Record] = []
    deadline = time.monotonic() + _PATIENCE
    while True:
        records = consumer.poll(100, 0.05)
        found += records
        if not records and all(consumer.at_end(where) for where in partitions):
            return found
        assert time.monotonic() < deadline, "the end never came"


def values(records: list[Record]) -> list[bytes | None]:
    return [record.value for record in records]


def transaction(producer: Producer, topic: str, *bodies: bytes) -> None:
    producer.begin()
    for body in bodies:
        producer.send(topic, 0, body)


def test_records_come_back_in_order_with_key_headers_and_time(subject: Subject) -> None:
    topic = subject.topic()
    producer = subject.log.producer()
    producer.send(topic, 0, b"one", key=b"k", headers=[("h", b"1"), ("h2", b"")], timestamp=1_700_000_000_123)
    producer.send(topic, 0, None, key=b"gone")
    producer.flush(10)
    first, second = take(subject.reader(topic), 2)
    assert (first.offset, first.key, first.value, first.timestamp) == (0, b"k", b"one", 1_700_000_000_123)
    assert first.headers == (("h", b"1"), ("h2", b""))
    assert (second.offset, second.key, second.value, second.headers) == (1, b"gone", None, ())


def test_topics_are_created_once_and_must_be_wide_enough(subject: Subject) -> None:
    topic = subject.topic(partitions=2)
    assert subject.log.partitions(topic) == 2
    assert subject.log.partitions(topic + "x") is None
    assert subject.log.create_topics([TopicSpec(topic, 2, {})]) == []
    with pytest.raises(LogError, match="has 2 partitions, 3 are needed"):
        subject.log.create_topics([TopicSpec(topic, 3, {})])


def test_keys_are_spread_by_murmur2_as_every_other_client_does(subject: Subject) -> None:
    topic = subject.topic(partitions=5)
    keys = [f"key{number}".encode() for number in range(50)] + [b"", b"a", "ü€".encode()]
    producer = subject.log.producer(bulk=True)
    producer.send_many(topic, [{"value": key, "key": key} for key in keys])
    producer.flush(10)
    found = take(subject.reader(topic, partitions=5), len(keys))
    assert {record.key: record.partition for record in found} == {key: partition_of(key, 5) for key in keys}


def test_murmur2_is_that_of_librdkafka() -> None:
    draw = random.Random(1)
    for length in range(40):
        key = draw.randbytes(length)
        assert partition_of(key, 1009) == confluent_kafka.murmur2(key, 1009)


def test_many_records_are_sent_and_read_as_batches(subject: Subject) -> None:
    topic = subject.topic()
    producer = subject.log.producer(bulk=True)
    bodies = [b"%d" % number for number in range(5_000)]
    producer.send_many(topic, [{"value": body} for body in bodies], 0)
    producer.flush(10)
    reader = subject.reader(topic)
    found: list[bytes] = []
    deadline = time.monotonic() + _PATIENCE
    while len(found) < len(bodies) and time.monotonic() < deadline:
        for where, batch in reader.poll_raw(700, 0.05):
            assert where == TopicPartition(topic, 0)
            assert batch.offsets.tolist() == list(range(len(found), len(found) + len(batch)))
            assert batch.times is not None
            assert min(batch.times) > 0
            found += [batch.value(row) for row in range(len(batch))]
    assert found == bodies


def test_batches_have_the_trace_context_of_messages_that_have_any(subject: Subject) -> None:
    topic = subject.topic()
    parent = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    producer = subject.log.producer()
    for headers in ([], [("traceparent", parent), ("tracestate", b"v=1"), ("other", b"\xff")], [("other", b"1")]):
        producer.send(topic, 0, b"{}", headers=headers)
    producer.flush(10)
    reader = subject.reader(topic)
    found: list[str | None] = []
    deadline = time.monotonic() + _PATIENCE
    while len(found) < 3 and time.monotonic() < deadline:
        for _, batch in reader.poll_raw(10, 0.05):
            found += [None] * len(batch) if batch.traces is None else batch.traces
    assert found == [None, parent.decode() + "\nv=1", None]


def test_a_reader_seeks_pauses_resumes_and_knows_the_end(subject: Subject) -> None:
    topic = subject.topic(partitions=2)
    producer = subject.log.producer()
    for number in range(6):
        producer.send(topic, number % 2, b"%d" % number)
    producer.flush(10)
    zero, one = TopicPartition(topic, 0), TopicPartition(topic, 1)
    reader = subject.reader(topic, partitions=2)
    assert reader.watermarks(zero) == (0, 3)
    reader.pause([one])
    assert values(drain(reader, zero)) == [b"0", b"2", b"4"]
    reader.seek(zero, 2)
    reader.resume([one])
    assert sorted(values(drain(reader, zero, one)), key=str) == [b"1", b"3", b"4", b"5"]


def test_the_lag_is_what_there_is_beyond_what_was_handed_out(subject: Subject) -> None:
    topic = subject.topic(partitions=2)
    producer = subject.log.producer(subject.name())
    transaction(producer, topic, b"0", b"1", b"2", b"3")
    producer.commit()
    zero, one = TopicPartition(topic, 0), TopicPartition(topic, 1)
    reader = subject.reader(topic, partitions=2)
    assert reader.lag(TopicPartition(topic + "x", 0)) is None, "not assigned"
    assert len(take(reader, 3)) == 3
    assert reader.lag(zero) == 2, "a record, and the marker of the transaction"
    drain(reader, zero, one)
    assert (reader.lag(zero), reader.lag(one)) == (0, 0)
    reader.seek(zero, 1)
    assert reader.lag(zero) == 4
    take(reader, 1)
    assert reader.lag(zero) == 3


def test_an_aborted_transaction_is_never_seen_by_a_committed_reader(subject: Subject) -> None:
    topic = subject.topic()
    producer = subject.log.producer(subject.name())
    transaction(producer, topic, b"a", b"b")
    producer.commit()
    transaction(producer, topic, b"lost")
    producer.abort()
    transaction(producer, topic, b"c")
    producer.commit()
    found = drain(subject.reader(topic), TopicPartition(topic, 0))
    assert values(found) == [b"a", b"b", b"c"]
    assert found[-1].offset > 2, "markers take offsets"


def test_an_open_transaction_holds_back_committed_readers_only(subject: Subject) -> None:
    topic = subject.topic()
    plain = subject.log.producer()
    producer = subject.log.producer(subject.name())
    transaction(producer, topic, b"open")
    producer.flush(10)
    plain.send(topic, 0, b"behind")
    plain.flush(10)
    assert values(take(subject.reader(topic, committed_only=False), 2)) == [b"open", b"behind"]
    reader = subject.reader(topic)
    assert drain(reader, TopicPartition(topic, 0)) == []
    producer.commit()
    assert values(take(reader, 2)) == [b"open", b"behind"]


def test_a_successor_ends_the_open_transaction_and_fences_its_owner(subject: Subject) -> None:
    topic, name = subject.topic(), subject.name()
    old = subject.log.producer(name)
    transaction(old, topic, b"zombie")
    old.flush(10)
    new = subject.another().producer(name)
    transaction(new, topic, b"heir")
    new.commit()
    with pytest.raises((FencedError, AbortableError)):
        old.commit()
    assert values(drain(subject.reader(topic), TopicPartition(topic, 0))) == [b"heir"]


def member(subject: Subject, log: Log, group: str, topic: str, held: set[TopicPartition]) -> Consumer:
    """A member that keeps book of its partitions in `held`."""
    consumer = log.consumer(group, committed_only=True)
    consumer.subscribe([topic], held.update, held.difference_update, held.difference_update)
    return consumer


def until(condition: Callable[[], bool], *consumers: Consumer) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        for consumer in consumers:
            consumer.poll(10, 0.05)


def test_positions_and_results_become_visible_together(subject: Subject) -> None:
    source, target, group = subject.topic(), subject.topic(), subject.name()
    where = TopicPartition(source, 0)
    held: set[TopicPartition] = set()
    consumer = member(subject, subject.log, group, source, held)
    until(lambda: where in held, consumer)
    assert consumer.committed(where) is None
    producer = subject.log.producer(subject.name())
    transaction(producer, target, b"result")
    producer.send_offsets({where: Committed(7, '{"index":3}')}, consumer.membership())
    producer.commit()
    assert consumer.committed(where) == Committed(7, '{"index":3}')
    transaction(producer, target, b"never")
    producer.send_offsets({where: Committed(9)}, consumer.membership())
    producer.abort()
    assert consumer.committed(where) == Committed(7, '{"index":3}')
    assert values(drain(subject.reader(target), TopicPartition(target, 0))) == [b"result"]
    consumer.close()


def test_a_member_reads_from_where_it_seeks_and_else_from_the_earliest(subject: Subject) -> None:
    topic, group = subject.topic(), subject.name()
    where = TopicPartition(topic, 0)
    producer = subject.log.producer()
    for number in range(4):
        producer.send(topic, 0, b"%d" % number)
    producer.flush(10)
    first = member(subject, subject.log, group, topic, set())
    assert values(take(first, 4)) == [b"0", b"1", b"2", b"3"]
    first.commit({where: Committed(2)})
    first.close()
    held: set[TopicPartition] = set()
    second = member(subject, subject.another(), group, topic, held)
    until(lambda: where in held, second)
    found = second.committed(where)
    assert found is not None
    second.seek(where, found.offset)
    assert values(take(second, 2)) == [b"2", b"3"]
    second.close()


def test_partitions_are_shared_among_members_and_come_back_when_one_leaves(subject: Subject) -> None:
    topic, group = subject.topic(partitions=4), subject.name()
    everything = {TopicPartition(topic, index) for index in range(4)}
    mine: set[TopicPartition] = set()
    yours: set[TopicPartition] = set()
    first = member(subject, subject.log, group, topic, mine)
    until(lambda: mine == everything, first)
    second = member(subject, subject.another(), group, topic, yours)
    until(lambda: len(mine) == 2 and mine | yours == everything, first, second)
    second.close()
    until(lambda: mine == everything, first)
    first.close()


def test_a_log_that_is_closed_takes_its_members_along_and_calls_nobody_back(subject: Subject) -> None:
    """So that a service that is made anew finds its partitions free, and not with what it was before."""
    topic, group = subject.topic(), subject.name()
    before, after = subject.another(), subject.another()
    told: list[str] = []

    def joined(log: Log) -> tuple[Consumer, list[TopicPartition]]:
        mine: list[TopicPartition] = []
        consumer = log.consumer(group, committed_only=True)

        def gone(_: list[TopicPartition]) -> None:
            told.append("gone")

        consumer.subscribe([topic], mine.extend, gone, gone)
        deadline = time.monotonic() + _PATIENCE
        while not mine:
            consumer.poll(10, 0.05)
            assert time.monotonic() < deadline, "no partition came"
        return consumer, mine

    joined(before)
    before.close()
    began = time.monotonic()
    joined(after)
    assert time.monotonic() - began < 5.0, "its session had to time out"
    assert told == []
    after.close()


def test_a_position_from_a_member_that_has_left_is_refused(subject: Subject) -> None:
    topic, group = subject.topic(), subject.name()
    where = TopicPartition(topic, 0)
    mine: set[TopicPartition] = set()
    yours: set[TopicPartition] = set()
    first = member(subject, subject.log, group, topic, mine)
    until(lambda: where in mine, first)
    producer = subject.log.producer(subject.name())
    transaction(producer, topic, b"late")
    membership = first.membership()
    first.close()
    second = member(subject, subject.another(), group, topic, yours)
    until(lambda: where in yours, second)
    with pytest.raises(LogError):
        producer.send_offsets({where: Committed(1)}, membership)
    with pytest.raises(LogError):
        first.membership()
    second.close()


def test_a_partition_can_be_sought_right_after_it_is_assigned(subject: Subject) -> None:
    """The shells do so on every take-over."""
    topic, group = subject.topic(), subject.name()
    where = TopicPartition(topic, 0)
    producer = subject.log.producer()
    for number in range(100):
        producer.send(topic, 0, b"%d" % number)
    producer.flush(10)
    consumer = subject.log.consumer(group, committed_only=True)

    def assigned(partitions: list[TopicPartition]) -> None:
        consumer.pause(partitions)
        consumer.seek(where, 90)
        consumer.resume(partitions)

    consumer.subscribe([topic], assigned, lambda gone: None, lambda gone: None)
    assert values(take(consumer, 10)) == [b"%d" % number for number in range(90, 100)]
    consumer.close()


def fill(subject: Subject, topic: str, *bodies: bytes) -> None:
    producer = subject.log.producer()
    for body in bodies:
        producer.send(topic, 0, body)
    producer.flush(10)


def test_a_topic_that_is_made_anew_has_another_id(subject: Subject) -> None:
    topic, other = subject.topic(partitions=2), subject.topic()
    before = subject.log.describe([topic, other, topic + "x"])
    assert {name: state.partitions for name, state in before.items()} == {topic: 2, other: 1}
    subject.operator.delete(topic)
    until(lambda: topic not in subject.log.describe([topic]))
    assert subject.log.partitions(topic) is None
    subject.log.create_topics([TopicSpec(topic, 2, {})])
    after = subject.log.describe([topic, other])
    assert after[other] == before[other]
    assert after[topic].id != before[topic].id


def test_partitions_are_added_and_come_to_the_members(subject: Subject) -> None:
    topic, group = subject.topic(), subject.name()
    held: set[TopicPartition] = set()
    consumer = member(subject, subject.log, group, topic, held)
    until(lambda: len(held) == 1, consumer)
    subject.log.add_partitions(topic, 3)
    subject.log.add_partitions(topic, 2)
    assert subject.log.partitions(topic) == 3
    assert subject.log.describe([topic])[topic].partitions == 3
    until(lambda: held == {TopicPartition(topic, index) for index in range(3)}, consumer)
    consumer.close()


def test_what_retention_took_before_it_was_read_is_told(subject: Subject) -> None:
    topic = subject.topic(partitions=2)
    zero, one = TopicPartition(topic, 0), TopicPartition(topic, 1)
    fill(subject, topic, *(b"%d" % number for number in range(6)))
    reader = subject.reader(topic, partitions=2)
    reader.pause([zero, one])  # or what is to be trimmed is fetched before
    reader.seek(zero, 1)
    subject.operator.trim(zero, 4)
    assert reader.watermarks(zero) == (4, 6)
    reader.resume([zero])
    assert values(take(reader, 2)) == [b"4", b"5"]
    assert reader.out_of_range() == {zero: OutOfRange(1, 4)}
    assert reader.out_of_range() == {}
    producer = subject.log.producer()
    producer.send(topic, 1, b"other")
    producer.send(topic, 0, b"6")
    producer.flush(10)
    assert values(take(reader, 1)) == [b"6"], "the other partition is still paused"
    reader.resume([one])
    assert values(take(reader, 1)) == [b"other"]
    reader.seek(zero, 5)
    assert values(take(reader, 2)) == [b"5", b"6"]


def test_a_topic_that_is_made_anew_is_not_read_on_at_an_offset_that_it_has_not(subject: Subject) -> None:
    topic = subject.topic()
    fill(subject, topic, b"0", b"1", b"2")
    reader = subject.reader(topic)
    assert len(take(reader, 3)) == 3
    subject.operator.delete(topic)
    until(lambda: subject.log.partitions(topic) is None, reader)
    subject.log.create_topics([TopicSpec(topic, 1, {})])
    fill(subject, topic, b"new")
    assert values(take(reader, 1)) == [b"new"]
    assert reader.out_of_range() == {TopicPartition(topic, 0): OutOfRange(3, 0)}


def test_a_group_that_is_deleted_has_no_positions(subject: Subject) -> None:
    topic, group = subject.topic(), subject.name()
    where = TopicPartition(topic, 0)
    held: set[TopicPartition] = set()
    consumer = member(subject, subject.log, group, topic, held)
    until(lambda: where in held, consumer)
    consumer.commit({where: Committed(7, "x")})
    consumer.close()
    other = subject.another().consumer(group, committed_only=True)
    assert other.committed(where) == Committed(7, "x")
    subject.operator.forget(group)
    assert other.committed(where) is None
    other.close()
