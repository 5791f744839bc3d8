"""Versions of inferred schemas on the topic `streams`: the newest of each stream, under a key of its own.

Any process that finds new attributes writes the next version. Two may write at once, and the later record then lacks
the other's attributes. So a version is complete only when one record covers all earlier ones. A process that waits for
a complete version writes that record. Users change the stream's own record; it is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    """The state of a stream's versions.

    `number` and `schema`: of the last record. `combined`: the join of all records read. `is_lost`: a record that cannot
    be read has replaced it.
    """

    number: int
    schema: Schema
    combined: Schema
    is_lost: bool = False


class SchemaVersions:
    """The versions of all streams, by stem."""

    def __init__(self) -> None:
        self._versions: dict[str, Version] = {}

    def read(self, change: Applied[VersionRecord]) -> None:
        """Applies a record, whose schema can be read, or a tombstone of `streams`."""
        row = change.row
        if row is None:
            self._versions = {stem: one for stem, one in self._versions.items() if change.key != f"{stem}/schema"}
            return
        schema, before = schema_from_record(row.schema), self._versions.get(row.stem)
        self._versions[row.stem] = Version(
            row.version, schema, schema if before is None else joined(before.combined, schema)
        )

    def lost(self, stem: str) -> None:
        """Applies a record that cannot be read: the one before is gone once Kafka compacts it away.

        It is complete no longer, so that whoever has the schema in force writes the next version.
        """
        if (version := self._versions.get(stem)) is not None:
            self._versions[stem] = replace(version, is_lost=True)

    def of(self, stem: str) -> Version | None:
        """The stream's version, or None."""
        return self._versions.get(stem)


def is_complete(version: Version, wanted: Schema) -> bool:
    """True if the last record stays, and covers all earlier records and the schema `wanted`."""
    return not version.is_lost and knows(version.schema, version.combined) and knows(version.schema, wanted)


def announce(producer: Producer, topics: Topics, stem: str, version: Version | None, wanted: Schema) -> None:
    """Writes the next version: the join of all records and `wanted`."""
    following = wanted if version is None else joined(version.combined, wanted)
    record = VersionRecord(stem, 1 if version is None else version.number + 1, schema_to_record(following))
    producer.send(topics.streams, 0, record.encode(), key=record.key.encode())


def extends(record: Mapping[str, Any], other: Mapping[str, Any] | None) -> bool:
    """True if the schema record covers more than `other` (None: no version yet)."""
    if other is None or record == other:
        return other is None
    return not knows(schema_from_record(other), schema_from_record(record))
