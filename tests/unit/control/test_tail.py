from __future__ import annotations

import json

import pytest

from saffron.control.guard import answer
from saffron.control.tail import Tail
from saffron.errors import DeniedError, UnavailableError
from saffron.runtime.log import TopicSpec
from saffron.runtime.result_formats.forms import codec, dataschema
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog


@pytest.fixture
def log() -> MemoryLog:
    log = MemoryLog(MemoryBroker(lambda: 0))
    log.create_topics([TopicSpec("matches", 2, {}), TopicSpec("trends", 2, {})])
    return log


def write(log: MemoryLog, topic: str, partition: int, times: range, *, commit: bool = True, each: bool = False) -> None:
    producer = log.producer(f"{topic}-{partition}")
    for at in times:
        if each or at == times.start:
            producer.begin()
        producer.send(topic, partition, json.dumps({"detected_at": at, "query": topic, "events": {}}).encode())
        if each:
            producer.commit()
    if not each and commit:
        producer.commit()


def test_newest_first_over_all_topics_and_partitions(log: MemoryLog) -> None:
    write(log, "matches", 0, range(40))
    write(log, "matches", 1, range(100, 102))
    write(log, "trends", 1, range(50, 52))
    found = Tail(log, "g").last(["matches", "trends"], 5).results
    assert [one["detected_at"] for one in found] == [101, 100, 51, 50, 39]
    assert [one["topic"] for one in found] == ["matches", "matches", "trends", "trends", "matches"]


def test_looks_further_back_where_markers_lie_between(log: MemoryLog) -> None:
    write(log, "matches", 0, range(60), each=True)
    found = Tail(log, "g").last(["matches"], 20).results
    assert [one["detected_at"] for one in found] == list(range(59, 39, -1))


def test_uncommitted_results_are_not_shown(log: MemoryLog) -> None:
    write(log, "matches", 0, range(3))
    write(log, "matches", 1, range(10, 13), commit=False)
    assert [one["detected_at"] for one in Tail(log, "g").last(["matches"], 9).results] == [2, 1, 0]


@pytest.mark.parametrize("right", ["unseen", "refused"])
def test_topics_that_may_not_be_read_are_named_beside_the_results_of_others(log: MemoryLog, right: str) -> None:
    for topic in ("alerts", "alarms"):
        log.create_topics([TopicSpec(topic, 1, {})])
        write(log, topic, 0, range(9, 10))
    write(log, "matches", 0, range(3))
    closed, topics, now = getattr(log.broker, right), ["matches", "alerts", "trends", "alarms"], [0.0]
    closed.update(("alerts", "alarms"))
    tail = Tail(log, "g", lambda: now[0])
    for _ in range(2):
        found = tail.last(topics, 9)
        assert ([one["topic"] for one in found.results], found.denied) == (["matches"] * 3, ["alerts", "alarms"])
    closed.clear()
    assert tail.last(topics, 9).denied == ["alerts", "alarms"], "they are asked for once a minute"
    now[0] = 60.0
    found = tail.last(topics, 9)
    assert ([one["detected_at"] for one in found.results], found.denied) == ([9, 9, 2, 1, 0], [])


def test_a_right_that_concerns_every_topic_is_told(log: MemoryLog) -> None:
    write(log, "matches", 0, range(3))
    log.inject("poll", DeniedError("group g: no right"), after=False)
    with pytest.raises(DeniedError, match="group g"):
        Tail(log, "g").last(["matches"], 9)


def test_nothing_there(log: MemoryLog) -> None:
    assert Tail(log, "g").last(["matches", "no-such-topic"], 9).results == []


def test_a_huge_result_is_shown_without_its_events(log: MemoryLog) -> None:
    producer = log.producer()
    value = json.dumps({"detected_at": 1, "query": "q", "events": {"a": ["x" * 100_000]}}).encode()
    producer.send("matches", 0, value)
    producer.flush(1.0)
    (one,) = Tail(log, "g").last(["matches"], 9).results
    assert one == {"detected_at": 1, "query": "q", "bytes": len(value), "topic": "matches"}


@pytest.mark.parametrize("digits", [400, 5_000])
def test_a_count_beyond_every_float_is_shown_by_its_digits_beside_other_results(log: MemoryLog, digits: int) -> None:
    count = "1" * digits
    producer = log.producer("trends-0")
    producer.begin()
    producer.send(
        "trends", 0, f'{{"detected_at":2,"query":"q","return":{{"COUNT(*)":{count},"n":7}},"exact":true}}'.encode()
    )
    producer.commit()
    write(log, "matches", 0, range(1))
    found = Tail(log, "g").last(["matches", "trends"], 5).results
    assert [one["detected_at"] for one in found] == [2, 0]
    assert found[0]["return"] == {"COUNT(*)": count, "n": 7}


def test_results_in_a_registrys_frame_are_shown_where_their_schema_is_known(log: MemoryLog) -> None:
    result = {"id": "0" * 32, "query": "q", "partition": 0, "window": [0, 9], "group": {}, "return": {"COUNT(*)": 3}}
    result |= {"exact": True, "detected_at": 7}
    value = b"\0\0\0\0\1" + codec("protobuf", "trends").payload(json.dumps(result).encode())
    producer = log.producer()
    for schema in (dataschema("trends"), b"urn:saffron:trends:99"):
        headers = (("content-type", b"application/protobuf"), ("ce_dataschema", schema))
        producer.send("trends", 0, value, key=b"q", headers=headers)
    producer.flush(1.0)
    found = Tail(log, "g").last(["trends"], 9).results
    assert found == [{**result, "topic": "trends"}, {"query": "q", "bytes": len(value), "topic": "trends"}]


FOREIGN = [
    b"{broken", b'{"a":"\xff"}', b"{", b'{"alert":"disk full"}', b"5", b"[1]", b"hello", b"\xff\xfe", b"null", b'"x"',
    b"", b'{"return":5}', b'{"query":5,"detected_at":1}', b'{"query":"q"}', b'{"query":"q","detected_at":"2024-01-01"}',
    b'{"query":"q","detected_at":[1]}', b'{"query":"q","detected_at":true}', b'{"query":"q","detected_at":1.5}',
    *(b'{"query":"q","detected_at":1,"%s":5}' % name for name in (b"return", b"events", b"key", b"group")),
    b'{"query":"q","detected_at":1,"return":null}', b'{"exact":1,"return":[99999999999999999999]}',
]  # fmt: skip


_LONG, _DEEP = b"1" + 23 * b"0", b"[" * 300 + b"]" * 300
UNWRITABLE = [
    *(b'{"query":"q","detected_at":1,"exact":true,"%s":{"a":[%s]}}' % (name, _LONG) for name in (b"key", b"events")),
    b'{"query":"q","detected_at":1,"exact":true,"return":{"a":[%s]}}' % _LONG,
    b'{"query":"q","detected_at":%s,"exact":true}' % _LONG,
    b'{"query":"q","detected_at":1,"exact":true,"more":-%s}' % _LONG,
    b'{"query":"q","detected_at":1,"exact":true,"key":{"a":"\\ud800"},"return":{"n":%s}}' % _LONG,
    b'{"query":"q","detected_at":1,"exact":true,"n":%s,"key":{"a":%s}}'
    % (_LONG, 400 * _DEEP[:300] + 400 * _DEEP[300:]),
    b'{"query":"q","detected_at":1,"key":{"a":%s}}' % _DEEP,
]


@pytest.mark.parametrize("value", [*FOREIGN, *UNWRITABLE])
def test_a_message_of_another_program_is_listed_beside_the_results(log: MemoryLog, value: bytes) -> None:
    write(log, "matches", 0, range(3))
    producer = log.producer()
    producer.send("matches", 1, value, key=b"k\xff")
    producer.flush(1.0)
    found = Tail(log, "g").last(["matches"], 9).results
    assert [one.get("detected_at") for one in found] == [2, 1, 0, None]
    assert found[-1] == {"query": "k\ufffd", "bytes": len(value), "topic": "matches"}
    assert answer({"results": found}).status == 200


def test_a_message_of_any_depth_can_be_answered(log: MemoryLog) -> None:
    producer = log.producer()
    for depth in range(240, 260):
        nested = b"[" * depth + b"]" * depth
        producer.send("matches", 0, b'{"query":"q","detected_at":1,"key":{"a":%s}}' % nested)
    producer.flush(1.0)
    found = Tail(log, "g").last(["matches"], 30).results
    assert answer({"results": found}).status == 200
    assert 0 < sum("key" in one for one in found) < 20


def test_a_failure_is_told_and_the_next_call_starts_afresh(log: MemoryLog) -> None:
    write(log, "matches", 0, range(3))
    tail = Tail(log, "g")
    log.inject("poll", UnavailableError("no broker answers"), after=False)
    with pytest.raises(UnavailableError):
        tail.last(["matches"], 9)
    assert len(tail.last(["matches"], 9).results) == 3
    tail.close()
    tail.close()
