"""The commands' connection to the running system: control topics read as tables, single messages written."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson

from saffron.cli import console
from saffron.errors import LogError, UnavailableError
from saffron.runtime import kafka_log
from saffron.runtime.config import Settings
from saffron.runtime.follower import Follower
from saffron.runtime.log import Log, Record
from saffron.runtime.state import running
from saffron.runtime.topics import Topics

_LOOK = 0.01
_FLUSH_SECONDS = 30.0
_RESTART_SECONDS = 60.0
"""How long an embedded broker that has ended is waited for."""

Table = dict[str, Any]
"""A compacted topic: the newest value by key, removed keys left out."""


class Client:
    """One command's connection."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self.settings = settings
        self.log = log
        self.topics = Topics(settings.prefix)

    def table(self, topic: str) -> Table:
        """Read a compacted topic to its end."""
        return next(self.follow(topic))

    def records(self, topic: str) -> Iterator[Record]:
        """All that stands in a topic now, older values of a key included where nobody has compacted."""
        follower = Follower(self.log, topic)
        try:
            while not follower.caught_up:
                records = follower.step()
                yield from records
                if not records:
                    time.sleep(_LOOK)
        finally:
            follower.close()

    def follow(self, topic: str) -> Iterator[Table]:
        """The table once it is complete, and then again and again, as it is at the moment of asking."""
        follower = Follower(self.log, topic)
        table: Table = {}
        try:
            while True:
                records = follower.step()
                for record in records:
                    key = (record.key or b"").decode("utf-8", "replace")
                    if record.value is None:
                        table.pop(key, None)
                    else:
                        table[key] = _json(record.value)
                if follower.caught_up:
                    yield table
                if not records:
                    time.sleep(_LOOK)
        finally:
            follower.close()

    def wait(self, topic: str, until: Callable[[Table], bool], seconds: float) -> Table | None:
        """Follow `topic` until the table satisfies `until`; None when `seconds` have passed before."""
        deadline = time.monotonic() + seconds
        for table in self.follow(topic):
            if until(table):
                return table
            if time.monotonic() > deadline:
                return None
        return None

    def put(self, topic: str, key: str, value: Mapping[str, Any] | None) -> None:
        """Write one JSON message (None: a tombstone) and wait for the broker's word."""
        producer = self.log.producer(client_id="cli")
        try:
            producer.send(topic, 0, None if value is None else orjson.dumps(value), key=key.encode())
            producer.flush(_FLUSH_SECONDS)
        finally:
            producer.close()

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has; LogError if there is no such topic."""
        count = self.log.partitions(topic)
        if count is None:
            raise LogError(f"topic {topic!r} does not exist at {self.settings.bootstrap}: is the prefix right?")
        return count


@contextmanager
def connection(settings: Settings) -> Iterator[Client]:
    """Connect; UnavailableError where there is no broker (one that is being started again is waited for)."""
    hush()
    log = kafka_log.connect(settings)
    try:
        client = Client(settings, log)
        _require(client)
        yield client
    finally:
        console.done()
        log.close()


def hush() -> None:
    """Kafka's client says nothing by itself: errors reach the user by exceptions."""
    logging.getLogger("saffron.kafka").setLevel(logging.CRITICAL)


def _require(client: Client) -> None:
    until = time.monotonic() + _RESTART_SECONDS
    while True:
        try:
            found = client.log.partitions(client.topics.queries)
            break
        except UnavailableError:
            if not _coming_back(client.settings) or time.monotonic() > until:
                raise
            console.step("the broker does not answer; it is being started again")
    if found is None:
        raise LogError(
            f"the broker at {client.settings.bootstrap} has no topic {client.topics.queries!r}: `saffron up` creates"
            " the topics; --prefix names another system on the same broker"
        )


def _coming_back(settings: Settings) -> bool:
    """Whether the broker is an embedded one, whose supervisor starts it again when it ends."""
    state = running(settings)
    return state is not None and state.embedded


def _json(value: bytes) -> Any:
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return {"unreadable": value.decode("utf-8", "replace")}
