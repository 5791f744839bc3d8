"""The record of a version of a stream's inferred schema, on `streams` under a key of its own (schemas/streams.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saffron.records.codec import RecordError, decode, encode, require

_TAIL = "/schema"


@dataclass(frozen=True)
class VersionRecord:
    """What windowing has found events of a stream to have. `stem`: of the stream. `version`: number of the record.
    `schema`: as the control "schema" has it."""

    stem: str
    version: int
    schema: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The key of the message."""
        return version_key(self.stem)

    @classmethod
    def read(cls, key: str, value: bytes) -> VersionRecord:
        """The record under this key. RecordError: it cannot be read."""
        body = decode(value)
        stem = require(body, "stream", str)
        if version_key(stem) != key:
            raise RecordError(f"its stream {stem!r} is not that of its key {key!r}")
        return cls(stem, require(body, "version", int), require(body, "schema", dict))

    def encode(self) -> bytes:
        """The value of the message."""
        return encode({"stream": self.stem, "version": self.version, "schema": self.schema})


def version_key(stem: str) -> str:
    """The key of a stream's versions."""
    return stem + _TAIL


def is_version_key(key: str) -> bool:
    """Whether a message of `streams` is such a record."""
    return key.endswith(_TAIL)
