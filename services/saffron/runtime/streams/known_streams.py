"""The content of the topic `streams`: the record of each stream, and its schema in force."""

from __future__ import annotations

from saffron.engine.events.decoding.growth import given_anew
from saffron.engine.events.json_schema import from_json_schema
from saffron.errors import SchemaError
from saffron.records.stream import StreamRecord
from saffron.records.table import Applied, Unreadable
from saffron.records.version import VersionRecord, is_version_key, stem_of
from saffron.runtime.log.topics import Topics
from saffron.runtime.streams.control_topics import stream_records, streams_of, version_records
from saffron.runtime.streams.schema_versions import SchemaVersions
from saffron.schema.schema import Schema


class KnownStreams:
    """A table fed message by message, in the order of the topic's one partition.

    `records`: streams by name; the default one only if it has a record. `versions`: of inferred schemas, by stem.
    `next_offset`: after the last message. `prefix`: of Saffron's own topics.
    """

    def __init__(self, topics: Topics) -> None:
        self.records = stream_records(topics.streams)
        self.prefix = topics.prefix
        self._events = topics.events
        self._version_records = version_records(topics.streams)
        self.versions = SchemaVersions()
        self.next_offset = 0

    def apply(
        self, key: bytes | None, value: bytes | None, offset: int
    ) -> Applied[StreamRecord] | Applied[VersionRecord] | Unreadable | None:
        """Applies one message. The record before one that cannot be read stays in force."""
        self.next_offset = offset + 1
        name = (key or b"").decode("utf-8", "replace")
        if not is_version_key(name):
            return self.records.apply(key, value, offset)
        found = self._version_records.apply(key, value, offset)
        if isinstance(found, Applied):
            self.versions.read(found)
        elif isinstance(found, Unreadable):
            self.versions.lost(stem_of(name))
        return found

    @property
    def unreadable(self) -> list[Unreadable]:
        """The newest messages of the keys whose newest message cannot be read."""
        return [*self.records.unreadable.values(), *self._version_records.unreadable.values()]

    def all(self) -> dict[str, StreamRecord]:
        """All streams by name, the default one first."""
        return streams_of(self.records, self._events)

    def get(self, name: str) -> StreamRecord | None:
        """The stream of this name, or None."""
        return self.all().get(name)

    def schema(self, record: StreamRecord) -> Schema | None:
        """The stream's schema in force: that of its events joined with the given one. None: neither exists yet.

        A given schema that contradicts that of the events is not in force: windowing does not take it either.
        """
        version = self.versions.of(record.stem)
        given = None if record.schema is None else from_json_schema(record.schema)
        if version is None or given is None:
            return given if version is None else version.combined
        return version.combined if self.contradiction(record) else given_anew(version.combined, given)

    def contradiction(self, record: StreamRecord) -> str:
        """The reason why the stream's given schema cannot be in force beside that of its events; "" without one."""
        version = self.versions.of(record.stem)
        if version is not None and record.schema is not None:
            try:
                given_anew(version.combined, from_json_schema(record.schema))
            except SchemaError as error:
                return str(error)
        return ""

    def of_events(self) -> dict[str, Schema]:
        """The schemas that the events of streams have had, by the streams' names."""
        found = {name: self.versions.of(record.stem) for name, record in self.all().items()}
        return {name: version.combined for name, version in found.items() if version is not None}
