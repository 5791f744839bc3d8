"""A proposed definition: the findings in each source's newest messages, with reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saffron.mapping.definition import CsvForm, Envelope, TimeFormat
from saffron.mapping.paths import Path
from saffron.records.stream import JSON


@dataclass(frozen=True)
class ProposedTime:
    """The proposed place of the event time; `path` None: the message's own time."""

    path: Path | None
    form: TimeFormat | str
    reason: str


@dataclass(frozen=True)
class ProposedKey:
    """The path whose values are the key in one source."""

    path: Path
    reason: str


@dataclass(frozen=True)
class ProposedType:
    """The path of the events' type. `names`: the types that its values stand for; empty: the values themselves.

    `is_sure`: false where the topic's name is proposed, and this only mentioned.
    """

    path: Path
    names: Mapping[str, str]
    reason: str
    is_sure: bool


@dataclass(frozen=True)
class ProposedExplode:
    """An array of objects, each of which may be an event. `is_sure`: only they have a time."""

    path: Path
    reason: str
    is_sure: bool


@dataclass(frozen=True)
class ProposedSource:
    """One topic. `numbers`: paths whose texts hold numbers. `form`: what messages are written as.

    None: as Avro or Protobuf, in the frame of a schema registry, and not read. `registry`: URL of that registry, where
    it is known. `told`: sentences on messages that could not be read.
    """

    topic: str
    messages: int
    envelope: Envelope
    csv: CsvForm | None
    explode: ProposedExplode | None
    time: ProposedTime
    key: ProposedKey | None
    numbers: Sequence[Path]
    type: ProposedType | None
    form: str | None = JSON
    registry: str | None = None
    told: Sequence[str] = ()
