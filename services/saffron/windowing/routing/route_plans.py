"""The plans of a routed stream's chains: of a stream under another key, and of a merged stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from saffron.engine.events.raw import RawBatch
from saffron.mapping.definition import Start, StreamDefinition
from saffron.mapping.definition_reader import definition_of
from saffron.mapping.tables.query_lookups import with_lookups
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.dead_letters.writing import LetterMessage, letter_message
from saffron.runtime.hops.transactional_chain import Holding
from saffron.runtime.hops.when_written import Report
from saffron.runtime.log import Log, Record, TopicPartition
from saffron.runtime.log.topics import Topics
from saffron.runtime.process.background import Background
from saffron.runtime.process.config import Settings
from saffron.runtime.streams.merging import Inner, SourceReader, Unread, place_among
from saffron.runtime.streams.messages import Messages
from saffron.runtime.streams.places import Place
from saffron.runtime.streams.stream_formats import Formats, Written
from saffron.runtime.streams.stream_tables import StreamTables
from saffron.schema.table_names import LOOKUP_MARK, Lookup
from saffron.windowing.routing.rekeying import Rekeying
from saffron.windowing.routing.route_plan import Reader, RoutePlan

_RECENT_MS = 3_600_000


class RoutePlans:
    """The plans of one stream's chains.

    `current`: returns the stream's record in force; of a removed stream the last one. `partitions`: of a source topic,
    as far as known; 0: not yet. `all_began`: see `RoutePlan`. `lookups`: returns those that standing queries ask for.
    `tables`: the stream's own. `report`: adds to counters.
    """

    def __init__(
        self,
        log: Log,
        settings: Settings,
        formats: Formats,
        current: Callable[[], StreamRecord],
        partitions: Callable[[str], int],
        all_began: Callable[[], bool],
        lookups: Callable[[], frozenset[Lookup]],
        commit_executor: Background,
        report: Report,
        search_executor: Background,
        start_executor: Background,
    ) -> None:
        self._settings = settings
        self._formats = formats
        self._current = current
        self._partitions = partitions
        self._all_began = all_began
        self._lookups = lookups
        self._commit_executor = commit_executor
        self._report = report
        self._search_executor = search_executor
        self._start_executor = start_executor
        self._letters = Topics(settings.prefix).dead_letters
        self._letter_partitions = log.partitions(self._letters) or 1
        self._target_partitions = log.partitions(current().topic) or 1
        self._read: tuple[AppliedDefinition, frozenset[Lookup], StreamDefinition] | None = None
        self.tables = StreamTables(log, settings.group("tables"), self._applied)

    def plan(self, where: TopicPartition, group: str) -> RoutePlan:
        """The plan of the chain of one source partition."""
        settings, record = self._settings, self._current()
        merged = record.definition is not None
        of = record.definition.numbers[where.topic] if record.definition is not None else 0
        own = f"{of}.{where.partition}" if merged else where.partition
        return RoutePlan(
            holding=Holding(
                where,
                f"{settings.prefix}router.{record.name}.{own}",
                settings.session_ms // 2,
                self._commit_executor,
                self._report,
                self._search_executor,
                self._start_executor,
            ),
            labels=route_labels(record.name, where, merged=merged),
            of=of,
            group=group,
            target=record.topic,
            partitions=self._target_partitions,
            place=partial(self._place_among, where) if merged else partial(self._place_in, where),
            loading=self._is_loading,
            all_began=self._all_began,
            reader=partial(self._merging, where) if merged else self._rekeying,
            start=partial(self._start, where),
            idle=partial(self._idle, where.topic),
            any_idle=self.any_idle,
            stamp=_fresh if merged else _kept,
            translate=self._formats.translation(partial(self.written, where.topic)),
            letter=self._letter,
            commit_ms=settings.commit_ms,
        )

    @property
    def definition(self) -> StreamDefinition | None:
        """The definition in force of a merged stream, its sources numbered, with the look-ups of standing queries."""
        applied, lookups = self._current().definition, self._lookups()
        if applied is None:
            return None
        if self._read is None or self._read[0] != applied or self._read[1] != lookups:
            stored = definition_of(applied).beside(self._settings.tables)
            self._read = applied, lookups, with_lookups(stored, lookups)
        return self._read[2]

    def written(self, topic: str) -> Written:
        """The format of a topic's messages."""
        source = None if self.definition is None else self.definition.source(topic)
        return self._current() if source is None else source

    def any_idle(self) -> bool:
        """True if some source of the stream is not waited for after a silence."""
        definition = self.definition
        if definition is None:
            return bool(self._current().idle)
        return any(definition.idle if one.idle is None else one.idle for one in definition.sources)

    # ------------------------------------------------------------ inside

    def _rekeying(self, watermark: int) -> Reader:
        record = self._current()
        return Rekeying(
            record.key,
            self._target_partitions,
            self._settings.max_future_ms,
            lambda: self._current().disorder or 0,
            watermark,
        )

    def _merging(self, where: TopicPartition, watermark: int) -> Reader:
        """The reader of a source partition of a merged stream, which begins at `watermark` (ms).

        It follows later versions of the definition and the tables.
        """
        return _Merging(
            SourceReader(
                where,
                self._in_force,
                self._target_partitions,
                self._settings.max_future_ms,
                watermark,
                lambda: self.tables.tables,
            )
        )

    def _is_loading(self) -> bool:
        return self.tables.is_loading

    def _applied(self) -> tuple[AppliedDefinition, StreamDefinition] | None:
        applied, definition = self._current().definition, self.definition
        return None if applied is None or definition is None else (applied, definition)

    def _in_force(self) -> StreamDefinition:
        definition = self.definition
        assert definition is not None
        return definition

    def _place_in(self, where: TopicPartition) -> Mapping[str, Any]:
        """The place of a partition among those of the one source."""
        return {"source": where.partition, "sources": max(where.partition + 1, self._partitions(where.topic))}

    def _place_among(self, where: TopicPartition) -> Mapping[str, Any] | None:
        """The place of a partition among those of all sources; None: a topic is missing, or not known yet."""
        sources, applied = self._in_force().sources, self._current().definition
        counts = {one.topic: self._partitions(one.topic) for one in sources}
        if not all(counts.values()) or applied is None or where.topic not in counts:
            return None
        counts[where.topic] = max(counts[where.topic], where.partition + 1)
        of, numbers = applied.numbers[where.topic], (one.number for one in sources)
        lookups = sorted(name for name in self._in_force().add if name.startswith(LOOKUP_MARK))
        return place_among(where.partition, sum(counts.values()), of, numbers, applied.version, lookups)

    def _idle(self, topic: str) -> int | None:
        definition = self.definition
        if definition is None:
            return self._current().idle
        source = definition.source(topic)
        return definition.idle if source is None or source.idle is None else source.idle

    def _start(self, where: TopicPartition) -> Start | int:
        source, applied = None if self.definition is None else self.definition.source(where.topic), self._current()
        if source is None or applied.definition is None:
            return Start.EARLIEST
        is_added = where.partition >= applied.definition.partitions.get(where.topic, where.partition + 1)
        return Start.EARLIEST if is_added and source.start is Start.LATEST else source.start

    def _letter(self, record: Record, unread: Unread) -> LetterMessage:
        """The dead letter of an element of `record` that is no event, with the element alone if it can be cut out."""
        place = Place(record.topic, record.partition, record.offset, unread.number)
        return letter_message(
            self._letters,
            self._letter_partitions,
            place,
            record.timestamp,
            unread.reason,
            unread.detail,
            record.value if unread.value is None else unread.value,
            self._current().name,
        )


def route_labels(stream: str, where: TopicPartition, *, merged: bool) -> tuple[str, str]:
    """The stream and the source partition in metrics; `merged`: the stream has several topics."""
    return stream, f"{where.topic}/{where.partition}" if merged else str(where.partition)


def _kept(timestamp: int, now_ms: int) -> int | None:
    """The message's own time, which is that of an event without `ts`."""
    del now_ms
    return timestamp if timestamp >= 0 else None


def _fresh(timestamp: int, now_ms: int) -> int | None:
    """The message's own time if it is recent, so that latency counts from it.

    Else the present: retention would soon remove messages of the past from the inner topic. Events have their `ts`.
    """
    return timestamp if timestamp > now_ms - _RECENT_MS else now_ms


class _Merging:
    """A `SourceReader` of records."""

    def __init__(self, reader: SourceReader) -> None:
        self._reader = reader

    @property
    def watermark(self) -> int:
        return self._reader.watermark

    def read(self, batch: RawBatch, records: Sequence[Record]) -> Inner:
        return self._reader.read(batch, Messages(records, batch))
