"""The newest messages of a source of a merged stream, translated from the source's format as its stream would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from saffron.engine.events.raw import RawBatch, Refusal
from saffron.mapping.definition import SourceDefinition
from saffron.mapping.message import Message
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.process.background import at_once
from saffron.runtime.streams.messages import Messages, batch_of, message_of
from saffron.runtime.streams.newest_messages import Newest
from saffron.runtime.streams.stream_formats import Formats

Batch = tuple[Sequence[Record], RawBatch]
"""Records of one partition, and their values as JSON or CSV."""


@dataclass(frozen=True)
class SourceMessage:
    """A message of a source. `refusal`: why it could not be translated; its value is then as it came."""

    message: Message
    refusal: Refusal | None = None


def translations(registry_auth: str) -> Formats:
    """The translations of an occasional reader. `registry_auth`: as the setting, for schema registries."""
    return Formats(registry_auth, lambda: 0, at_once)


def translated(newest: Newest, sources: Sequence[SourceDefinition], formats: Formats) -> dict[TopicPartition, Batch]:
    """The records of each partition with their translated values. UnavailableError: a registry does not answer."""
    by_topic = {one.topic: one for one in sources}
    return {
        place: (one.records, formats.translated_now(by_topic[place.topic], batch_of(one.records)))
        for place, one in newest.items()
    }


def messages_of(translated: dict[TopicPartition, Batch], topic: str) -> list[SourceMessage]:
    """The messages of a topic, by their own times."""
    found = [one for place, batch in translated.items() if place.topic == topic for one in _messages(*batch)]
    return sorted(found, key=lambda one: (_time(one.message), one.message.partition, one.message.offset))


def _messages(records: Sequence[Record], batch: RawBatch) -> list[SourceMessage]:
    known = Messages(records, batch)
    return [
        SourceMessage(message_of(record, record.value), batch.refused[record.offset])
        if record.offset in batch.refused and record.value is not None  # a tombstone has no frame, and needs none
        else SourceMessage(known[row])
        for row, record in enumerate(records)
    ]


def _time(message: Message) -> int:
    return -1 if message.time is None else message.time
