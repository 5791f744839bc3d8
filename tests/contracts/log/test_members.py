"""The log's contract: a group's members share partitions, and lose them when they leave."""

from __future__ import annotations

import random
import time

import pytest

from saffron.errors import LogError
from saffron.runtime.log import Committed, Consumer, Log, OutOfRange, TopicPartition
from tests.contracts.log.subject import Subject
from tests.contracts.log.talk import PATIENCE, fill, member, take, transaction, until, values


def test_a_member_reads_from_where_it_seeks_and_nothing_before(subject: Subject) -> None:
    topic, group = subject.topic(), subject.name()
    where = TopicPartition(topic, 0)
    fill(subject, topic, b"0", b"1", b"2", b"3")
    held: set[TopicPartition] = set()
    first = member(subject.log, group, topic, held)
    until(lambda: where in held, first)
    assert [first.poll(10, 0.05) for _ in range(4)] == [[]] * 4
    first.seek(where, 0)
    assert values(take(first, 4)) == [b"0", b"1", b"2", b"3"]
    first.commit({where: Committed(2)})
    first.close()
    held.clear()
    second = member(subject.another(), group, topic, held)
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
    first = member(subject.log, group, topic, mine)
    until(lambda: mine == everything, first)
    second = member(subject.another(), group, topic, yours)
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
        deadline = time.monotonic() + PATIENCE
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
    first = member(subject.log, group, topic, mine)
    until(lambda: where in mine, first)
    producer = subject.log.producer(subject.name())
    transaction(producer, topic, b"late")
    membership = first.membership()
    first.close()
    second = member(subject.another(), group, topic, yours)
    until(lambda: where in yours, second)
    with pytest.raises(LogError):
        producer.send_offsets({where: Committed(1)}, membership)
    with pytest.raises(LogError):
        first.membership()
    second.close()


def test_a_membership_is_that_of_the_present_generation(subject: Subject) -> None:
    topic, group = subject.topic(partitions=2), subject.name()
    everything = {TopicPartition(topic, index) for index in range(2)}
    mine: set[TopicPartition] = set()
    yours: set[TopicPartition] = set()
    first = member(subject.log, group, topic, mine)
    until(lambda: mine == everything, first)
    producer = subject.log.producer(subject.name())

    def commit(membership: object, offset: int) -> None:
        transaction(producer, topic, b"%d" % offset)
        producer.send_offsets({TopicPartition(topic, 0): Committed(offset)}, membership)
        producer.commit()

    before = first.membership()
    commit(before, 1)
    commit(first.membership(), 2)
    second = member(subject.another(), group, topic, yours)
    until(lambda: len(mine) == 1 and mine | yours == everything, first, second)
    commit(first.membership(), 3)
    second.close()
    until(lambda: mine == everything, first)
    commit(first.membership(), 4)
    found = first.committed(TopicPartition(topic, 0))
    assert found is not None
    assert found.offset == 4
    with pytest.raises(LogError):
        commit(before, 5)
    first.close()


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


@pytest.mark.parametrize("seed", range(6))
def test_where_the_first_records_are_gone_a_member_reads_from_where_it_seeks(subject: Subject, seed: int) -> None:
    """Whatever it has done between the assignment and the seek: a client that read on its own would stop for good."""
    draw = random.Random(seed)
    topic, held = subject.topic(partitions=3), set[TopicPartition]()
    producer = subject.log.producer()
    for number in range(100):
        for partition in range(3):
            producer.send(topic, partition, b"%d" % number)
    producer.flush(10)
    places = [TopicPartition(topic, partition) for partition in range(3)]
    for where in places:
        subject.operator.trim(where, 80)
    consumer = member(subject.log, subject.name(), topic, held)
    until(lambda: len(held) == 3, consumer)
    if seed % 2:
        consumer.pause(places)
    found: dict[TopicPartition, list[int]] = {where: [] for where in places}
    wanted = {where: draw.choice([75, 80, 90]) for where in places}
    lost: dict[TopicPartition, OutOfRange] = {}

    def read() -> int:
        for record in consumer.poll(100, 0.05):
            found[TopicPartition(record.topic, record.partition)].append(record.offset)
        lost.update(consumer.out_of_range())
        return sum(map(len, found.values()))

    for where, offset in wanted.items():
        for _ in range(draw.randrange(4)):
            read()
        consumer.seek(where, offset)
        consumer.resume([where])
    until(lambda: read() >= sum(100 - max(80, offset) for offset in wanted.values()))
    assert found == {where: list(range(max(80, offset), 100)) for where, offset in wanted.items()}
    assert lost == {where: OutOfRange(75, 80) for where, offset in wanted.items() if offset == 75}
    consumer.close()


def test_partitions_are_added_and_come_to_the_members(subject: Subject) -> None:
    topic, group = subject.topic(), subject.name()
    held: set[TopicPartition] = set()
    consumer = member(subject.log, group, topic, held)
    until(lambda: len(held) == 1, consumer)
    subject.log.add_partitions(topic, 3)
    subject.log.add_partitions(topic, 2)
    assert subject.log.partitions(topic) == 3
    assert subject.log.describe([topic])[topic].partitions == 3
    until(lambda: held == {TopicPartition(topic, index) for index in range(3)}, consumer)
    consumer.close()


def test_a_group_has_a_name(subject: Subject) -> None:
    with pytest.raises(ValueError, match="needs a group"):
        subject.log.consumer("", committed_only=True)
