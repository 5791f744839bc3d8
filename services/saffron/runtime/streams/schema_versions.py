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


@dataclass(frozen=True)
class _Written:
    """A version that this process wrote at `at_ms`, when `before` was the newest that it had read."""

    before: Version | None
    number: int
    schema: Schema
    at_ms: int


class Announcements:
    """What this process writes: each version once, for all partitions that need it.

    Another process may need the same version at the same time. So partitions other than 0 wait a moment for a record
    of another one. Two equal records are left possible, and the second changes nothing.
    """

    def __init__(self, producer: Producer, topics: Topics, wait_ms: int = 250, again_ms: int = 5_000) -> None:
        """`wait_ms`: how long partitions other than 0 wait. `again_ms`: until a version that was not read back is
        written again.
        """
        self._producer = producer
        self._topic = topics.streams
        self._wait_ms = wait_ms
        self._again_ms = again_ms
        self._written: dict[str, _Written] = {}
        self._needed: dict[tuple[str, int], tuple[Version | None, int]] = {}

    def need(self, stem: str, partition: int, version: Version | None, wanted: Schema, now_ms: int) -> None:
        """Writes the next version, the join of all records and `wanted`, if that is due.

        To be called in each step while `version`, the newest that was read, is not complete.
        """
        before, since = self._needed.get((stem, partition), (None, now_ms))
        if before is not version:
            since = now_ms
        self._needed[stem, partition] = version, since
        written = self._written.get(stem)
        if written is not None and written.before is version and now_ms - written.at_ms < self._again_ms:
            if knows(written.schema, wanted):
                return
            number, known = written.number, written.schema
        elif partition and now_ms - since < self._wait_ms:
            return
        else:
            number, known = (0, wanted) if version is None else (version.number, version.combined)
        following = joined(known, wanted)
        record = VersionRecord(stem, number + 1, schema_to_record(following))
        self._producer.send(self._topic, 0, record.encode(), key=record.key.encode())
        self._written[stem] = _Written(version, number + 1, following, now_ms)


def extends(record: Mapping[str, Any], other: Mapping[str, Any] | None) -> bool:
    """True if the schema record covers more than `other` (None: no version yet)."""
    if other is None or record == other:
        return other is None
    return not knows(schema_from_record(other), schema_from_record(record))
