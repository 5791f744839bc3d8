"""Checks, with our own client, of rights that others' clients (Faust, Spark) need: they do not name a missing right."""

from __future__ import annotations

from collections.abc import Sequence

from saffron.errors import LogError
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.log.ends import read_to_end

_POLLS, _POLL_SECONDS = 200, 0.05
_BATCH = 100


def require_readable(log: Log, group: str, topics: Sequence[str]) -> None:
    """LogError: a topic is missing, or may not be read. Nothing is committed under `group`."""
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
    """LogError: the reader of the topic may not join the group."""
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
