"""The log's contract: topics are made, made anew and trimmed, and groups deleted."""

from __future__ import annotations

import pytest

from saffron.errors import LogError
from saffron.runtime.log import Committed, OutOfRange, TopicPartition, TopicSpec
from tests.contracts.log.subject import Subject
from tests.contracts.log.talk import fill, member, take, until, values


def test_topics_are_created_once_and_must_be_wide_enough(subject: Subject) -> None:
    topic = subject.topic(partitions=2)
    assert subject.log.partitions(topic) == 2
    assert subject.log.partitions(topic + "x") is None
    assert topic in subject.log.topics()
    assert topic + "x" not in subject.log.topics()
    assert subject.log.create_topics([TopicSpec(topic, 2, {})]) == []
    with pytest.raises(LogError, match="has 2 partitions, not 3: create it anew"):
        subject.log.create_topics([TopicSpec(topic, 3, {})])


def test_partitions_that_were_made_are_served_at_once(subject: Subject) -> None:
    """Brokers of today lose the first batch of a producer that comes before (KAFKA-15591), and tell nobody."""
    made = [TopicSpec(subject.name(), 8, {}) for _ in range(6)]
    subject.log.create_topics(made)
    places = [TopicPartition(spec.name, partition) for spec in made for partition in range(8)]
    assert len(subject.log.ends(places)) == len(places)
    subject.log.add_partitions(made[0].name, 24)
    places = [TopicPartition(made[0].name, partition) for partition in range(24)]
    assert len(subject.log.ends(places)) == len(places)


def test_a_topic_may_be_written_where_nothing_forbids_it(subject: Subject) -> None:
    assert subject.log.writable(subject.topic())


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
    consumer = member(subject.log, group, topic, held)
    until(lambda: where in held, consumer)
    consumer.commit({where: Committed(7, "x")})
    consumer.close()
    other = subject.another().consumer(group, committed_only=True)
    assert other.committed(where) == Committed(7, "x")
    subject.operator.forget(group)
    assert other.committed(where) is None
    other.close()
