"""Asks with our own client what others' clients (Faust, Spark) need of Kafka: they do not say what they lack."""

from __future__ import annotations

from collections.abc import Sequence

from saffron.errors import LogError
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.log.ends import read_to_end

_POLLS, _POLL_SECONDS = 200, 0.05
_BATCH = 100


def require_readable(log: Log, group: str, topics: Sequence[str]) -> None:
    """LogError: one of them is missing, or may not be read. `group`: nothing is committed under it."""
    counts = {name: log.partitions(name) for name in topics}
    if missing := [name for name, count in counts.items() if count is None]:
        raise LogError(f"topic {missing[0]} does not exist: `saffron up` creates all topics")
    places = [TopicPartition(name, one) for name, count in counts.items() for one in range(count or 0)]
    consumer = log.consumer(group, committed_only=False, client_id="rights")
    try:
        read_to_end(consumer, {place: consumer.watermarks(place)[1] for place in places}, batch=_BATCH, polls=_POLLS)
    finally:
        consumer.close()


def require_joinable(log: Log, group: str, topic: str) -> None:
    """LogError: the group may not be joined by who reads the topic."""
    joined: list[TopicPartition] = []
    consumer = log.consumer(group, committed_only=False, client_id="rights")
    try:
        consumer.subscribe([topic], joined.extend, lambda _: None, lambda _: None)
        for _ in range(_POLLS):
            if joined:
                return
            consumer.poll(1, _POLL_SECONDS)
    finally:
        consumer.close()
