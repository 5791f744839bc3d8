"""What only the in-memory log can show at will: time-outs, dead clients, records that land late."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from saffron.errors import FencedError, LogError
from saffron.runtime.log import Committed, TopicPartition, TopicSpec
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import Killed, MemoryConsumer, MemoryLog

WHERE = TopicPartition("topic", 0)


@dataclass
class Clock:
    now: int = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def cluster(clock: Clock, *, instant: bool = True) -> MemoryBroker:
    broker = MemoryBroker(clock, session_timeout=100, transaction_timeout=200, instant=instant)
    broker.create(TopicSpec("topic", 1, {}))
    return broker


def member(log: MemoryLog, seen: list[str]) -> MemoryConsumer:
    consumer = log.consumer("group", committed_only=True)
    consumer.subscribe(
        ["topic"], lambda _: seen.append("assigned"), lambda _: seen.append("revoked"), lambda _: seen.append("lost")
    )
    return consumer


def test_a_dead_client_keeps_its_partitions_until_its_session_times_out(clock: Clock) -> None:
    broker, heir = cluster(clock), list[str]()
    dead = MemoryLog(broker)
    member(dead, []).poll(1, 0)
    dead.kill()
    living = member(MemoryLog(broker), heir)
    for clock.now in (50, 100):
        living.poll(1, 0)
        assert heir == []
    clock.now = 101
    living.poll(1, 0)
    assert heir == ["assigned"]


def test_a_client_that_slept_beyond_its_session_has_lost_its_partitions(clock: Clock) -> None:
    broker, seen = cluster(clock), list[str]()
    sleeper = member(MemoryLog(broker), seen)
    sleeper.poll(1, 0)
    clock.now = 150
    with pytest.raises(LogError, match="rebalanced"):
        sleeper.commit({WHERE: Committed(3)})
    sleeper.poll(1, 0)
    assert seen == ["assigned", "lost", "assigned"]


def test_an_open_transaction_is_ended_by_the_clock_and_its_producer_fenced(clock: Clock) -> None:
    broker = cluster(clock)
    log = MemoryLog(broker)
    producer = log.producer("id")
    producer.begin()
    producer.send("topic", 0, b"never")
    clock.now = 201
    reader = log.consumer("reader", committed_only=True)
    reader.assign({WHERE: 0})
    assert reader.poll(10, 0) == []
    assert reader.at_end(WHERE)
    with pytest.raises(FencedError):
        producer.commit()


def test_records_of_a_dead_producer_may_land_late_but_not_in_an_ended_transaction(clock: Clock) -> None:
    broker = cluster(clock, instant=False)
    dead = MemoryLog(broker)
    plain, transactional = dead.producer(), dead.producer("id")
    plain.send("topic", 0, b"late")
    transactional.begin()
    transactional.send("topic", 0, b"never")
    dead.kill()
    MemoryLog(broker).producer("id")
    broker.deliver(plain.wire)
    with pytest.raises(FencedError):
        broker.deliver(transactional.wire)
    assert [record.value for record in broker.partition(WHERE).read(0, 10, False)[0]] == [b"late"]


def test_a_process_is_killed_at_the_very_call(clock: Clock) -> None:
    broker = cluster(clock)
    log = MemoryLog(broker)
    producer = log.producer()
    log.kill_at(1)
    producer.send("topic", 0, b"done")
    with pytest.raises(Killed):
        producer.send("topic", 0, b"not done")
    assert broker.partition(WHERE).high == 1


def test_a_fault_strikes_once_before_or_after_the_deed(clock: Clock) -> None:
    broker = cluster(clock)
    log = MemoryLog(broker)
    producer = log.producer()
    for after, high in ((False, 0), (True, 1)):
        log.inject("send", LogError("injected"), after=after)
        with pytest.raises(LogError, match="injected"):
            producer.send("topic", 0, b"x")
        assert broker.partition(WHERE).high == high


def test_compaction_keeps_the_newest_of_each_key_and_retention_the_end(clock: Clock) -> None:
    broker = cluster(clock)
    producer = MemoryLog(broker).producer()
    for key in (b"a", b"b", b"a"):
        producer.send("topic", 0, key, key=key)
    broker.compact(WHERE)
    assert [(r.offset, r.key) for r in broker.partition(WHERE).read(0, 10, False)[0]] == [(1, b"b"), (2, b"a")]
    broker.trim(WHERE, 2)
    assert [(r.offset, r.key) for r in broker.partition(WHERE).read(0, 10, False)[0]] == [(2, b"a")]


def test_append_time_is_the_brokers(clock: Clock) -> None:
    broker = cluster(clock)
    broker.create(TopicSpec("stamped", 1, {"message.timestamp.type": "LogAppendTime"}))
    clock.now = 77
    MemoryLog(broker).producer().send("stamped", 0, b"x", timestamp=5)
    assert broker.partition(TopicPartition("stamped", 0)).read(0, 1, False)[0][0].timestamp == 77
