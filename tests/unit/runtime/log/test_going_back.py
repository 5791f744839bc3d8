"""A consumer on librdkafka, which may go back behind a seek: each record is returned once, in order."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from itertools import accumulate
from typing import Any
from unittest import mock

import confluent_kafka as ck
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.runtime.log import TopicPartition
from saffron.runtime.log.kafka import librdkafka_settings
from saffron.runtime.log.kafka.consumer import KafkaConsumer, Waiting

_ROUND_TRIP_MS = 50
_PLACES = [TopicPartition("events", partition) for partition in range(3)]
_RECORDS, _START = 3000, 2990
_ASKS_AGAIN_S = 1.0
"""librdkafka asks again after half a second; so long nothing else may come."""
_STEPS = 300


def _consumer(bootstrap: str) -> KafkaConsumer:
    cluster = librdkafka_settings.Cluster(bootstrap)
    return KafkaConsumer(librdkafka_settings.consumer(cluster, "group", "", committed_only=False), Waiting())


# ------------------------------------------------------------ librdkafka itself


@pytest.fixture(scope="module")
def late() -> Iterator[KafkaConsumer]:
    """A consumer of a group to which `_PLACES` are assigned, paused as by all services.

    Librdkafka's brokers for tests answer late, as distant ones do: a seek comes before the answer that says where a
    partition begins. Each partition holds the records 0 to 2,999.
    """
    brokers = ck.Producer(
        {"bootstrap.servers": "none", "test.mock.num.brokers": 1, "test.mock.broker.rtt": _ROUND_TRIP_MS}
    )
    (broker,) = brokers.list_topics(timeout=10).brokers.values()
    address = f"{broker.host}:{broker.port}"
    producer = ck.Producer({"bootstrap.servers": address, "log_level": 0})
    for where in _PLACES:
        for _ in range(_RECORDS):
            producer.produce(where.topic, b"", partition=where.partition)
    assert producer.flush(10) == 0
    consumer = _consumer(address)
    assigned: list[TopicPartition] = []

    def begin(partitions: list[TopicPartition]) -> None:
        consumer.pause(partitions)
        assigned.extend(partitions)

    consumer.subscribe([_PLACES[0].topic], begin, lambda _: None, lambda _: None)
    while not assigned:
        assert consumer.poll(100, 0.05) == []
    yield consumer
    consumer.close()
    del brokers  # they end with it


def test_an_answer_behind_a_seek_repeats_no_record(late: KafkaConsumer) -> None:
    place = _PLACES[0]
    late.seek(place, ck.OFFSET_BEGINNING)  # librdkafka asks where that is
    assert late.poll(1, 0.0) == []
    late.seek(place, _START)
    late.resume([place])
    found: list[int] = []
    last = time.monotonic()
    while not found or time.monotonic() - last < _ASKS_AGAIN_S:
        for _, batch in late.poll_raw(_RECORDS, 0.05):
            found += batch.offsets.tolist()
            last = time.monotonic()
    assert found == list(range(_START, _RECORDS))
    assert late.lag(place) == 0


def test_seeks_pauses_and_resumes_in_any_order_skip_and_repeat_nothing(late: KafkaConsumer) -> None:
    draw = random.Random(1)
    wanted = dict.fromkeys(_PLACES, _RECORDS)
    read = 0

    def read_on(most: int, wait: float) -> None:
        nonlocal read
        for record in late.poll(most, wait):
            where = TopicPartition(record.topic, record.partition)
            assert record.offset == wanted[where]
            wanted[where] += 1
            read += 1

    for step in range(_STEPS):
        where = _PLACES[step] if step < len(_PLACES) else draw.choice(_PLACES)
        act = draw.choice(["seek", "pause", "resume", "resume"]) if step >= len(_PLACES) else "seek"
        if act == "seek":
            wanted[where] = draw.randrange(_RECORDS)
            late.seek(where, wanted[where])
        elif act == "pause":
            late.pause([where])
        else:
            late.resume([where])
        read_on(draw.choice([1, 10, 500]), draw.choice([0.0, 0.0, 0.01]))
    late.resume(_PLACES)
    while wanted != dict.fromkeys(_PLACES, _RECORDS):
        read_on(500, 0.05)
    assert read > _RECORDS


# ------------------------------------------------------------ any way of going back


class _Client:
    """A client of partitions that hold `offsets`. Behind some of its messages it goes back to an earlier one."""

    def __init__(self, offsets: dict[TopicPartition, list[int]], back: list[tuple[int, int]]) -> None:
        """`back`: (messages returned before, how many of the partition come again)."""
        self._offsets = offsets
        self._at: dict[TopicPartition, int] = {}
        self._back = sorted(back)
        self._returned = 0

    def assign(self, places: list[ck.TopicPartition]) -> None:
        self._at.clear()
        for place in places:
            self.seek(place)

    def pause(self, places: list[ck.TopicPartition]) -> None:
        assert places == []

    def resume(self, places: list[ck.TopicPartition]) -> None:
        assert {TopicPartition(place.topic, place.partition) for place in places} <= self._at.keys()

    def seek(self, place: ck.TopicPartition) -> None:
        where = TopicPartition(place.topic, place.partition)
        self._at[where] = sum(offset < place.offset for offset in self._offsets[where])

    def poll(self, timeout: float) -> ck.Message | None:
        return next(iter(self.consume(1, timeout)), None)

    def consume(self, count: int, timeout: float) -> list[ck.Message]:
        del timeout
        return [message for _ in range(count) if (message := self._one()) is not None]

    def _one(self) -> ck.Message | None:
        waiting = [where for where, at in self._at.items() if at < len(self._offsets[where])]
        if not waiting:
            return None
        self._returned += 1
        where = waiting[self._returned % len(waiting)]
        offset = self._offsets[where][self._at[where]]
        self._at[where] += 1
        while self._back and self._back[0][0] <= self._returned:
            self._at[where] = max(0, self._at[where] - self._back.pop(0)[1])
        return ck.Message(where.topic, where.partition, offset, None, b"%d" % offset)


@given(
    steps=st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=30), min_size=1, max_size=3),
    back=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 40)), max_size=4),
    most=st.integers(1, 9),
    raw=st.booleans(),
)
def test_each_record_comes_once_however_often_the_client_goes_back(
    steps: list[list[int]], back: list[tuple[int, int]], most: int, raw: bool
) -> None:
    offsets = {TopicPartition("t", number): list(accumulate(some)) for number, some in enumerate(steps)}
    with mock.patch.object(librdkafka_settings, "client", return_value=_Client(offsets, back)):
        consumer = _consumer("none")
    consumer.assign(dict.fromkeys(offsets, 0))
    found: dict[TopicPartition, list[int]] = {where: [] for where in offsets}
    for _ in range(sum(map(len, steps)) + sum(again for _, again in back) + 2 * len(back) + 1):
        if raw:
            for where, batch in consumer.poll_raw(most, 0.0):
                found[where] += batch.offsets.tolist()
        else:
            for record in consumer.poll(most, 0.0):
                found[TopicPartition(record.topic, record.partition)].append(record.offset)
    assert found == offsets


class _Group(_Client):
    """A client that has its partitions assigned anew within the next `poll`, once `anew` is set."""

    anew = True

    def subscribe(self, topics: list[str], *, on_assign: Any, on_revoke: Any, on_lost: Any) -> None:
        del topics, on_revoke, on_lost
        self._on_assign = on_assign

    def poll(self, timeout: float) -> ck.Message | None:
        message = super().poll(timeout)
        if self.anew:
            self.anew = False
            self._on_assign(self, [ck.TopicPartition(where.topic, where.partition) for where in self._offsets])
        return message


@pytest.mark.parametrize("partitions", [1, 2])
def test_a_message_of_the_assignment_before_is_read_again_in_its_place(partitions: int) -> None:
    places = [TopicPartition("t", number) for number in range(partitions)]
    client = _Group({where: [0, 1, 2, 3] for where in places}, [])
    with mock.patch.object(librdkafka_settings, "client", return_value=client):
        consumer = _consumer("none")

    def begin(assigned: list[TopicPartition]) -> None:
        for where in assigned:
            consumer.seek(where, 0)

    consumer.subscribe(["t"], begin, lambda _: None, lambda _: None)
    assert consumer.poll(1, 0.0) == []
    assert [record.offset for record in consumer.poll(2 * partitions, 0.0)] == partitions * [0, 1]
    client.anew = True
    assert consumer.poll(1, 0.0) == []
    assert [record.offset for record in consumer.poll(100, 0.0)] == partitions * [0, 1, 2, 3]


class _Failing(_Group):
    """A group's client that returns errors, each once, before records."""

    def __init__(self, where: TopicPartition, *codes: int) -> None:
        super().__init__({where: [0, 1, 2]}, [])
        self._errors = [ck.Message(where.topic, where.partition, 0, error=ck.KafkaError(code)) for code in codes]

    def _one(self) -> ck.Message | None:
        return self._errors.pop(0) if self._errors else super()._one()


def test_errors_that_come_with_an_assignment_are_not_lost_nor_taken_for_those_of_its_partitions() -> None:
    place = TopicPartition("t", 0)
    codes = ck.KafkaError._PARTITION_EOF, ck.KafkaError._AUTO_OFFSET_RESET, ck.KafkaError.TOPIC_AUTHORIZATION_FAILED
    with mock.patch.object(librdkafka_settings, "client", return_value=_Failing(place, *codes)):
        consumer = _consumer("none")
    consumer.subscribe(["t"], lambda places: consumer.seek(places[0], 0), lambda _: None, lambda _: None)
    assert consumer.poll(9, 0.0) == []
    assert consumer.denied() == {"t"}
    assert not consumer.at_end(place)
    assert consumer.out_of_range() == {}
    assert [record.offset for record in consumer.poll(9, 0.0)] == [0, 1, 2]
    assert not consumer.denied()
