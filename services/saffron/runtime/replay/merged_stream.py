"""Messages as a merged stream: the events and watermarks that `windowing` would write to its inner topic.

The source partition that is furthest behind is read next, so that little is held back. The order of the stream does not
depend on that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from saffron.engine.events.formats.files import read_events
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.engine.windows.dead_letters import DeadLetter
from saffron.errors import InputError
from saffron.mapping.definition import StreamDefinition
from saffron.mapping.tables.table import Table
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.replay.source_counts import SourceCounts
from saffron.runtime.streams.merging import End, Inner, SourceReader, Unread, place_among
from saffron.runtime.streams.messages import Messages, records_of
from saffron.runtime.streams.places import Place
from saffron.runtime.streams.unknown_names import no_source
from saffron.runtime.streams.whole_tables import whole_tables
from saffron.schema.schema import MAX_TS

_BATCH = 4_096
"""Messages of a source partition that are read at once."""
_DAY = 86_400_000


@dataclass(frozen=True)
class InnerBatch(RawBatch):
    """Messages of one partition of the inner topic."""

    partition: int = 0


Parts = Iterator[tuple[Sequence[Record], RawBatch]]
"""The messages of a source partition in order: some records, and their values as JSON."""


class MergedMessages:
    """The messages of a merged stream. `messages`: by topic, those of each of its partitions.

    `counts`: what became of those read so far. `tables`: by name, whole; None: they are read from `messages` and files.
    """

    def __init__(
        self,
        definition: StreamDefinition,
        messages: Mapping[str, Sequence[Parts]],
        partitions: int,
        max_future: int = _DAY,
        tables: Mapping[str, Table] | None = None,
    ) -> None:
        self.partitions = partitions
        self._name = definition.name
        self.counts = SourceCounts(definition)
        self._letters: list[DeadLetter] = []
        self._offsets = [0] * partitions
        self._numbers = [one.number for one in definition.sources]
        places = [
            (TopicPartition(source.topic, partition), source.number, parts)
            for source in definition.sources
            for partition, parts in enumerate(messages[source.topic])
        ]
        self.tables = whole_tables(definition, _rows_in(messages)) if tables is None else tables
        self._sources = [
            _SourcePartition(where, number, parts, self._reader(definition, where, max_future))
            for where, number, parts in places
        ]

    def require(self, stream: str) -> None:
        """InputError: the stream that queries are over is another one."""
        require_stream(self._name, stream)

    def batches(self) -> Iterator[InnerBatch]:
        """The inner topic's messages, in an order that a service might have written them in."""
        reading = list(self._sources)
        while reading:
            source = min(reading, key=lambda one: one.reader.watermark)
            found = source.next()
            if found is None:
                reading.remove(source)
            else:
                inner, records = found
                self.counts.add(source.where.topic, len(records), inner)
                yield from self._events(inner, records)
            yield from self._said(source, ended=found is None)

    def dead_letters(self) -> list[DeadLetter]:
        """The elements that were no events, since the last call."""
        letters, self._letters = self._letters, []
        return letters

    # ------------------------------------------------------------ inside

    def _reader(self, definition: StreamDefinition, where: TopicPartition, max_future: int) -> SourceReader:
        return SourceReader(where, lambda: definition, self.partitions, max_future, tables=lambda: self.tables)

    def _events(self, inner: Inner, records: Sequence[Record]) -> Iterator[InnerBatch]:
        """A batch of events for each inner partition that gets any, with the times of the messages that had them.

        Elements that are no events become dead letters. `records`: the messages by row.
        """
        values: list[list[bytes]] = [[] for _ in range(self.partitions)]
        times: list[list[int]] = [[] for _ in range(self.partitions)]
        for event in inner.events:
            assert not isinstance(event, End)
            values[event.partition].append(event.value)
            times[event.partition].append(records[event.row].timestamp)
        self._letters += [letter_of(one, records[one.row]) for one in inner.unread]
        for partition in range(self.partitions):
            if values[partition]:
                yield self._batch(partition, values[partition], times[partition])

    def _said(self, source: _SourcePartition, *, ended: bool) -> Iterator[InnerBatch]:
        """The watermark of a source partition, to every partition of the inner topic. One that ended is silent."""
        watermark = source.reader.watermark
        if watermark == NO_WATERMARK and not ended:
            return
        message = {
            "type": "$watermark",
            "ts": max(watermark, -MAX_TS),
            **({"silent": True} if ended else {}),
            **place_among(source.where.partition, len(self._sources), source.number, self._numbers, version=1),
        }
        for partition in range(self.partitions):
            yield self._batch(partition, [orjson.dumps(message)], [-1])

    def _batch(self, partition: int, values: Sequence[bytes], times: Sequence[int]) -> InnerBatch:
        first = self._offsets[partition]
        self._offsets[partition] = first + len(values)
        offsets = np.arange(first, first + len(values), dtype=np.int64)
        made = batch_of_values(values, offsets)
        stamps = np.array(times, dtype=np.int64)
        known = stamps if (stamps >= 0).any() else None
        return InnerBatch(made.buffer, made.starts, made.ends, offsets, known, partition=partition)


class MergedFiles(MergedMessages):
    """The messages of a merged stream in files. `files`: by topic, one for each of its partitions.

    InputError: a source has no file, or a file is of no source.
    """

    def __init__(
        self,
        definition: StreamDefinition,
        files: Mapping[str, Sequence[Path]],
        partitions: int,
        max_future: int = _DAY,
    ) -> None:
        _require_all(definition, files)
        messages = {
            topic: [_of_file(path, TopicPartition(topic, partition)) for partition, path in enumerate(paths)]
            for topic, paths in files.items()
        }
        super().__init__(definition, messages, partitions, max_future)


class InnerFiles:
    """The inner topic of a merged stream in files, one for each of its partitions: its events are merged already."""

    def __init__(self, definition: StreamDefinition, files: Sequence[Path]) -> None:
        self.counts = SourceCounts(definition)  # of nothing: the messages were read elsewhere
        self.tables: Mapping[str, Table] = {}  # what was looked up is in the events
        self.partitions = len(files)
        self._name = definition.name
        self._files = files

    def require(self, stream: str) -> None:
        """See `MergedMessages`."""
        require_stream(self._name, stream)

    def batches(self) -> Iterator[InnerBatch]:
        """The messages, one partition after another."""
        for partition, path in enumerate(self._files):
            for chunk in read_events([path]):
                batch = chunk.batch
                yield InnerBatch(batch.buffer, batch.starts, batch.ends, batch.offsets, partition=partition)

    def dead_letters(self) -> list[DeadLetter]:
        """No dead letters: those of the sources are kept elsewhere."""
        return []


class _SourcePartition:
    """The messages `parts` of the partition `where` of the source `number`."""

    def __init__(self, where: TopicPartition, number: int, parts: Parts, reader: SourceReader) -> None:
        self.where = where
        self.number = number
        self.reader = reader
        self._parts = parts

    def next(self) -> tuple[Inner, Sequence[Record]] | None:
        """The events made of the next messages, and these messages; None: there are no more."""
        part = next(self._parts, None)
        if part is None:
            return None
        records, values = part
        return self.reader.read(values, Messages(records, values)), records


def _of_file(path: Path, where: TopicPartition) -> Parts:
    """The lines of a file as messages."""
    for chunk in read_events([path], typed=False):
        for start in range(0, len(chunk.batch), _BATCH):
            yield records_of(chunk.batch.part(start, start + _BATCH), where)


def opened(
    definition: StreamDefinition, files: Mapping[str, Sequence[Path]], partitions: int | None = None
) -> MergedFiles | InnerFiles:
    """A merged stream in files. `files`: by topic; the stream's own name alone stands for its inner topic.

    `partitions`: of the stream; None: as the definition says, or as its topics have.
    """
    if definition.source(definition.name) is None and (own := files.get(definition.name)):
        return InnerFiles(definition, own)
    if partitions is None:
        known = definition.partitions or max((len(files.get(one.topic, ())) for one in definition.sources), default=1)
        partitions = known if definition.key is not None else 1
    return MergedFiles(definition, files, partitions)


def _rows_in(messages: Mapping[str, Sequence[Parts]]) -> Callable[[str], Iterator[Record]]:
    """The function from a table's topic to its messages."""
    return lambda topic: (record for parts in messages[topic] for records, _ in parts for record in records)


def letter_of(unread: Unread, record: Record) -> DeadLetter:
    """The dead letter of an element that is no event. `record`: the message that has it."""
    place = Place(record.topic, record.partition, record.offset, unread.number).id
    value = record.value if unread.value is None else unread.value
    return DeadLetter(record.offset, max(0, record.timestamp), unread.reason, unread.detail, value, place)


def require_stream(name: str, asked: str) -> None:
    """InputError: queries are over another stream than the definition's, `name`."""
    if asked != name:
        raise InputError(
            f"the definition is of stream {name}, and the queries are over {asked}: begin with FROM {name}"
        )


def _require_all(definition: StreamDefinition, files: Mapping[str, Sequence[Path]]) -> None:
    """InputError: sources and files do not fit."""
    tables = [one.topic for one in definition.tables if one.topic is not None]
    topics = [*(one.topic for one in definition.sources), *tables]
    if unknown := [topic for topic in files if topic not in topics]:
        raise InputError(f"{unknown[0]}={files[unknown[0]][0]}: {no_source(definition.name, unknown[0], topics)}")
    if missing := [topic for topic in topics if not files.get(topic)]:
        raise InputError(
            f"{'table' if missing[0] in tables else 'source'} {missing[0]} has no file: give {missing[0]}=FILE"
        )
