"""The record of an inferred schema's version on `streams`, under its own key (schemas/streams.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saffron.records.codec import RecordError, decode, encode, require

_TAIL = "/schema"


@dataclass(frozen=True)
class VersionRecord:
    """A version of a stream's inferred schema. `stem`: of the stream. `schema`: as in the control record "schema"."""

    stem: str
    version: int
    schema: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The message key."""
        return version_key(self.stem)

    @classmethod
    def read(cls, key: str, value: bytes) -> VersionRecord:
        """The record in a message. RecordError: it cannot be read."""
        body = decode(value)
        stem = require(body, "stream", str)
        if version_key(stem) != key:
            raise RecordError(f"its stream {stem!r} is not that of its key {key!r}")
        return cls(stem, require(body, "version", int), require(body, "schema", dict))

    def encode(self) -> bytes:
        """The value of the message."""
        return encode({"stream": self.stem, "version": self.version, "schema": self.schema})


def version_key(stem: str) -> str:
    """The message key of a stream's versions."""
    return stem + _TAIL


def is_version_key(key: str) -> bool:
    """True if a message of `streams` with this key is a version record."""
    return key.endswith(_TAIL)


def stem_of(key: str) -> str:
    """The stem of the stream that a version record's key names."""
    return key.removesuffix(_TAIL)
