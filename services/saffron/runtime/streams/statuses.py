"""What services have said of queries: written once for each change, and what `windowing` and the engines wait for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.records.status import FAILED, READY, QueryStatus
from saffron.records.table import Applied
from saffron.runtime.log import Producer
from saffron.runtime.log.topics import Topics


class Statuses:
    """Writes what has changed, and only that."""

    def __init__(self, producer: Producer, topics: Topics) -> None:
        self._producer = producer
        self._topic = topics.query_status
        self._written: dict[str, QueryStatus] = {}

    def report(self, status: QueryStatus, *, again: bool = False) -> None:
        """`again`: even if this process has said it last."""
        if self._written.get(status.key) == status and not again:
            return
        self._written[status.key] = status
        self._producer.send(self._topic, 0, status.encode(), key=status.key.encode())

    def withdraw(self, key: str) -> None:
        """A tombstone for what anybody has said under this key."""
        self._written.pop(key, None)
        self._producer.send(self._topic, 0, None, key=key.encode())

    def tombstone_read(self, key: str) -> None:
        """Somebody has tombstone_read what stands under this key: it is said again, if it is still so."""
        self._written.pop(key, None)

    def forget(self, stream: str, partition: int) -> None:
        """The partition is another's now: if it comes back, everything is said again."""
        self._written = {k: s for k, s in self._written.items() if (s.stream, s.partition) != (stream, partition)}


class ReadyStatuses:
    """Which version of each query which service has compiled, by partition: what `windowing` waits for."""

    def __init__(self) -> None:
        self._ready: dict[str, QueryStatus] = {}

    def read(self, change: Applied[QueryStatus]) -> None:
        """A status; one that is no "ready" leaves the last one that was."""
        if change.row is None:
            self._ready.pop(change.key, None)
        elif change.row.state == READY and change.row.partition is not None:
            self._ready[change.key] = change.row

    def is_ready(
        self, name: str, version: int, service: str, stream: str, partition: int, schema_id: str | None = None
    ) -> bool:
        """`schema_id`: for a stream with this schema; None: for one that has none yet, so that any will do."""
        status = self._ready.get(QueryStatus(name, version, service, stream, partition, READY).key)
        return status is not None and status.version == version and schema_id in (None, status.schema_id)


class AnnouncedSchemas:
    """The schemas that `windowing` has inferred and holds back events for, until queries are compiled for them."""

    def __init__(self) -> None:
        self._schemas: dict[tuple[str, str, int | None], QueryStatus] = {}

    def read(self, change: Applied[QueryStatus]) -> None:
        """A status. An announcement stands until the next: what follows is the schema itself."""
        status = change.row
        if status is not None and status.schema is not None:
            self._schemas[status.name, status.stream, status.partition] = status

    def schema(self, name: str, version: int, stream: str, partition: int) -> Mapping[str, Any] | None:
        """Record of the schema to compile this version for."""
        found = self._schemas.get((name, stream, partition))
        return None if found is None or found.version != version else found.schema


class FailedStatuses:
    """Which version of each query has failed, by stream: what `windowing` stops everywhere."""

    def __init__(self) -> None:
        self._failed: dict[tuple[str, str], tuple[int, str]] = {}
        self._keys: dict[str, tuple[str, str]] = {}

    def read(self, change: Applied[QueryStatus]) -> None:
        """A status. What windowing says of it is in the log already; what is tombstone_read is over."""
        status = change.row
        if status is None:
            self._failed.pop(self._keys.pop(change.key, ("", "")), None)
        elif status.state == FAILED and status.service != "windowing":
            self.add(status)

    def add(self, status: QueryStatus) -> None:
        """What is about to be said."""
        at = status.name, status.stream
        self._keys[status.key] = at
        if status.version >= self._failed.get(at, (0, ""))[0]:
            self._failed[at] = status.version, status.reason or ""

    def failed(self, name: str, stream: str) -> tuple[int, str]:
        """(version, reason) of the newest one; version 0 where none has failed."""
        return self._failed.get((name, stream), (0, ""))
