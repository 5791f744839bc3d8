"""The reading of one source partition of a merged stream: its messages become messages of the inner topic.

An event is late by the watermark of its own source partition, so that what is late does not depend on how fast the
other partitions are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from saffron.engine.events.decoding.decode import Decoded, Decoder
from saffron.engine.events.raw import RawBatch
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.engine.windows.dead_letters import LATE
from saffron.mapping.definition import CSV, Envelope, SourceDefinition, StreamDefinition
from saffron.mapping.elements import messages_of_elements
from saffron.mapping.envelopes import Eventless
from saffron.mapping.flat.flattening import Flattened, Flattener
from saffron.mapping.message import Message
from saffron.mapping.tables.lookups import added, own_detail
from saffron.mapping.tables.table import Table
from saffron.records.stream import JSON
from saffron.runtime.log import TopicPartition
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.streams.event_keys import keys_of_good, keys_of_parsed
from saffron.schema.origin import NUMBER, OFFSET, PARTITION, SOURCE, TOPIC
from saffron.schema.schema import Schema

_TIMES_ONLY = Schema({}, {}, {})
"""A schema without types: only event times are read."""
_NO_WATERMARK = "schema"
"""The reason of a refused `$watermark`: without types, only one with fields of a user's event breaks the schema."""
_OF_SEVERAL = (Envelope.LINES, Envelope.ARRAY)
_partition_of = lru_cache(maxsize=65_536)(partition_of)


@dataclass(frozen=True, slots=True)
class InnerEvent:
    """A message of the inner topic, from message `row` of its batch: its partition, key and value."""

    row: int
    partition: int
    key: bytes | None
    value: bytes


def under_key(row: int, key: bytes | None, partitions: int, value: bytes) -> InnerEvent:
    """The message of an event with this key. As by `produce`, events without the attribute share a partition."""
    own = key or b""
    return InnerEvent(row, _partition_of(own, partitions), own, value)


@dataclass(frozen=True, slots=True)
class End:
    """The end of all windows opened so far, at this watermark: a message to every partition of the inner topic."""

    watermark: int


@dataclass(frozen=True, slots=True)
class Unread:
    """Element `number` of message `row`, which is no event of the stream, and why.

    `value`: of a message with the element alone; None: the message's own, as where it is in a registry's frame.
    """

    row: int
    number: int
    reason: str
    detail: str
    value: bytes | None = None


def late_detail(ts: int, watermark: int) -> str:
    """The sentence on an event that is late by the watermark of its source partition (ms)."""
    return f"ts {ts} is below {watermark}, the watermark of its source when it arrived"


@dataclass(frozen=True)
class Inner:
    """The events and unread elements made of a batch of messages.

    `misfits`: by attribute the values that are null, not being what their rule says. `eventless`: how many
    values were no event without being wrong, by the reason. `not_found`: by attribute of a table the events whose key
    no row has.
    """

    events: Sequence[InnerEvent | End]
    unread: Sequence[Unread] = ()
    misfits: Mapping[str, int] = field(default_factory=dict)
    eventless: Mapping[Eventless, int] = field(default_factory=dict)
    not_found: Mapping[str, int] = field(default_factory=dict)


class SourceReader:
    """The reader of the source partition `where`.

    `definition`: returns the definition in force. `partitions`: of the inner topic. `max_future`: how far an event may
    be ahead of its message's own time (ms). `watermark`: event time (ms) below which an event is late.
    `tables`: returns those of the definition in force, by name, loaded.
    """

    def __init__(
        self,
        where: TopicPartition,
        definition: Callable[[], StreamDefinition],
        partitions: int,
        max_future: int,
        watermark: int = NO_WATERMARK,
        tables: Callable[[], Mapping[str, Table]] = dict,
    ) -> None:
        self.watermark = watermark
        self._where = where
        self._definition = definition
        self._tables = tables
        self._partitions = partitions
        self._decoder = Decoder(_TIMES_ONLY, max_future)
        self._read_by: StreamDefinition | None = None
        self._use(definition())

    def read(self, batch: RawBatch, messages: Sequence[Message]) -> Inner:
        """The inner messages of a batch in order. `messages`: those of the batch as they came, by row."""
        self._use(self._definition())
        found = self._flattener.flatten(batch, messages)
        unread = [Unread(row, one.number, one.reason, one.detail) for row, one in found.refused]
        decoded = self._decoder.decode(_as_batch(found, batch))
        unread += _unfit(found, decoded)
        late, limits = self._judge(decoded.ts)
        for event in np.flatnonzero(late).tolist():
            detail = late_detail(int(decoded.ts[event]), int(limits[event]))
            unread.append(_unread(found, int(decoded.rows[event]), LATE, detail))
        taken = decoded.rows[~late]
        more = added([found.value(event) for event in taken.tolist()], self._add, self._tables(), keys_of_parsed)
        values, misfits = more.values, Counter(found.misfits)
        if more.own and self._strict:
            unread += [_unread(found, int(taken[row]), "schema", own_detail(names)) for row, names in more.own.items()]
            values = [value for row, value in enumerate(values) if row not in more.own]
            taken = np.delete(taken, list(more.own))
        else:
            misfits.update(name for names in more.own.values() for name in names)
        events = list(self._events(found, taken, values, batch))
        return Inner(events, self._alone(unread, messages), misfits, found.eventless, more.not_found)

    # ------------------------------------------------------------ inside

    def _use(self, definition: StreamDefinition) -> None:
        """Reads by `definition` from now on, if it still has the source."""
        self._add = definition.add  # the tables are its own also where the source is no longer in it
        source = definition.source(self._where.topic)
        if source is None or definition is self._read_by:
            return
        self._read_by, self._source = definition, source
        self._flattener = Flattener(source, strict=definition.dead_letters)
        self._key, self._strict = definition.key, definition.dead_letters
        self._disorder = definition.disorder_of(source)
        self._head = _origin(source, self._where)

    def _alone(self, unread: Sequence[Unread], messages: Sequence[Message]) -> Sequence[Unread]:
        """The unread elements with their own values, in place of those of their whole messages."""
        source = self._source
        several = source.explode is not None or source.csv is not None or source.envelope in _OF_SEVERAL
        if not several or source.format not in (JSON, CSV):
            return unread
        numbers: dict[int, list[int]] = {}
        for one in unread:
            numbers.setdefault(one.row, []).append(one.number)
        values = {row: messages_of_elements(messages[row], source, of_row) for row, of_row in numbers.items()}
        return [replace(one, value=values[one.row][one.number]) for one in unread]

    def _judge(self, ts: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """([m] whether an event is late, [m] the watermark that those before it have raised)."""
        raised = np.maximum.accumulate(np.concatenate([[self.watermark], ts - self._disorder]))
        self.watermark = int(raised[-1])
        return np.less(ts, raised[:-1]), raised[:-1]

    def _events(
        self, found: Flattened, taken: NDArray[np.int64], values: Sequence[bytes], batch: RawBatch
    ) -> Iterator[InnerEvent]:
        """The inner messages of the flat events `taken`, whose texts are `values`."""
        keys: Sequence[bytes | None] = [None] * len(values) if self._key is None else keys_of_good(values, self._key)
        came, numbers = found.rows[taken], found.numbers[taken]
        places = zip(values, keys, came.tolist(), batch.offsets[came].tolist(), numbers.tolist(), strict=True)
        for value, key, row, offset, number in places:
            more = f'{offset},"{NUMBER}":{number}}}' if number else f"{offset}}}"
            text = value[:-1] + self._head + more.encode()
            yield InnerEvent(row, 0, None, text) if self._key is None else under_key(row, key, self._partitions, text)


def place_among(
    partition: int, partitions: int, of: int, numbers: Iterable[int], version: int, lookups: Iterable[str] = ()
) -> dict[str, Any]:
    """The fields by which a `$watermark` names its source partition (see `engine.events.decoding.exact.Source`).

    `partitions`: of all sources; `of`: number of the source; `numbers`: of all sources, by that `version`. `lookups`:
    the look-ups of queries in tables.
    """
    among, looked_up = " ".join(map(str, numbers)), "\n".join(lookups)
    more = {"lookups": looked_up} if looked_up else {}
    return {"source": partition, "sources": partitions, "of": of, "among": among, "version": version, **more}


def _unfit(found: Flattened, decoded: Decoded) -> Iterator[Unread]:
    """Flat events that no stream takes, by their time, size or type."""
    marks = [mark.row for mark in decoded.watermarks]
    for bad in decoded.bad:
        if bad.reason == _NO_WATERMARK:
            marks.append(bad.row)
        else:
            yield _unread(found, bad.row, bad.reason, bad.detail)
    for row in marks:
        yield _unread(found, row, "no-type", "its type is $watermark: types that begin with $ are Saffron's own")


def _unread(found: Flattened, event: int, reason: str, detail: str) -> Unread:
    return Unread(int(found.rows[event]), int(found.numbers[event]), reason, detail)


def _origin(source: SourceDefinition, where: TopicPartition) -> bytes:
    """The JSON behind the attributes of a flat event, up to the message's offset: where the event comes from."""
    topic = orjson.dumps(where.topic).decode()
    known = f',"{SOURCE}":{source.number},"{TOPIC}":{topic},"{PARTITION}":{where.partition},"{OFFSET}":'
    return known.encode()


def _as_batch(found: Flattened, batch: RawBatch) -> RawBatch:
    """Flat events as a batch, each with its message's time."""
    times = None if batch.times is None else batch.times[found.rows]
    offsets = np.arange(len(found), dtype=np.int64)
    return RawBatch(found.buffer, found.starts, found.ends, offsets, times)
