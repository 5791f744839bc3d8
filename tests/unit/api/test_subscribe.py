"""`saffron.subscribe`: committed results as objects, from where it was asked, of the queries that were asked for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import pytest

import saffron
from saffron.api import subscribe as api
from saffron.api.result import Result
from saffron.errors import InputError, LogError, SaffronError, UnavailableError
from saffron.records.codec import encode
from saffron.records.query import ADD, QueryRecord
from saffron.runtime.log import Producer, TopicSpec
from saffron.runtime.log.kafka import kafka_log
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.process.config import Settings
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.api.samples import EVENTS, MATCHES, TRENDS


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Producer]:
    """A producer of results, of a system in memory."""
    broker = MemoryBroker(lambda: 5)
    log = MemoryLog(broker)
    log.create_topics(topic_specs("t.", 2))
    monkeypatch.setattr(kafka_log, "connect", lambda _: MemoryLog(broker))
    yield log.producer("writer")
    log.close()


@pytest.fixture
def found() -> list[Result]:
    return list(saffron.replay([MATCHES, TRENDS], EVENTS))


def subscribe(queries: str | Sequence[str] | None = None, **asked: Any) -> saffron.Subscription:
    return saffron.subscribe(queries, brokers="memory", prefix="t.", **asked)


def written(result: Result) -> bytes:
    """A result as services write it."""
    return orjson.dumps({**result.to_dict(), "detected_at": 5})


def write(producer: Producer, results: Sequence[Result], partition: int = 0, *, commit: bool = True) -> None:
    producer.begin()
    for one in results:
        topic = "t.trends" if isinstance(one, saffron.Trend) else "t.complex-events"
        producer.send(topic, partition, written(one), key=one.query.encode())
    if commit:
        producer.commit()
    else:
        producer.abort()


def test_results_are_those_of_a_replay(producer: Producer, found: list[Result]) -> None:
    write(producer, found)
    with subscribe(start="earliest", end=True) as results:
        got = {one.id: one for one in results}
    assert {name: one.to_dict() for name, one in got.items()} == {
        one.id: {**one.to_dict(), "detected_at": 5} for one in found
    }
    assert {type(one) for one in got.values()} == {saffron.Match, saffron.Trend}


def test_only_committed_ones_and_only_of_the_queries_asked_for(producer: Producer, found: list[Result]) -> None:
    write(producer, found, commit=False)
    write(producer, found, partition=1)
    with subscribe("peaks", start="earliest", end=True) as results:
        assert [one.query for one in results] == ["peaks", "peaks"]
    with subscribe(["nobody"], start="earliest", end=True) as results:
        assert list(results) == []


def test_from_now_on(producer: Producer, found: list[Result]) -> None:
    write(producer, found[:1])
    with subscribe(end=True) as results:
        write(producer, found[1:2])
        assert [one.id for one in results] == [found[1].id]


def test_positions_go_on_behind_the_last_result_given(producer: Producer, found: list[Result]) -> None:
    matches = [one for one in found if isinstance(one, saffron.Match)]
    write(producer, matches)
    with subscribe(start="earliest", end=True) as results:
        first = next(results)
        kept = results.positions
    with subscribe(start=kept, end=True) as results:
        assert [first.id, *(one.id for one in results)] == [one.id for one in matches]
        assert set(kept) == {"complex-events/0", "complex-events/1", "trends/0", "trends/1"}
    with subscribe(start={"complex-events/0": kept["complex-events/0"]}, end=True) as results:
        assert [one.id for one in results] == [matches[1].id]


def register(producer: Producer, text: str, name: str = "peaks", version: int = 1) -> None:
    """A query's record as the control API writes it."""
    producer.begin()
    producer.send("t.queries", 0, encode(QueryRecord(name, version, ADD, text).body()), key=name.encode())
    producer.commit()


def publish(producer: Producer, results: Sequence[Result], topic: str) -> None:
    """Results in a topic of PUBLISH, under keys that do not name their query."""
    producer.begin()
    for one in results:
        producer.send(topic, 0, written(one), key=b"IBM")
    producer.commit()


def test_topics_of_publish_are_read_with_the_others(
    producer: Producer, found: list[Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "_LOOK_AGAIN", 0.0)
    register(producer, f"{MATCHES} PUBLISH 'alerts' KEY 1")
    with subscribe("peaks", start="earliest", end=True) as none_yet:
        assert not list(none_yet)
    log = kafka_log.connect(Settings())
    log.create_topics([TopicSpec("alerts", 1, {}), TopicSpec("more", 1, {})])
    matches = [one for one in found if one.query == "peaks"]
    publish(producer, matches[:1], "alerts")
    with subscribe("peaks", start="earliest", end=True) as results:
        assert [one.id for one in results] == [matches[0].id]
        kept = results.positions
        assert kept["alerts/0"] == 1
    register(producer, f"{MATCHES} PUBLISH 'more'", version=2)  # the query moves; positions still name the topic before
    publish(producer, matches[1:2], "more")
    publish(producer, found[:1], "alerts")
    with subscribe(start=kept, end=True) as results:
        assert {one.id for one in results} == {found[0].id, matches[1].id}
    log.close()


def test_rows_are_no_results(producer: Producer) -> None:
    register(producer, f"{MATCHES} PUBLISH 'table' AS JSON SCHEMA")
    with pytest.raises(InputError, match=r"peaks publishes rows .* to 'table'"):
        subscribe("peaks")
    with subscribe(end=True) as results:
        assert not list(results)


def test_a_start_that_does_not_fit(producer: Producer) -> None:
    with pytest.raises(InputError, match="no partition trends/7"):
        subscribe(start={"trends/7": 1})
    with pytest.raises(InputError, match="start: 'yesterday' is none"):
        subscribe(start="yesterday")  # type: ignore[arg-type]


def test_a_start_that_is_gone_is_warned_of(producer: Producer, found: list[Result]) -> None:
    write(producer, found)
    with (
        subscribe(start={"trends/0": 1000}, end=True) as results,
        pytest.warns(UserWarning, match="trends/0 has no offset 1000"),
    ):
        list(results)


def test_partitions_that_are_added_are_read_whole(
    producer: Producer, found: list[Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "_LOOK_AGAIN", 0.0)
    write(producer, found[:1])
    with subscribe("peaks", end=True) as results:
        log = kafka_log.connect(Settings())
        log.add_partitions("t.complex-events", 3)
        write(producer, found[1:2], partition=2)
        assert [one.id for one in results] == [found[1].id]
        assert results.positions["complex-events/2"] == 1
        log.close()


def test_a_system_that_is_not_there(producer: Producer) -> None:
    with pytest.raises(LogError, match=r"no topic 'other\.complex-events'"):
        saffron.subscribe(brokers="memory", prefix="other.")


def test_nothing_runs(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(UnavailableError, match="nothing runs"):
        saffron.subscribe(data=tmp_path_factory.mktemp("data"))


def test_what_is_no_result(producer: Producer) -> None:
    producer.begin()
    producer.send("t.trends", 0, b"\x00?", key=b"q")
    producer.commit()
    with (
        subscribe(start="earliest", end=True) as results,
        pytest.raises(SaffronError, match=r"t\.trends/0/0 is no result"),
    ):
        next(results)


def test_messages_of_other_programs_in_a_topic_of_publish_are_left_out(producer: Producer, found: list[Result]) -> None:
    register(producer, f"{MATCHES} PUBLISH 'alerts'")
    log = kafka_log.connect(Settings())
    log.create_topics([TopicSpec("alerts", 1, {})])
    matches = [one for one in found if one.query == "peaks"]
    publish(producer, matches[:1], "alerts")
    producer.begin()
    for value in (b"ours", b'{"query":7}', b"[1]", None):
        producer.send("alerts", 0, value, key=b"k")
    producer.commit()
    publish(producer, matches[1:2], "alerts")
    with (
        subscribe(start="earliest", end=True) as results,
        pytest.warns(UserWarning, match=r"^alerts/0/\d+ is no result, and left out") as told,
    ):
        assert [one.id for one in results] == [one.id for one in matches[:2]]
    assert len(told) == 1
    log.close()


def test_whoever_waits_is_told_that_it_was_closed(producer: Producer) -> None:
    results = subscribe()
    got: list[Result] = []
    waiting = threading.Thread(target=lambda: got.extend(results))
    waiting.start()
    results.close()
    waiting.join(10)
    assert not waiting.is_alive()
    assert got == []


def test_silence_ends_it(producer: Producer, found: list[Result]) -> None:
    write(producer, found[:1])
    with subscribe(start="earliest", timeout=0.0) as results:
        assert len(list(results)) == 1


def test_async_loses_nothing_when_someone_gives_up(producer: Producer, found: list[Result]) -> None:
    matches = [one for one in found if isinstance(one, saffron.Match)]

    async def read() -> list[str]:
        async with subscribe("peaks") as results:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(results), 0.01)
            write(producer, matches)
            return [(await anext(results)).id for _ in matches]

    async def all_of_them() -> list[str]:
        async with subscribe(start="earliest", end=True) as results:
            return [one.id async for one in results]

    assert asyncio.run(read()) == [one.id for one in matches]
    assert asyncio.run(all_of_them()) == [one.id for one in matches]


def test_tasks_that_share_a_subscription_get_each_result_once(producer: Producer, found: list[Result]) -> None:
    write(producer, found)

    async def shared() -> list[str]:
        async with subscribe(start="earliest", end=True) as results:

            async def work() -> list[str]:
                return [one.id async for one in results]

            return [name for names in await asyncio.gather(work(), work(), work()) for name in names]

    assert sorted(asyncio.run(shared())) == sorted(one.id for one in found)


def test_a_closed_one_has_ended_for_coroutines_too(producer: Producer, found: list[Result]) -> None:
    write(producer, found)

    async def closed() -> list[Result]:
        results = subscribe(start="earliest", end=True)
        first = await anext(results)
        results.close()
        return [first, *[one async for one in results]]

    assert len(asyncio.run(closed())) == 1
