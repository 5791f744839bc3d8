"""The ends of topics, read by somebody who asks now and then, and does not follow them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saffron.runtime.log import Consumer, Record, TopicPartition

_POLL_SECONDS = 0.05


def read_to_end(consumer: Consumer, starts: Mapping[TopicPartition, int], *, batch: int, polls: int) -> list[Record]:
    """What lies between `starts` and the ends, tombstones included; what `polls` polls have brought by then."""
    return list(each_to_end(consumer, starts, batch=batch, polls=polls))


def each_to_end(
    consumer: Consumer, starts: Mapping[TopicPartition, int], *, batch: int, polls: int
) -> Iterator[Record]:
    """The same one by one, for whoever keeps only few of them."""
    consumer.assign(starts)
    for _ in range(polls):
        records = consumer.poll(batch, _POLL_SECONDS)
        yield from records
        if not records and all(consumer.at_end(place) for place in starts):
            break
