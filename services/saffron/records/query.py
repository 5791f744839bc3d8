"""The record of a registered query on `queries` (schemas/queries.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.records.codec import RecordError, decode, encode, optional, require, unknown_fields

OPS = ADD, PAUSE, RESUME = "add", "pause", "resume"
STARTS = NOW, EARLIEST = "now", "earliest"
ANY_SHEDDER = "auto"
SUCCESSORS = {"pspice--": "pspice", "pm-bl": "pspice", "espice": "gspice-h", "bl": "gspice-h", "e-bl": "gspice-h"}
"""Shedders that records of version 0.1.0 may name -> their replacements."""
_FIELDS = frozenset({"name", "version", "op", "text", "from", "shed"})


@dataclass(frozen=True)
class QueryRecord:
    """One version of a query. `op`: its operation on the version before. `text`: always the whole query.

    `start`: where a new query begins to see events ("from" in the record). `shed`: name of its shedder. `unknown`:
    fields of a later format, kept unchanged.
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
        """True if the query takes no events."""
        return self.op == PAUSE

    @classmethod
    def read(cls, key: str, value: bytes) -> QueryRecord:
        """The record in a message. RecordError: it cannot be read."""
        body = decode(value)
        version, op = require(body, "version", int), require(body, "op", str)
        start = optional(body, "from", str) or NOW
        if version < 1:
            raise RecordError(f'"version" should be 1 or more, and is {version}')
        if op not in OPS:
            raise RecordError(f'"op" should be {" or ".join(OPS)}, and is {op!r}')
        if start not in STARTS:
            raise RecordError(f'"from" should be {" or ".join(STARTS)}, and is {start!r}')
        optional(body, "shed", str)
        return cls(key, version, op, require(body, "text", str), start, shedder_of(body), unknown_fields(body, _FIELDS))

    def body(self) -> dict[str, Any]:
        """The fields of the record."""
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


def shedder_of(body: Mapping[str, Any]) -> str:
    """The name of the shedder in a query's record, control or checkpoint entry."""
    named = str(body.get("shed") or ANY_SHEDDER)
    return SUCCESSORS.get(named, named)
