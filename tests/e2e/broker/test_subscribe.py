"""`saffron.subscribe` on a real broker: committed results alone, from a position on, and those that come meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import orjson

import saffron
from saffron.api.result import Result
from saffron.runtime.log import Producer
from saffron.runtime.log.kafka import kafka_log
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.process.config import Settings
from tests.unit.api.samples import EVENTS, MATCHES


def write(producer: Producer, topic: str, results: Sequence[Result], *, commit: bool) -> None:
    producer.begin()
    for one in results:
        producer.send(topic, 0, orjson.dumps({**one.to_dict(), "detected_at": 1}), key=one.query.encode())
    if commit:
        producer.commit()
    else:
        producer.abort()


def test_results_come_once_and_in_order(broker: str, prefix: str) -> None:
    log = kafka_log.connect(Settings(bootstrap=broker, prefix=prefix))
    log.create_topics(topic_specs(prefix, 1))
    producer, topic = log.producer(f"{prefix}writer"), f"{prefix}complex-events"
    found = list(saffron.replay(MATCHES, EVENTS))
    write(producer, topic, found, commit=False)
    write(producer, topic, found[:1], commit=True)
    with saffron.subscribe(start="earliest", end=True, brokers=broker, prefix=prefix) as results:
        assert [one.id for one in results] == [found[0].id]
        kept = results.positions

    async def coming() -> list[str]:
        async with saffron.subscribe("peaks", start=kept, timeout=30, brokers=broker, prefix=prefix) as results:
            waiting = asyncio.ensure_future(anext(results))
            await asyncio.to_thread(write, producer, topic, found[1:], commit=True)
            return [(await waiting).id]

    assert asyncio.run(coming()) == [found[1].id]
    log.close()
