"""Files of messages to a topic as they are, with their own keys, times and headers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from saffron.cli import console
from saffron.cli.client import Client
from saffron.cli.streams.lines import LeftOut, batches
from saffron.runtime.log import Record, TopicPartition, TopicSpec
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.streams.messages import record_in

_FLUSH_SECONDS = 120.0


def produce_messages(client: Client, topic: str, files: Sequence[str], limit: int | None, left_out: LeftOut) -> int:
    """Sends the lines of files to a topic, which is made if it is missing; returns how many.

    A line is a message's value, or {"key": ..., "time": ..., "headers": ..., "value": ...}.
    """
    if client.log.partitions(topic) is None:
        # Lines may have times of the past, which the broker would soon remove.
        client.log.create_topics([TopicSpec(topic, 1, {"retention.ms": "-1"})])
        console.say(f"topic {topic} is new: it has 1 partition, and keeps its messages")
    count = client.log.partitions(topic) or 1
    producer = client.log.producer(client_id="produce", bulk=True)
    sent = 0
    try:
        for record in islice(_records(topic, files, left_out), limit):
            where = partition_of(record.key, count) if record.key is not None else sent % count
            time = record.timestamp if record.timestamp >= 0 else None
            producer.send(topic, where, record.value, key=record.key, headers=record.headers, timestamp=time)
            sent += 1
        producer.flush(_FLUSH_SECONDS)
    finally:
        producer.close()
    return sent


def _records(topic: str, files: Sequence[str], left_out: LeftOut) -> Iterator[Record]:
    where = TopicPartition(topic, 0)
    for lines in batches(files, left_out, typed=False):
        for line in lines:
            yield record_in(line, where, 0)
