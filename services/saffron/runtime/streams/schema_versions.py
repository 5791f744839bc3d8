"""The inferred schemas of streams, as `streams` has them: the newest version of each, under a key of its own.

Whoever finds that a stream needs more than its version says writes the next one. Of two that write at once, the second
to be read lacks what the first one schema; so a version counts only once a single record says all that was ever schema,
and whoever waits for one writes that record. The stream's own record, which people change, is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from saffron.engine.events.decoding.growth import joined, knows
from saffron.engine.events.schema_record import schema_from_record, schema_to_record
from saffron.records.table import Applied
from saffron.records.version import VersionRecord
from saffron.runtime.log import Producer
from saffron.runtime.log.topics import Topics
from saffron.schema.schema import Schema


@dataclass(frozen=True)
class Version:
    """`schema`: what the last record says; `combined`: what all records read say together; `number`: of the record."""

    number: int
    schema: Schema
    combined: Schema


class SchemaVersions:
    """Of all streams, by stem."""

    def __init__(self) -> None:
        self._versions: dict[str, Version] = {}

    def read(self, change: Applied[VersionRecord]) -> None:
        """A record of `streams`, or a tombstone. LogError: what it says is no schema."""
        row = change.row
        if row is None:
            self._versions = {stem: one for stem, one in self._versions.items() if change.key != f"{stem}/schema"}
            return
        schema, before = schema_from_record(row.schema), self._versions.get(row.stem)
        self._versions[row.stem] = Version(
            row.version, schema, schema if before is None else joined(before.combined, schema)
        )

    def of(self, stem: str) -> Version | None:
        """The version that was schema last; None: the stream has none."""
        return self._versions.get(stem)


def settled(version: Version, wanted: Schema) -> bool:
    """Whether the last record says all that was schema, and all that is wanted."""
    return knows(version.schema, version.combined) and knows(version.schema, wanted)


def announce(producer: Producer, topics: Topics, stem: str, version: Version | None, wanted: Schema) -> None:
    """Write the next version: all that was schema, and what is wanted."""
    following = wanted if version is None else joined(version.combined, wanted)
    record = VersionRecord(stem, 1 if version is None else version.number + 1, schema_to_record(following))
    producer.send(topics.streams, 0, record.encode(), key=record.key.encode())


def is_above(record: Mapping[str, Any], other: Mapping[str, Any] | None) -> bool:
    """Whether a version says more than the other one (records of both; None: there is none yet)."""
    if other is None or record == other:
        return other is None
    return not knows(schema_from_record(other), schema_from_record(record))
