"""Samples of messages: the newest of topics, or those of files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from saffron.cli.client import Client
from saffron.engine.events.formats.files import read_events
from saffron.mapping.definition import SourceDefinition
from saffron.mapping.message import Message
from saffron.mapping.proposals.fields import Topic
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.log.follower import content
from saffron.runtime.streams.messages import message_of, record_in
from saffron.runtime.streams.newest_messages import Newest, newest_records
from saffron.runtime.streams.proposal_topics import topic_of
from saffron.runtime.streams.source_messages import SourceMessage, messages_of, translated, translations


def of_topics(client: Client, topics: Sequence[str], count: int, registry: str | None = None) -> list[Topic]:
    """The newest messages of topics, about as many of each partition, in order of their time.

    `registry`: URL of the schema registry that translates those in its frame.
    """
    formats = translations(client.settings.registry_auth)
    return [topic_of(_newest(client, topic, count), topic, registry, formats) for topic in topics]


def of_source(client: Client, source: SourceDefinition, count: int) -> list[SourceMessage]:
    """The newest messages of a source, translated from its format."""
    newest = _newest(client, source.topic, count)
    return messages_of(translated(newest, [source], translations(client.settings.registry_auth)), source.topic)


def of_file(path: Path, topic: str, count: int) -> list[Message]:
    """The last messages of a file: a value on each line, or a record {"key": ..., "time": ..., "value": ...}.

    InputError: it cannot be read.
    """
    return _last(records_of_file(path, TopicPartition(topic, 0)), count)


def of_files(paths: Sequence[Path], topic: str, count: int) -> list[Message]:
    """The last messages of each of the files of a topic, which are its partitions."""
    places = (TopicPartition(topic, partition) for partition in range(len(paths)))
    return [
        one for path, place in zip(paths, places, strict=True) for one in _last(records_of_file(path, place), count)
    ]


def records_of_files(paths: Sequence[Path], topic: str) -> Iterator[Record]:
    """All records of the files of a topic, which are its partitions."""
    for partition, path in enumerate(paths):
        yield from records_of_file(path, TopicPartition(topic, partition))


def records_of_file(path: Path, where: TopicPartition) -> Iterator[Record]:
    """The records of a file of lines or a table, as a replay reads it. InputError: it cannot be read."""
    for chunk in read_events([path], typed=False):
        for row, number in enumerate(chunk.lines.tolist()):
            yield record_in(chunk.batch.value(row), where, number - 1)


def whole_topic(client: Client, topic: str) -> Iterator[Record]:
    """All records of a topic."""
    client.partitions(topic)  # an error that names the broker
    return chain.from_iterable(content(client.log, topic, client.settings.group("samples")))


def message(record: Record) -> Message:
    """A record as a message."""
    return message_of(record, record.value)


def _last(records: Iterable[Record], count: int) -> list[Message]:
    return [message(record) for record in deque(records, maxlen=count)]


def _newest(client: Client, topic: str, count: int) -> Newest:
    client.partitions(topic)  # an error that names the broker
    return newest_records(client.log, client.settings.group("samples"), [topic], count)
