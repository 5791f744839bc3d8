"""The start of a re-keying chain: what is looked for in its target is looked for beside the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from saffron.errors import SearchError
from saffron.mapping.definition import Start
from saffron.runtime.hops.input_state import REMADE, InputState
from saffron.runtime.hops.route_position import RoutePosition
from saffron.runtime.log import Record, TopicPartition, TopicSpec
from saffron.runtime.process import search
from saffron.runtime.process.background import at_once
from saffron.runtime.process.search import Search
from saffron.windowing.routing.take_over import RouteStart, find_start
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryConsumer, MemoryLog

WHERE = TopicPartition("source", 0)
WATERMARK = b'{"type":"$watermark","source":0,"of":0,"ts":5,"sources":3}'


@pytest.fixture
def log() -> Iterator[MemoryLog]:
    made = MemoryLog(MemoryBroker(lambda: 1_000))
    made.create_topics([TopicSpec("source", 1, {}), TopicSpec("target", 1, {})])
    producer = made.producer()
    for topic, value in (("source", b"1"), ("target", WATERMARK)):
        producer.send(topic, 0, value)
    yield made
    made.close()


def start(log: MemoryLog, looks: Search[Record | None]) -> RouteStart:
    consumer = log.consumer("routes", committed_only=True)
    return find_start(log, consumer, WHERE, "target", "routes", 0, 1_000, Start.LATEST, looks)


def test_what_readers_know_of_a_source_made_anew_is_looked_for_beside_the_loop(
    log: MemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_PATIENCE", 0.0)
    log.broker.offsets["routes", WHERE] = RoutePosition(7, 5, InputState("of an earlier topic")).to_committed()
    begun: list[tuple[Future[Any], Callable[[], Any]]] = []

    def later(work: Callable[[], Any]) -> Future[Any]:
        begun.append((Future(), work))
        return begun[-1][0]

    looks = Search[Record | None](later)
    for _ in range(2):
        with pytest.raises(SearchError, match="the last event of source/0 in target"):
            start(log, looks)
    ((future, work),) = begun
    future.set_result(work())
    found = start(log, looks)
    assert (found.position, found.made_anew) == (0, (1, 3))
    assert [one.kind for one in found.input.state.incidents] == [REMADE]


def test_a_source_that_goes_on_while_its_end_is_asked_for_is_no_other_one(
    log: MemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.broker.delete("target")
    log.create_topics([TopicSpec("target", 1, {})])
    watermarks = MemoryConsumer.watermarks

    def going_on(self: MemoryConsumer, partition: TopicPartition) -> tuple[int, int]:
        log.producer().send("source", 0, b"more")
        return watermarks(self, partition)

    monkeypatch.setattr(MemoryConsumer, "watermarks", going_on)
    found = start(log, Search(at_once))
    assert found.position == log.broker.partition(WHERE).high
    assert not found.input.state.incidents


@pytest.mark.parametrize(("header", "watermark"), [(None, 5), (b"70", 70), (b"-70", -70), (b"seventy", 5), (b"", 5)])
def test_a_chain_without_a_position_goes_on_with_the_watermark_that_its_reader_had(
    log: MemoryLog, header: bytes | None, watermark: int
) -> None:
    """Its last record may name a lower one, while the source reports activity."""
    topic = log.describe(["source"])["source"].id
    headers = [("place", f"{topic}/0/1/0".encode()), *([] if header is None else [("watermark", header)])]
    log.producer().send("target", 0, WATERMARK, headers=headers)
    found = start(log, Search(at_once))
    assert (found.position, found.watermark, found.said) == (1, watermark, 5)
