"""Query statuses on `query-status`: writing changes, and tables of the reports that services wait for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saffron.records.status import FAILED, READY, QueryStatus
from saffron.records.table import Applied
from saffron.runtime.log import Producer
from saffron.runtime.log.topics import Topics


class Statuses:
    """Writer of statuses. A status equal to the last one written under its key is skipped."""

    def __init__(self, producer: Producer, topics: Topics) -> None:
        self._producer = producer
        self._topic = topics.query_status
        self._written: dict[str, QueryStatus] = {}

    def report(self, status: QueryStatus, *, again: bool = False) -> None:
        """Writes a status. `again`: even if this process wrote it last."""
        if self._written.get(status.key) == status and not again:
            return
        self._written[status.key] = status
        self._producer.send(self._topic, 0, status.encode(), key=status.key.encode())

    def withdraw(self, key: str) -> None:
        """Writes a tombstone for a key, whoever wrote its status."""
        self._written.pop(key, None)
        self._producer.send(self._topic, 0, None, key=key.encode())

    def tombstone_read(self, key: str) -> None:
        """Forgets what was written under a key, after another process withdrew it.

        A valid status is then written again.
        """
        self._written.pop(key, None)

    def forget(self, stream: str, partition: int) -> None:
        """Forgets what was written for a partition that another member owns now.

        If it comes back, all is written again.
        """
        self._written = {k: s for k, s in self._written.items() if (s.stream, s.partition) != (stream, partition)}


class ReadyStatuses:
    """The query versions that services have compiled, by partition. `windowing` waits for them."""

    def __init__(self) -> None:
        self._ready: dict[str, QueryStatus] = {}

    def read(self, change: Applied[QueryStatus]) -> None:
        """Applies a status. Other states than "ready" leave the last "ready" in place."""
        if change.row is None:
            self._ready.pop(change.key, None)
        elif change.row.state == READY and change.row.partition is not None:
            self._ready[change.key] = change.row

    def is_ready(
        self, name: str, version: int, service: str, stream: str, partition: int, schema_id: str | None = None
    ) -> bool:
        """True if the service is ready for this version. `schema_id`: for this schema; None: for any."""
        status = self._ready.get(QueryStatus(name, version, service, stream, partition, READY).key)
        return status is not None and status.version == version and schema_id in (None, status.schema_id)


class AnnouncedSchemas:
    """The inferred schemas for which `windowing` holds events back until queries are compiled."""

    def __init__(self) -> None:
        self._schemas: dict[tuple[str, str, int | None], QueryStatus] = {}

    def read(self, change: Applied[QueryStatus]) -> None:
        """Applies a status. An announcement stays until the next one."""
        status = change.row
        if status is not None and status.schema is not None:
            self._schemas[status.name, status.stream, status.partition] = status

    def schema(self, name: str, version: int, stream: str, partition: int) -> Mapping[str, Any] | None:
        """The schema record for which this query version must be compiled, or None."""
        found = self._schemas.get((name, stream, partition))
        return None if found is None or found.version != version else found.schema


class FailedStatuses:
    """The failed query versions, by stream. `windowing` stops them on all partitions."""

    def __init__(self) -> None:
        self._failed: dict[tuple[str, str], tuple[int, str]] = {}
        self._keys: dict[str, tuple[str, str]] = {}

    def read(self, change: Applied[QueryStatus]) -> None:
        """Applies a status.

        Those of `windowing` are skipped, since the log has them already. A tombstone removes an entry.
        """
        status = change.row
        if status is None:
            self._failed.pop(self._keys.pop(change.key, ("", "")), None)
        elif status.state == FAILED and status.service != "windowing":
            self.add(status)

    def add(self, status: QueryStatus) -> None:
        """Adds a failure before it is reported."""
        at = status.name, status.stream
        self._keys[status.key] = at
        if status.version >= self._failed.get(at, (0, ""))[0]:
            self._failed[at] = status.version, status.reason or ""

    def failed(self, name: str, stream: str) -> tuple[int, str]:
        """Version and reason of the newest failure; version 0 if there is none."""
        return self._failed.get((name, stream), (0, ""))
