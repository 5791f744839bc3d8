"""Words about queries on `query-status`: written by services, read by `windowing`, `control` and the command line."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from saffron.runtime.log import Producer, Record
from saffron.runtime.topics import Topics, status_key


@dataclass(frozen=True)
class Status:
    """One word of one service about one query on one partition (schemas/query-status.yaml)."""

    name: str
    version: int
    service: str
    stream: str
    partition: int
    state: str
    reason: str | None = None
    position: int | None = None


class Statuses:
    """Writes what has changed, and only that."""

    def __init__(self, producer: Producer, topics: Topics) -> None:
        self._producer = producer
        self._topic = topics.query_status
        self._said: dict[bytes, Status] = {}

    def say(self, status: Status) -> None:
        key = status_key(status.name, status.service, status.stream, status.partition)
        if self._said.get(key) == status:
            return
        self._said[key] = status
        body = {name: getattr(status, name) for name in Status.__dataclass_fields__}
        self._producer.send(self._topic, 0, orjson.dumps(body), key=key)

    def forget(self, stream: str, partition: int) -> None:
        """The partition is another's now: if it comes back, everything is said again."""
        self._said = {k: s for k, s in self._said.items() if (s.stream, s.partition) != (stream, partition)}


class ReadyMarks:
    """Which version of each query which service has compiled, by partition: what `windowing` waits for."""

    def __init__(self) -> None:
        self._ready: dict[tuple[str, str, str, int], int] = {}

    def read(self, record: Record) -> None:
        """A record of `query-status`; whatever is no "ready" is not for us."""
        try:
            body = orjson.loads(record.value or b"")
            if body["state"] == "ready" and body["partition"] is not None:
                self._ready[body["name"], body["service"], body["stream"], body["partition"]] = body["version"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return  # a tombstone, or nothing of ours

    def ready(self, name: str, version: int, service: str, stream: str, partition: int) -> bool:
        return self._ready.get((name, service, stream, partition)) == version
