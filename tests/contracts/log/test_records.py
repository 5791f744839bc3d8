"""The log's contract: what was sent comes back, in order, with all that belongs to it."""

from __future__ import annotations

import time

import pytest

from saffron.runtime.log import TopicPartition
from saffron.runtime.log.follower import Follower
from saffron.runtime.log.murmur2 import partition_of
from tests.contracts.log.subject import Subject
from tests.contracts.log.talk import PATIENCE, drain, fill, take, transaction, values


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


def test_keys_are_spread_by_murmur2_as_every_other_client_does(subject: Subject) -> None:
    topic = subject.topic(partitions=5)
    keys = [f"key{number}".encode() for number in range(50)] + [b"", b"a", "ü€".encode()]
    producer = subject.log.producer(bulk=True)
    producer.send_many(topic, [{"value": key, "key": key} for key in keys])
    producer.flush(10)
    found = take(subject.reader(topic, partitions=5), len(keys))
    assert {record.key: record.partition for record in found} == {key: partition_of(key, 5) for key in keys}


@pytest.mark.parametrize("fill", [False, True])
def test_many_records_are_sent_and_read_as_batches(subject: Subject, *, fill: bool) -> None:
    topic = subject.topic()
    producer = subject.log.producer(bulk=True)
    bodies = [b"%d" % number for number in range(5_000)]
    producer.send_many(topic, [{"value": body} for body in bodies], 0)
    producer.flush(10)
    reader = subject.reader(topic)
    found: list[bytes] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < len(bodies) and time.monotonic() < deadline:
        for where, batch in reader.poll_raw(700, 0.05, fill=fill):
            assert where == TopicPartition(topic, 0)
            assert batch.offsets.tolist() == list(range(len(found), len(found) + len(batch)))
            assert batch.times is not None
            assert min(batch.times) > 0
            found += [batch.value(row) for row in range(len(batch))]
    assert found == bodies


def test_large_batches_keep_what_each_message_had(subject: Subject) -> None:
    topic = subject.topic()
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    producer = subject.log.producer()
    for number in range(1_300):
        value = None if number % 400 == 399 else b"%d" % number
        producer.send(topic, 0, value, headers=[("traceparent", parent.encode())] if number == 700 else [])
    producer.flush(10)
    reader = subject.reader(topic)
    found: list[tuple[bytes, bool, bool]] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < 1_300 and time.monotonic() < deadline:
        for _, batch in reader.poll_raw(2_000, 0.05):
            assert batch.offsets.tolist() == list(range(len(found), len(found) + len(batch)))
            traces = batch.traces or [None] * len(batch)
            found += [(batch.value(row), batch.is_absent(row), traces[row] is not None) for row in range(len(batch))]
    absent = {399, 799, 1_199}
    assert found == [(b"" if n in absent else b"%d" % n, n in absent, n == 700) for n in range(1_300)]


def test_batches_have_the_trace_context_of_messages_that_have_any(subject: Subject) -> None:
    topic = subject.topic()
    parent = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    producer = subject.log.producer()
    for headers in ([], [("traceparent", parent), ("tracestate", b"v=1"), ("other", b"\xff")], [("other", b"1")]):
        producer.send(topic, 0, b"{}", headers=headers)
    producer.flush(10)
    reader = subject.reader(topic)
    found: list[str | None] = []
    deadline = time.monotonic() + PATIENCE
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


def test_a_reader_goes_on_at_once_where_it_was_paused(subject: Subject) -> None:
    """librdkafka alone takes up to a second, in each of the rounds. A busy machine may be slow in some."""
    topic = subject.topic()
    fill(subject, topic, *(b"%d" % number for number in range(100)))
    where, prompt = TopicPartition(topic, 0), 0
    reader = subject.reader(topic)
    for _ in range(4):
        take(reader, 3)
        reader.pause([where])
        for _ in range(3):
            assert reader.poll(100, 0.1) == []
        reader.resume([where])
        found = reader.poll(1, 0.3)
        prompt += bool(found)
        assert found or take(reader, 1)
    assert prompt


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


def test_a_follower_has_caught_up_with_the_last_record_that_it_met_at_its_start(subject: Subject) -> None:
    topic = subject.topic(partitions=2)
    assert Follower(subject.log, topic).caught_up, "there is nothing to read"
    fill(subject, topic, b"0", b"1")
    follower = Follower(subject.log, topic)
    found: list[bytes | None] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < 2 and time.monotonic() < deadline:
        assert not follower.caught_up
        found += values(follower.step())
    assert (found, follower.caught_up) == ([b"0", b"1"], True)
    assert Follower(subject.log, topic, from_end=True).caught_up
