"""The configuration of one chain of a routed stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from saffron.engine.events.raw import RawBatch
from saffron.mapping.definition import Start
from saffron.runtime.dead_letters.writing import LetterMessage
from saffron.runtime.hops.transactional_chain import Holding
from saffron.runtime.log import Record
from saffron.runtime.streams.merging import Inner, Unread
from saffron.runtime.streams.stream_formats import Translation


class Reader(Protocol):
    """The reader of a source partition: messages become events of the target."""

    @property
    def watermark(self) -> int:
        """Event time (ms) below which only late events come."""

    def read(self, batch: RawBatch, records: Sequence[Record], /) -> Inner:
        """The events and dead letters made of a batch's messages. `batch`: the records as JSON."""


@dataclass(frozen=True)
class RoutePlan:
    """The configuration of one chain.

    - `holding`: the source partition. `labels`: stream and source in metrics.
    - `of`: number of the source in a merged stream, else 0. `target`: the routed topic, with `partitions` partitions.
    - `place`: the fields by which `$watermark`s name the chain's source (see `engine.events.decoding.exact.Source`).
      None: not all partitions of the sources are known yet.
    - `loading`: a table is not whole yet. `all_began`: every source of the stream is read: all chains in this process
      have begun, and other members read the rest.
    - `reader`: makes the reader that begins at a watermark. `start`: the place to begin a new partition at.
    - `idle`: silence after which the source is not waited for (ms); None: never. `any_idle`: whether some source of
      the stream has one.
    - `stamp`: (time of the source's message, -1 for none; present) -> time of the event's message (ms).
    - `translate`: of messages that are not JSON. `letter`: a dead letter's message.
    """

    holding: Holding
    labels: tuple[str, str]
    of: int
    group: str
    target: str
    partitions: int
    place: Callable[[], Mapping[str, Any] | None]
    loading: Callable[[], bool]
    all_began: Callable[[], bool]
    reader: Callable[[int], Reader]
    start: Callable[[], Start | int]
    idle: Callable[[], int | None]
    any_idle: Callable[[], bool]
    stamp: Callable[[int, int], int | None]
    translate: Translation
    letter: Callable[[Record, Unread], LetterMessage]
    commit_ms: int
