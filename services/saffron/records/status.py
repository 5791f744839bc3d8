"""The record of a query's status on `query-status` (schemas/query-status.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from saffron.records.codec import decode, encode, optional, require

READY, ACTIVE, PAUSED, REMOVED = "ready", "active", "paused", "removed"
REJECTED, FAILED, WAITING, ENDED = "rejected", "failed", "waiting", "ended"


@dataclass(frozen=True)
class QueryStatus:
    """The last report of one service on one version of a query, for one partition or (None) a whole stream.

    `state`: one of those above, or one of a later version. `reason`: given where the state needs one. `position`:
    sequence number from which it is in force. `schema`: record of the schema that `windowing` has inferred, and puts in
    force once the query is compiled for it. `schema_id`: fingerprint of the schema for which a query is "ready".
    """

    name: str
    version: int
    service: str
    stream: str
    partition: int | None
    state: str
    reason: str | None = None
    position: int | None = None
    schema: Mapping[str, Any] | None = None
    schema_id: str | None = None

    @property
    def key(self) -> str:
        """The message key. Compaction keeps the last report of each service on each partition."""
        tail = "" if self.partition is None else f"/{self.partition}"
        return f"{self.name}/{self.service}/{self.stream}{tail}"

    @classmethod
    def read(cls, key: str, value: bytes) -> QueryStatus:
        """The record in a message. RecordError: it cannot be read."""
        del key
        body = decode(value)
        return cls(
            name=require(body, "name", str),
            version=require(body, "version", int),
            service=require(body, "service", str),
            stream=require(body, "stream", str),
            partition=optional(body, "partition", int),
            state=require(body, "state", str),
            reason=optional(body, "reason", str),
            position=optional(body, "position", int),
            schema=optional(body, "schema", dict),
            schema_id=optional(body, "schema_id", str),
        )

    def body(self) -> dict[str, Any]:
        """The fields of the record. Schema fields that are None are left out."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: one for name, one in found.items() if one is not None or not name.startswith("schema")}

    def encode(self) -> bytes:
        """The value of the message."""
        return encode(self.body())
