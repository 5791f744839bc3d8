"""Samples of messages: the newest of topics, or those of files."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from saffron.cli.client import Client
from saffron.errors import InputError
from saffron.mapping.message import Message, MessageError, Number, parse, written
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.log.ends import newest_first

_OF_RECORD = frozenset({"key", "value", "time", "headers"})
"""Fields of a line that is a whole record and not a value alone."""


def of_topic(client: Client, topic: str, count: int) -> list[Message]:
    """The newest messages of a topic, about as many of each partition, in order of their time."""
    partitions, group = client.partitions(topic), client.settings.group("samples")
    each = max(1, count // partitions)
    found = [
        message_of(record)
        for number in range(partitions)
        for record in islice(newest_first(client.log, group, TopicPartition(topic, number)), each)
    ]
    return sorted(found, key=lambda one: (-1 if one.time is None else one.time, one.partition, one.offset))


def message_of(record: Record) -> Message:
    """A record as a message."""
    time = record.timestamp if record.timestamp >= 0 else None
    return Message(record.value, record.key, time, dict(record.headers), record.topic, record.partition, record.offset)


def of_file(path: Path, topic: str, count: int) -> list[Message]:
    """The last messages of a file: a value on each line, or a record {"key": ..., "time": ..., "value": ...}.

    InputError: it cannot be read.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    numbered = [(number, line) for number, line in enumerate(lines) if line.strip()][-count:]
    records = [_record(line) for _, line in numbered]
    if not all(record is not None for record in records):
        return [Message(line, topic=topic, offset=number) for number, line in numbered]
    return [_of_record(record or {}, topic, number) for (number, _), record in zip(numbered, records, strict=True)]


def _record(line: bytes) -> Mapping[str, Any] | None:
    """A line that is a record; None: it is a value."""
    try:
        found = parse(line)
    except MessageError:
        return None
    return found if isinstance(found, dict) and "value" in found and _OF_RECORD.issuperset(found) else None


def _of_record(record: Mapping[str, Any], topic: str, number: int) -> Message:
    key, value, time = record.get("key"), record["value"], record.get("time")
    headers = record.get("headers")
    return Message(
        None if value is None else value.encode() if isinstance(value, str) else written(value),
        None if key is None else str(key).encode(),
        int(time) if isinstance(time, Number) and time.isdigit() else None,
        {name: str(text).encode() for name, text in headers.items()} if isinstance(headers, dict) else {},
        topic,
        offset=number,
    )
