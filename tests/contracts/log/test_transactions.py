"""The log's contract: who reads what is committed sees whole transactions, and one owner's."""

from __future__ import annotations

import pytest

from saffron.errors import AbortableError, FencedError
from saffron.runtime.log import Committed, TopicPartition
from tests.contracts.log.subject import Subject
from tests.contracts.log.talk import drain, fill, member, take, transaction, until, values


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


def test_positions_and_results_become_visible_together(subject: Subject) -> None:
    source, target, group = subject.topic(), subject.topic(), subject.name()
    where = TopicPartition(source, 0)
    held: set[TopicPartition] = set()
    consumer = member(subject.log, group, source, held)
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


def test_the_ends_are_those_of_stable_records_and_tell_whether_all_was_read(subject: Subject) -> None:
    topic = subject.topic(partitions=2)
    zero, one = TopicPartition(topic, 0), TopicPartition(topic, 1)
    fill(subject, topic, b"0", b"1")
    assert subject.log.ends([zero, one, TopicPartition(topic + "x", 0)]) == {zero: 2, one: 0}
    reader = subject.reader(topic)
    assert not reader.has_read(zero, 0), "nothing was returned yet"
    take(reader, 2)
    until(lambda: reader.has_read(zero, 2), reader)
    assert not reader.has_read(zero, 3)
    writer = subject.log.producer(subject.name())
    transaction(writer, topic, b"2")
    writer.flush(10)
    assert subject.log.ends([zero]) == {zero: 2}, "what an open transaction has written does not count"
    writer.commit()
    until(lambda: subject.log.ends([zero])[zero] > 2)
    end = subject.log.ends([zero])[zero]
    assert not reader.has_read(zero, end)
    assert values(take(reader, 1)) == [b"2"]
    until(lambda: reader.has_read(zero, end), reader)
