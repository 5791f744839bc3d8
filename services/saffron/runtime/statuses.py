"""Words about queries on `query-status`: written by services, read by `windowing`, `control` and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from saffron.runtime.log import Producer, Record
from saffron.runtime.topics import Topics, status_key


@dataclass(frozen=True)
class Status:
    """One word of one service about one query on one partition (schemas/query-status.yaml).

    `schema`: record of the schema that `windowing` has inferred, and puts in force once the query is compiled for it.
    `schema_id`: fingerprint of the schema that a query is "ready" for.
    """

    name: str
    version: int
    service: str
    stream: str
    partition: int
    state: str
    reason: str | None = None
    position: int | None = None
    schema: Mapping[str, Any] | None = None
    schema_id: str | None = None

    def body(self) -> dict[str, Any]:
        """The message; what few statuses have is left out of the others."""
        fields = {name: getattr(self, name) for name in Status.__dataclass_fields__}
        return {name: one for name, one in fields.items() if one is not None or not name.startswith("schema")}


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
        self._producer.send(self._topic, 0, orjson.dumps(status.body()), key=key)

    def forget(self, stream: str, partition: int) -> None:
        """The partition is another's now: if it comes back, everything is said again."""
        self._said = {k: s for k, s in self._said.items() if (s.stream, s.partition) != (stream, partition)}


class ReadyMarks:
    """Which version of each query which service has compiled, by partition: what `windowing` waits for."""

    def __init__(self) -> None:
        self._ready: dict[tuple[str, str, str, int], tuple[int, str | None]] = {}

    def read(self, record: Record) -> None:
        """A record of `query-status`; whatever is no "ready" is not for us."""
        try:
            body = orjson.loads(record.value or b"")
            if body["state"] == "ready" and body["partition"] is not None:
                where = (body["name"], body["service"], body["stream"], body["partition"])
                self._ready[where] = (body["version"], body.get("schema_id"))
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return  # a tombstone, or nothing of ours

    def ready(
        self, name: str, version: int, service: str, stream: str, partition: int, schema_id: str | None = None
    ) -> bool:
        """`schema_id`: for a stream with this schema; None: for one that has none yet, so that any will do."""
        marked, for_schema = self._ready.get((name, service, stream, partition), (None, None))
        return marked == version and (schema_id is None or for_schema == schema_id)


class Announced:
    """The schemas that `windowing` has inferred and holds back events for, until queries are compiled for them."""

    def __init__(self) -> None:
        self._schemas: dict[tuple[str, str, int], tuple[int, Mapping[str, Any]]] = {}

    def read(self, record: Record) -> None:
        """A record of `query-status`. An announcement stands until the next: what follows is the schema itself."""
        try:
            body = orjson.loads(record.value or b"")
            if body.get("schema") is not None:
                where = (body["name"], body["stream"], body["partition"])
                self._schemas[where] = (body["version"], body["schema"])
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            return  # a tombstone, or nothing of ours

    def schema(self, name: str, version: int, stream: str, partition: int) -> Mapping[str, Any] | None:
        """Record of the schema to compile this version for."""
        found = self._schemas.get((name, stream, partition))
        return None if found is None or found[0] != version else found[1]


class FailedMarks:
    """Which version of each query has failed, by stream: what `windowing` stops everywhere."""

    def __init__(self) -> None:
        self._failed: dict[tuple[str, str], tuple[int, str]] = {}

    def read(self, record: Record) -> None:
        """A record of `query-status`. What windowing says of it is in the log already."""
        try:
            body = orjson.loads(record.value or b"")
            if body["state"] == "failed" and body["service"] != "windowing":
                self._note(body["name"], body["stream"], body["version"], str(body["reason"]))
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return  # a tombstone, or nothing of ours

    def note(self, status: Status) -> None:
        """What is about to be said."""
        self._note(status.name, status.stream, status.version, status.reason or "")

    def _note(self, name: str, stream: str, version: int, reason: str) -> None:
        if version >= self._failed.get((name, stream), (0, ""))[0]:
            self._failed[name, stream] = version, reason

    def failed(self, name: str, stream: str) -> tuple[int, str]:
        """(version, reason) of the newest one; version 0 where none has failed."""
        return self._failed.get((name, stream), (0, ""))
