"""The newest records of topics: those of a slow twin that reads everything, whatever gaps transactions leave."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.errors import LogError, UnavailableError
from saffron.runtime.log import Record, TopicPartition, TopicSpec
from saffron.runtime.streams import newest_messages
from saffron.runtime.streams.newest_messages import from_one_moment, in_order_of_time, newest_records
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog

Sent = list[tuple[int, int, bool]]
"""By message its partition, the number of messages in its transaction, and whether that is committed."""
SENT = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4), st.booleans()), max_size=25)


def filled(sent: Sent, partitions: int = 3, *, hanging: bool = False) -> tuple[MemoryLog, list[Record]]:
    """A log with these transactions, and its committed records. `hanging`: at the end one transaction is open."""
    log = MemoryLog(MemoryBroker(lambda: 0))
    log.create_topics([TopicSpec("t", partitions, {})])
    producer, committed, time = log.producer("writer"), 0, itertools.count()
    for partition, count, commits in sent:
        producer.begin()
        for _ in range(count):
            producer.send("t", partition % partitions, b"%d" % committed, timestamp=next(time))
            committed += commits
        producer.flush(1)
        (producer.commit if commits else producer.abort)()
    if hanging:
        producer.begin()
        producer.send("t", 0, b"open", timestamp=next(time))
        producer.flush(1)
    return log, everything(log, partitions)


def everything(log: MemoryLog, partitions: int) -> list[Record]:
    """All committed records, read from the beginning."""
    consumer = log.consumer("all", committed_only=True)
    consumer.assign({TopicPartition("t", one): 0 for one in range(partitions)})
    found: list[Record] = []
    while records := consumer.poll(1_000, 0.0):
        found += records
    consumer.close()
    return found


@settings(deadline=None)
@given(SENT, st.integers(1, 12), st.booleans())
def test_they_are_the_last_ones_of_each_partition(sent: Sent, count: int, hanging: bool) -> None:
    log, records = filled(sent, hanging=hanging)
    found = newest_records(log, "look", ["t"], count)
    each = -(-count // 3)
    for place, one in found.items():
        own = [record for record in records if record.partition == place.partition]
        assert list(one.records) == own[-each:]
        assert not one.whole or len(own) <= each


@settings(deadline=None)
@given(SENT, st.integers(1, 12))
def test_from_one_moment_on_no_record_is_missing(sent: Sent, count: int) -> None:
    log, records = filled(sent)
    found, since = from_one_moment(newest_records(log, "look", ["t"], count))
    expected = [one for one in records if since is None or one.timestamp >= since]
    assert in_order_of_time(found, "t") == sorted(expected, key=lambda one: one.timestamp)


def test_a_topic_that_does_not_exist_is_named() -> None:
    log, _ = filled([])
    with pytest.raises(LogError, match="topic 'nowhere' does not exist"):
        newest_records(log, "look", ["nowhere"], 5)


def test_a_look_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newest_messages, "_BATCH", 1)
    log, _ = filled([(0, 4, True)])
    seconds = itertools.count(0, 15)
    with pytest.raises(UnavailableError, match="t/0 could not be read within 20 s: ask for fewer messages"):
        newest_records(log, "look", ["t"], 20, clock=lambda: float(next(seconds)))
