"""The newest records of a partition: transactions that are open are waited for, older records are not looked at, and
large ones are held a few at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from random import Random

import pytest

from saffron.errors import SearchError, UnavailableError
from saffron.runtime.log import Record, TopicPartition, TopicSpec, ends
from saffron.runtime.log.ends import each_that_is_there, first_record, newest_first
from saffron.runtime.results import progress
from saffron.runtime.results.progress import last_written
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryConsumer, MemoryLog

PLACE = TopicPartition("results", 0)


@pytest.fixture
def log() -> Iterator[MemoryLog]:
    now = count(1_000)
    made = MemoryLog(MemoryBroker(lambda: next(now)))
    made.create_topics([TopicSpec("results", 1, {})])
    yield made
    made.close()


def write(log: MemoryLog, count: int) -> None:
    producer = log.producer("writer")
    for number in range(count):
        producer.begin()
        producer.send("results", 0, b"%d" % number)
        producer.commit()


def test_the_first_record(log: MemoryLog) -> None:
    assert first_record(log, "g", PLACE) is None
    write(log, 3)
    found = first_record(log, "g", PLACE)
    assert found is not None
    assert found.value == b"0"


def test_a_transaction_that_ends_is_waited_for(log: MemoryLog, monkeypatch: pytest.MonkeyPatch) -> None:
    write(log, 2)
    other = log.producer("other")
    other.begin()
    other.send("results", 0, b"late")
    polled = MemoryConsumer.poll

    def poll(self: MemoryConsumer, most: int, timeout: float) -> list[Record]:
        if self._committed_only and not self._positions:
            other.commit()
            monkeypatch.setattr(MemoryConsumer, "poll", polled)
        return polled(self, most, timeout)

    monkeypatch.setattr(MemoryConsumer, "poll", poll)
    with closing(newest_first(log, "g", PLACE)) as records:
        assert [record.value for record in records] == [b"late", b"1", b"0"]


def test_one_that_stays_open_is_told(log: MemoryLog) -> None:
    other = log.producer("other")
    other.begin()
    other.send("results", 0, b"late")
    with pytest.raises(UnavailableError, match="a transaction is open in results/0"):
        list(newest_first(log, "g", PLACE))


def test_little_that_is_older_than_the_first_block_is_looked_at(
    log: MemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_MANY_OLDER", 2)
    write(log, 300)
    looked: list[bytes | None] = []

    def is_own(record: Record) -> bool:
        looked.append(record.value)
        return False

    with closing(newest_first(log, "g", PLACE)) as records:
        since = [record.timestamp for record in records][4]
    assert last_written(log, "g", ["results"], is_own, "id", since, lambda: None) is None
    assert looked == [b"%d" % number for number in range(299, 292, -1)]


@pytest.mark.parametrize("seed", range(5))
def test_large_records_are_held_a_few_at_a_time(log: MemoryLog, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    random, most = Random(seed), 100_000
    monkeypatch.setattr(ends, "_MOST_BYTES", most)
    monkeypatch.setattr(ends, "_BATCH", 4)
    producer, values = log.producer("writer"), []
    for largest in random.sample([10, 30_000, 10, 3_000, 60_000], 5):
        values += [b"%08d" % number * random.randrange(1, 2 + largest // 8) for number in range(200)]
    values[random.randrange(1_000)] = bytes(3 * most)  # one alone may be larger
    producer.begin()
    for value in values:
        producer.send("results", 0, value)
    producer.commit()
    polled, held = MemoryConsumer.poll, [0]

    def poll(self: MemoryConsumer, most: int, timeout: float) -> list[Record]:
        records = polled(self, most, timeout)
        held[-1] += sum(record.size for record in records)
        return records

    def assign(self: MemoryConsumer, starts: dict[TopicPartition, int]) -> None:
        held.append(0)
        assigned(self, starts)

    assigned = MemoryConsumer.assign
    monkeypatch.setattr(MemoryConsumer, "poll", poll)
    monkeypatch.setattr(MemoryConsumer, "assign", assign)
    with closing(newest_first(log, "g", PLACE)) as records:
        assert [record.value for record in records] == values[::-1]
    assert max(held) <= most + 3 * most + 4 * 60_000  # the limit, and one poll
    assert sum(held) <= 4 * sum(map(len, values))


def test_a_search_that_is_not_wanted_any_more_ends_at_the_next_record(log: MemoryLog) -> None:
    write(log, 9)
    looked: list[Record] = []

    def is_own(record: Record) -> bool:
        looked.append(record)
        return False

    def check() -> None:
        if len(looked) == 3:
            raise SearchError("not wanted any more")

    with pytest.raises(SearchError):
        last_written(log, "g", ["results"], is_own, "id", 0, check)
    assert len(looked) == 3


def test_what_comes_while_it_reads_is_left_out(log: MemoryLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """One record comes with each poll, so that no poll finds nothing. Another partition is read to its end, too."""
    log.create_topics([TopicSpec("others", 1, {})])
    write(log, 20)
    other, polled, polls = TopicPartition("others", 0), MemoryConsumer.poll, count()
    log.producer().send("others", 0, b"first")

    def poll(self: MemoryConsumer, most: int, timeout: float) -> list[Record]:
        assert next(polls) < 50
        write(log, 1)
        return polled(self, 3, timeout)

    monkeypatch.setattr(MemoryConsumer, "poll", poll)
    consumer = log.consumer("g", committed_only=True)
    marks = {place: consumer.watermarks(place) for place in (PLACE, other)}
    found = list(each_that_is_there(consumer, marks, batch=100))
    assert [one.value for one in found if one.topic == "results"] == [b"%d" % number for number in range(20)]
    assert [one.value for one in found if one.topic == "others"] == [b"first"]


def test_one_whose_end_is_not_reached_is_told(log: MemoryLog, monkeypatch: pytest.MonkeyPatch) -> None:
    write(log, 3)
    consumer = log.consumer("g", committed_only=True)
    monkeypatch.setattr(MemoryConsumer, "poll", lambda self, most, timeout: [])
    with pytest.raises(UnavailableError, match="results/0 cannot be read to its end"):
        list(each_that_is_there(consumer, {PLACE: consumer.watermarks(PLACE)}, batch=100))


def test_nothing_is_read_of_what_is_empty(log: MemoryLog) -> None:
    consumer = log.consumer("g", committed_only=True)
    assert list(each_that_is_there(consumer, {PLACE: consumer.watermarks(PLACE)}, batch=100)) == []
