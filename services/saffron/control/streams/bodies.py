"""Streams as JSON values, for commands and the API."""

from __future__ import annotations

from typing import Any

from saffron.control.streams.change import StreamContext, StreamPlan
from saffron.control.streams.definitions import summary_of
from saffron.mapping.definition_reader import definition_of
from saffron.mapping.yaml_nodes import DefinitionError
from saffron.records.stream import StreamRecord


def stream_body(record: StreamRecord, now: StreamContext) -> dict[str, Any]:
    """A stream with the attributes that its events have had so far, and its sources.

    `partitions`: of its topic; null where the topic does not exist.
    """
    schema = now.schema(record)
    return {
        **record.body(),
        "partitions": now.partitions(record.topic),
        "attributes": {} if schema is None else {name: kind.value for name, kind in schema.kinds.items()},
        "sources": _sources(record, now),
    }


def applied_body(found: StreamPlan) -> dict[str, Any]:
    """A merged stream after its definition was applied. `changes`: what that did, in sentences."""
    return {
        **found.record.body(),
        "partitions": found.partitions,
        "changed": found.is_change,
        "changes": summary_of(found),
    }


def topics_of(record: StreamRecord) -> list[str]:
    """The topics that a stream's events come from: its own, or its definition's; none where another stream gives them.

    Of a definition of a later version these are all topics that it ever had.
    """
    if record.source is not None:
        return []
    if record.definition is None:
        return [record.topic]
    try:
        return [one.topic for one in definition_of(record.definition).sources]
    except DefinitionError:  # one of a later version
        return list(record.definition.numbers)


def registries_of(record: StreamRecord) -> list[str]:
    """The URLs of the schema registries by which a stream's messages are read."""
    if record.definition is None:
        return [record.registry] if record.registry else []
    try:
        return [one.registry for one in definition_of(record.definition).sources if one.registry]
    except DefinitionError:  # one of a later version
        return []


def table_topics_of(record: StreamRecord) -> list[str]:
    """The topics of a stream's tables."""
    if record.definition is None:
        return []
    try:
        return [one.topic for one in definition_of(record.definition).tables if one.topic is not None]
    except DefinitionError:  # one of a later version
        return []


def _sources(record: StreamRecord, now: StreamContext) -> list[dict[str, Any]]:
    """The topics that a merged stream has ever read. `read`: it still does."""
    applied = record.definition
    if applied is None:
        return []
    read = topics_of(record)
    return [
        {"topic": topic, "number": number, "partitions": now.partitions(topic), "read": topic in read}
        for topic, number in applied.numbers.items()
    ]
