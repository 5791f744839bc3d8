"""A stream's definition: the topics that its events come from, and how each of their messages is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path as FilePath
from types import MappingProxyType
from zoneinfo import ZoneInfo

from saffron.mapping.kinds import As
from saffron.mapping.paths import Path
from saffron.mapping.table_definition import NO_ADDS, AddRule, TableDefinition
from saffron.records.stream import FORMATS as RECORD_FORMATS
from saffron.records.stream import JSON

CSV = "csv"
FORMATS = (*RECORD_FORMATS, CSV)
"""The formats of messages. All but CSV become JSON when they are taken out of their frame."""


class OfMessage(Enum):
    """A part of a Kafka message beside its value."""

    KEY = "key"
    TIME = "time"
    TOPIC = "topic"
    PARTITION = "partition"
    OFFSET = "offset"


@dataclass(frozen=True)
class Header:
    """The header of a message with this name."""

    name: str


Origin = Path | Header | OfMessage
"""The origin of a value: the message's JSON, a header, or the message itself."""


class TimeFormat(Enum):
    """The format of an event's time, if it is no strptime pattern."""

    ISO = "iso8601"
    SECONDS = "epoch_s"
    MILLISECONDS = "epoch_ms"
    MICROSECONDS = "epoch_us"
    NANOSECONDS = "epoch_ns"


@dataclass(frozen=True)
class TypeRule:
    """The type of a source's events: `constant`, or the text at `origin`, by `names` where it is one of them.

    `names` that are not empty leave no other type: a message with another text is refused.
    """

    constant: str | None = None
    origin: Origin | None = None
    names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class TimeRule:
    """The time of an event: at `origin`, written by `form` (a TimeFormat, or a strptime pattern).

    `zone`: of times without an offset; None: UTC.
    """

    origin: Origin = OfMessage.TIME
    form: TimeFormat | str = TimeFormat.MILLISECONDS
    zone: ZoneInfo | None = None


@dataclass(frozen=True)
class AttributeRule:
    """One attribute: the origin of its value, and the kind that it is read as; None: as it is written."""

    origin: Origin
    kind: As | None = None


class Envelope(Enum):
    """The envelope of a message: the form around an event's own object."""

    NONE = "none"
    DEBEZIUM = "debezium"
    CLOUDEVENTS = "cloudevents"
    LINES = "lines"
    ARRAY = "array"


@dataclass(frozen=True)
class CsvForm:
    """The form of CSV rows in a message. `columns`: their names; None: each message begins with a header line."""

    columns: tuple[str, ...] | None = None
    separator: str = ","


class Start(Enum):
    """An end of a topic, at which the reading of a source begins."""

    EARLIEST = "earliest"
    LATEST = "latest"


@dataclass(frozen=True)
class SourceDefinition:
    """One topic of a stream.

    `number`: its place among the stream's sources, from 0, never used again. `attributes`: those that are named;
    `only`: no others. `explode`: the array of which each element is an event. `where`: a condition on the message
    before its envelope is opened. `disorder`, `idle`: ms; None: the stream's. `start`: the place to begin a new
    partition at: an end, or a time of its messages (ms). `format`: of the messages, one of FORMATS, in a frame of the
    schema `registry` (URL) if given. `csv`: set where the format is CSV.
    """

    topic: str
    number: int
    type: TypeRule
    time: TimeRule = TimeRule()
    attributes: Mapping[str, AttributeRule] = field(default_factory=lambda: MappingProxyType({}))
    only: bool = False
    envelope: Envelope = Envelope.NONE
    explode: Path | None = None
    where: str | None = None
    disorder: int | None = None
    idle: int | None = None
    start: Start | int = Start.EARLIEST
    format: str = JSON
    registry: str | None = None
    csv: CsvForm | None = None


@dataclass(frozen=True)
class StreamDefinition:
    """A stream of several topics. `key`: the attribute by which the inner topic is keyed; None: none is.

    `partitions`: of the inner topic; None: as many as the largest source has. `disorder`, `idle`, `silence`: ms.
    `tables`: what is looked up when an event is read; `add`: the attributes that come of it.
    `dead_letters`: a value that is no such number, truth value or time is a dead letter, and not null.
    """

    name: str
    sources: tuple[SourceDefinition, ...]
    key: str | None = None
    partitions: int | None = None
    disorder: int = 0
    idle: int | None = None
    dead_letters: bool = False
    silence: int | None = None
    tables: tuple[TableDefinition, ...] = ()
    add: Mapping[str, AddRule] = field(default_factory=lambda: NO_ADDS)

    def numbered(self, numbers: Mapping[str, int]) -> StreamDefinition:
        """This definition, each source with its number in the stream. `numbers`: by topic."""
        return replace(self, sources=tuple(replace(one, number=numbers[one.topic]) for one in self.sources))

    def disorder_of(self, source: SourceDefinition) -> int:
        """The greatest disorder (ms) of a source's events."""
        return self.disorder if source.disorder is None else source.disorder

    def beside(self, folder: FilePath) -> StreamDefinition:
        """This definition with paths of the tables' files relative to `folder`."""
        tables = (one if one.file is None else replace(one, file=str(folder / one.file)) for one in self.tables)
        return replace(self, tables=tuple(tables))

    def source(self, topic: str) -> SourceDefinition | None:
        """The source with this topic."""
        return next((one for one in self.sources if one.topic == topic), None)
