"""Messages of a merged stream that are fed by hand: the events that a definition makes of them, as they come.

The order of feeding counts, as for events of one topic. Nothing is waited for but what `disorder` says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from saffron.engine.events.decoding.losses import loss_notices
from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.windows.dead_letters import DeadLetter
from saffron.errors import InputError
from saffron.mapping.definition import StreamDefinition
from saffron.mapping.tables.table import Table
from saffron.runtime.log import TopicPartition
from saffron.runtime.replay.merged_stream import letter_of, require_stream
from saffron.runtime.replay.source_counts import SourceCounts
from saffron.runtime.streams.merging import InnerEvent, SourceReader
from saffron.runtime.streams.messages import Messages, records_of
from saffron.runtime.streams.stream_tables import apply_record
from saffron.runtime.streams.unknown_names import no_source
from saffron.runtime.streams.whole_tables import table_notices, whole_tables
from saffron.schema.schema import MAX_TS


class FedMessages:
    """The topics of a definition, each of one partition; those of tables begin empty, and files are read at once.

    InputError: a table's file cannot be read.
    """

    def __init__(self, definition: StreamDefinition) -> None:
        self._name = definition.name
        self._tables = whole_tables(definition, lambda topic: ())
        self._readers = {
            one.topic: SourceReader(
                TopicPartition(one.topic, 0), lambda: definition, 1, MAX_TS, tables=lambda: self._tables
            )
            for one in definition.sources
        }
        self._next: Counter[str] = Counter()
        self._counts = SourceCounts(definition)
        self._letters: list[DeadLetter] = []
        self.disorder = max(map(definition.disorder_of, definition.sources))

    def require(self, stream: str) -> None:
        """See `MergedMessages`."""
        require_stream(self._name, stream)

    def reader(self, topic: str | None) -> Callable[[RawBatch], RawBatch]:
        """The reader of a topic's messages: from lines, as in files (`messages.records_of`), it makes events.

        Rows of tables give none. `topic`: None where the stream has one topic only. InputError: it is none of the
        stream's.
        """
        return partial(self._read, self._known(topic))

    def _read(self, topic: str, lines: RawBatch) -> RawBatch:
        """The events of lines of a topic, which also change the tables that it has the rows of."""
        lines = lines.numbered(self._next[topic])
        self._next[topic] += len(lines)
        records, batch = records_of(lines, TopicPartition(topic, 0))
        for table in self._tables_of(topic):
            for record in records:
                apply_record(table, record)
        if topic not in self._readers:
            return batch_of_values([])
        found = self._readers[topic].read(batch, Messages(records, batch))
        self._counts.add(topic, len(records), found)
        self._letters += [letter_of(one, records[one.row]) for one in found.unread]
        return batch_of_values([one.value for one in found.events if isinstance(one, InnerEvent)])

    def dead_letters(self) -> list[DeadLetter]:
        """Elements that were no events, since the last call."""
        letters, self._letters = self._letters, []
        return letters

    def reports(self) -> Iterator[str]:
        """Messages at the end for the user, on values that were not kept, and on look-ups."""
        yield from self._counts.notices()
        yield from table_notices(self._tables, self._counts.not_found)
        yield from loss_notices(self._counts.misfits, 0, "`as` in the definition")

    # ------------------------------------------------------------ snapshots

    def record(self) -> Mapping[str, Any]:
        """The state for a snapshot. InputError: a table's rows would have to be in it."""
        if topics := [one.definition.topic for one in self._tables.values() if one.definition.topic is not None]:
            raise InputError(f"a snapshot has no tables, and {topics[0]} is one: use a file for it")
        return {topic: [self._next[topic], reader.watermark] for topic, reader in self._readers.items()}

    def restore(self, record: Mapping[str, Any]) -> None:
        """Go on from what `record` returned. InputError: it is of other topics."""
        if record.keys() != self._readers.keys():
            raise InputError(f"the snapshot was taken with other topics: {', '.join(record) or 'none'}")
        for topic, (position, watermark) in record.items():
            self._next[topic], self._readers[topic].watermark = position, watermark

    # ------------------------------------------------------------ inside

    def _tables_of(self, topic: str) -> list[Table]:
        return [one for one in self._tables.values() if one.definition.topic == topic]

    def _known(self, topic: str | None) -> str:
        topics = [*self._readers, *(one.definition.topic for one in self._tables.values() if one.definition.topic)]
        if topic is None and len(topics) == 1:
            return topics[0]
        if topic not in topics:
            if topic is not None:
                raise InputError(no_source(self._name, topic, topics))
            raise InputError(f"stream {self._name} is made of the topics {', '.join(topics)}: feed(message, topic=...)")
        return topic
