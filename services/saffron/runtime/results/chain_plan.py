"""What a chain of the last hop is made of, and the small things it keeps book of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import orjson

from saffron.engine.events.block import Block
from saffron.engine.events.columns import Columns
from saffron.engine.operators.containment import Failure, Note
from saffron.engine.operators.operator import ResultOperator
from saffron.engine.operators.results import Results
from saffron.runtime.hops.block_reader import BlockReader, Decode, ReaderState
from saffron.runtime.hops.input_state import InputState
from saffron.runtime.log import Committed, Log, TopicPartition
from saffron.runtime.process.background import Background, at_once
from saffron.runtime.results.marks import Mark, marks_of, marks_record

_HISTORY_BATCH = 64
_BUSY = 3
"""A chain that is never idle has at least so much time for its blocks, for one of commits."""

Message = tuple[str, bytes, bytes]
"""(topic, key, value) of an observation."""


@dataclass(frozen=True)
class Limits:
    """Times in ms; `results`, `bytes`: the most in one transaction; `queue`: blocks held before the input is paused.

    `commit_ms`: between transactions with results; `position_ms`: between those that only move the position.
    `retry_ms`: after being fenced, until the group has said whose the partition is.
    `result_bytes`: the largest result that is written; a dead letter stands in place of a larger one.
    """

    commit_ms: int = 20
    position_ms: int = 1000
    observe_ms: int = 500
    snapshot_ms: int = 10_000
    retry_ms: int = 3000
    results: int = 20_000
    bytes: int = 64 << 20
    queue: int = 64
    result_bytes: int = 16_000_000


class Observer(Protocol):
    """What is told to the model builder about one chain."""

    def applied(self, block: Block, operator: ResultOperator, nanoseconds: int) -> None:
        """A block has been applied in so much time."""

    def messages(self, operator: ResultOperator) -> Sequence[Message]:
        """The operator's rows, and what was measured, since the last call."""


@dataclass(frozen=True)
class ChainPlan:
    """The parts of one chain. `source`: its name in the header ce_source of all its results; `headers`: others that all
    of them have; `encode`: a result's JSON as it is written, None for the JSON itself. `letters`: where dead letters
    go. `commits`, `background`: where it ends its transactions, and writes its snapshots. `tell`: of a query that has
    failed."""

    where: TopicPartition
    output: TopicPartition
    letters: TopicPartition
    transactional_id: str
    group: str
    directory: Path
    operator: Callable[[Note], ResultOperator]
    observer: Callable[[], Observer]
    decode: Decode
    tell: Callable[[Failure], None]
    source: bytes = b""
    headers: tuple[tuple[str, bytes], ...] = ()
    encode: Callable[[bytes], bytes] | None = None
    commits: Background = at_once
    background: Background = at_once


@dataclass(frozen=True)
class Place:
    """How far a chain has come: all blocks before `offset`, and `index` results of the block there.

    `said`: observations of the blocks before this offset stand in the log. `counts`: the `index` results by their
    queries. `failed`: queries that are without results, here or behind this place.
    """

    offset: int
    index: int
    said: int
    counts: Mapping[str, int] = field(default_factory=dict)
    failed: tuple[Mark, ...] = ()

    def is_between(self, position: int) -> bool:
        """Whether it is right before the block at `position`, all that was observed before having been said."""
        return (self.offset, self.index, self.said) == (position, 0, position)

    def committed(self, known: InputState) -> Committed:
        """As it is kept with the group. `known`: of the input topic."""
        body: dict[str, Any] = {"index": self.index, "said": self.said, **known.record()}
        if self.counts:
            body["counts"] = dict(self.counts)
        if self.failed:
            body["failed"] = marks_record(self.failed)
        return Committed(self.offset, orjson.dumps(body).decode())

    @classmethod
    def of(cls, committed: Committed) -> Kept | None:
        """The place that was kept; None where what stands there is not of a chain: Kafka's own tools leave no metadata,
        and neither did version 0.1.0 between two blocks."""
        try:
            body = orjson.loads(committed.metadata)
            index, said = int(body["index"]), int(body["said"])
            counts, failed = body.get("counts", {}), marks_of(body.get("failed", ()))
            place = cls(committed.offset, index, said, counts, failed)
            return Kept(place, InputState.of(body))
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return None


@dataclass(frozen=True)
class Kept:
    """A place, and what was known of its topic."""

    place: Place
    input: InputState


@dataclass
class CommitTime:
    """How long the last commit took, and when it was over (ms).

    A chain goes on at least as long as it has committed until the next one, and longer where it has been busy ever
    since: with a slow broker each block would have a commit of its own otherwise, and results wait for the one before.
    """

    _took: float = 0.0
    _ended: float = 0.0
    _idled: bool = True

    def begin(self) -> None:
        """A commit begins."""
        self._idled = False

    def end(self, began_ms: float, ended_ms: float) -> None:
        """It is over."""
        self._took, self._ended = ended_ms - began_ms, ended_ms

    def idled(self) -> None:
        """There was nothing to do for a while."""
        self._idled = True

    def rest(self, now_ms: int) -> int:
        """For how many ms work comes first."""
        return round((1 if self._idled else _BUSY) * self._took - (now_ms - self._ended))


@dataclass
class Pending:
    """A block whose results are being written: `index` of the next one. `applied_ms`: when it was applied.

    `traced`: the block's columns, where its events carry trace context.
    """

    offset: int
    results: Results
    index: int
    applied_ms: float
    traced: Columns | None = None

    @property
    def done(self) -> bool:
        return self.index >= len(self.results)


def index_behind(place: Place, results: Results) -> int:
    """The first result of the block at a place that does not stand, if some queries of those that do are gone since."""
    return place.index - sum(count for name, count in place.counts.items() if name not in results.names)


def history(log: Log, plan: ChainPlan, until: int) -> Iterator[Block]:
    """The partition's blocks from the earliest one up to and including the one at offset `until`."""
    consumer = log.consumer(f"{plan.group}-history", committed_only=False, client_id="history")
    low, _ = consumer.watermarks(plan.where)
    reader = BlockReader(plan.decode, ReaderState(counter=0 if low == 0 else None))
    consumer.assign({plan.where: low})
    position = low
    try:
        while position <= until:
            for record in consumer.poll(_HISTORY_BATCH, 1.0):
                position = record.offset + 1
                block = reader.accept(record) if record.offset <= until else None
                if block is not None:
                    yield block
    finally:
        consumer.close()
