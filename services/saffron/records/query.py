"""The record of a standing query on `queries` (schemas/queries.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.records.codec import RecordError, decode, encode, optional, others, require

OPS = ADD, PAUSE, RESUME = "add", "pause", "resume"
STARTS = NOW, EARLIEST = "now", "earliest"
ANY_SHEDDER = "auto"
_FIELDS = frozenset({"name", "version", "op", "text", "from", "shed"})


@dataclass(frozen=True)
class QueryRecord:
    """One version of a query. `op`: what it does to the version before; `text` is whole in any case.

    `start`: from where a new query sees events ("from" in the record). `shed`: its shedder's name.
    `unknown`: fields of a later version, which stay as they are.
    """

    name: str
    version: int
    op: str
    text: str
    start: str = NOW
    shed: str = ANY_SHEDDER
    unknown: Mapping[str, Any] = field(default_factory=dict)

    @property
    def paused(self) -> bool:
        """Whether it is to take no events."""
        return self.op == PAUSE

    @classmethod
    def read(cls, key: str, value: bytes) -> QueryRecord:
        """The record under this key. RecordError: it cannot be read."""
        body = decode(value)
        version, op = require(body, "version", int), require(body, "op", str)
        start = optional(body, "from", str) or NOW
        if version < 1:
            raise RecordError(f'"version" should be 1 or more, and is {version}')
        if op not in OPS:
            raise RecordError(f'"op" should be {" or ".join(OPS)}, and is {op!r}')
        if start not in STARTS:
            raise RecordError(f'"from" should be {" or ".join(STARTS)}, and is {start!r}')
        text, shed = require(body, "text", str), optional(body, "shed", str) or ANY_SHEDDER
        return cls(key, version, op, text, start, shed, others(body, _FIELDS))

    def body(self) -> dict[str, Any]:
        """The fields."""
        return {
            "name": self.name,
            "version": self.version,
            "op": self.op,
            "text": self.text,
            "from": self.start,
            "shed": self.shed,
            **self.unknown,
        }

    def encode(self) -> bytes:
        """The value of the message."""
        return encode(self.body())
