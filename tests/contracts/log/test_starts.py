"""The log's contract: where reading begins by a start: an end of the partition, or a time of its records."""

from __future__ import annotations

import pytest

from saffron.mapping.definition import Start
from saffron.runtime.log import TopicPartition
from saffron.runtime.log.starts import start_offset
from tests.contracts.log.subject import Subject
from tests.contracts.log.talk import drain, transaction, values

_BASE = 1_700_000_000_000


def read_from(subject: Subject, topic: str, start: Start | int) -> list[bytes | None]:
    place = TopicPartition(topic, 0)
    consumer = subject.log.consumer(subject.name(), committed_only=True)
    consumer.assign({place: start_offset(consumer, place, start)})
    return values(drain(consumer, place))


@pytest.mark.parametrize(
    ("start", "found"),
    [
        (Start.EARLIEST, [b"10", b"30", b"20", b"40"]),
        (Start.LATEST, []),
        (_BASE - 1, [b"10", b"30", b"20", b"40"]),
        (_BASE + 10, [b"10", b"30", b"20", b"40"]),
        (_BASE + 11, [b"30", b"20", b"40"]),
        (_BASE + 31, [b"40"]),
        (_BASE + 41, []),
    ],
)
def test_reading_begins_where_the_start_says(subject: Subject, start: Start | int, found: list[bytes]) -> None:
    """At a time: with the first record that is not older, whatever those behind it are."""
    topic = subject.topic()
    producer = subject.log.producer()
    for late in (10, 30, 20, 40):
        producer.send(topic, 0, b"%d" % late, timestamp=_BASE + late)
    producer.flush(10)
    assert read_from(subject, topic, start) == found


@pytest.mark.parametrize("start", [Start.EARLIEST, Start.LATEST, _BASE])
def test_an_empty_partition_begins_at_its_end(subject: Subject, start: Start | int) -> None:
    consumer = subject.log.consumer(subject.name(), committed_only=True)
    assert start_offset(consumer, TopicPartition(subject.topic(), 0), start) == 0


def test_what_retention_deleted_is_no_start(subject: Subject) -> None:
    topic = subject.topic()
    producer = subject.log.producer()
    for late in (10, 20, 30):
        producer.send(topic, 0, b"%d" % late, timestamp=_BASE + late)
    producer.flush(10)
    subject.operator.trim(TopicPartition(topic, 0), 2)
    for start in (Start.EARLIEST, _BASE, _BASE + 10):
        assert read_from(subject, topic, start) == [b"30"]


def test_an_open_transaction_lies_behind_every_start(subject: Subject) -> None:
    topic = subject.topic()
    producer = subject.log.producer(subject.name())
    transaction(producer, topic, b"one")
    producer.commit()
    transaction(producer, topic, b"open")
    producer.flush(10)
    consumer = subject.log.consumer(subject.name(), committed_only=True)
    place = TopicPartition(topic, 0)
    end = consumer.watermarks(place)[1]
    assert start_offset(consumer, place, Start.LATEST) == end
    assert start_offset(consumer, place, 1 << 45) == end
    producer.commit()
    consumer.assign({place: end})
    assert values(drain(consumer, place)) == [b"open"]
