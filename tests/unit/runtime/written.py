"""What services would have written to a log: blocks behind the shedder, dead letters beside the stream."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import orjson

from saffron.engine.events.codec import encode_block
from saffron.engine.events.raw import batch_of_values
from saffron.engine.windows.operator import WindowingOperator
from saffron.runtime.hops.tags import BlockTag
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.log.topics import Topics
from saffron.runtime.results.large_results import LargeResult


def write_block(log: Log, topics: Topics, partition: int, lines: Sequence[bytes]) -> None:
    """These events, and with them their watermark, on `admitted`."""
    windowing = WindowingOperator(partition, "events")
    windowing.ingest(batch_of_values(lines))
    producer = log.producer()
    for block in windowing.flush():
        headers = BlockTag(0, -1, -1, False).headers()
        producer.send(topics.admitted_of("events"), partition, encode_block(block), headers=headers)
    producer.flush(1.0)


def write_letter(
    log: Log,
    topics: Topics,
    partition: int,
    value: bytes,
    reason: str,
    detail: str,
    key: bytes | None = b"IBM",
    stream: str = "",
) -> str:
    """A message on `events` and its dead letter, as windowing writes it; the letter's id."""
    producer = log.producer()
    producer.send(topics.events, partition, value, key=key, headers=(("trace", b"7"),), timestamp=5_000)
    producer.flush(1.0)
    offset = _high(log, topics.events, partition) - 1
    row = {"topic": topics.events, "partition": partition, "offset": offset, "timestamp": 5_000, "reason": reason}
    row |= {"stream": stream} if stream else {}
    try:
        row |= {"detail": detail, "value": value.decode(), "encoding": "utf-8"}
    except UnicodeDecodeError:
        row |= {"detail": detail, "value": base64.b64encode(value).decode(), "encoding": "base64"}
    name = f"{topics.events}/{partition}/{offset}"
    producer.send(topics.dead_letters, partition, orjson.dumps(row), key=name.encode())
    producer.flush(1.0)
    return name


def write_result_letter(log: Log, topics: Topics, partition: int, query: str) -> str:
    """The dead letter of a result that was too large, as the matcher writes it; its id."""
    body = b'{"id":"%s","key":{},"start":5,"end":9,"window":null,"events":{}}' % (b"0" * 32)
    where = TopicPartition(topics.admitted, partition)
    found = LargeResult(where, 4, 1, query, "0" * 32, 5_000, len(body), body)
    producer = log.producer("matcher.0")
    producer.begin()
    producer.send(topics.dead_letters, partition, found.letter(20), key=found.key)
    producer.commit()
    return found.key.decode()


def _high(log: Log, topic: str, partition: int) -> int:
    consumer = log.consumer("high", committed_only=False)
    try:
        return consumer.watermarks(TopicPartition(topic, partition))[1]
    finally:
        consumer.close()
