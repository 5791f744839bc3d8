"""Configuration and small state classes of a result chain."""

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
from saffron.errors import UnavailableError
from saffron.runtime.hops.block_reader import BlockReader, ReaderState
from saffron.runtime.hops.input_state import InputState
from saffron.runtime.hops.when_written import Report, unreported
from saffron.runtime.log import Committed, Log, TopicPartition
from saffron.runtime.process.background import Background, at_once
from saffron.runtime.results.failed_queries import FailedQuery, failed_queries_of, failed_queries_record
from saffron.runtime.results.published import PublishedTopics
from saffron.runtime.results.query_counts import Counts, counts_of, counts_text, results_of_others
from saffron.runtime.telemetry.metric_kinds import Counter
from saffron.runtime.telemetry.metric_names import COMPLEX_EVENTS

_HISTORY_BATCH = 64
_SILENT_POLLS = 10
MOST_METADATA = 4_096
"""Bytes that brokers store beside an offset, unless they are told otherwise."""
_BUSY = 3
"""Factor between the duration of a commit and the least time for blocks after it, for a chain that is never idle."""

Message = tuple[str, bytes, bytes]
"""Topic, key and value of an observation message."""


@dataclass(frozen=True)
class Limits:
    """Time and size limits of a chain. Times are in ms.

    `commit_ms`: between transactions with results. `snapshot_ms`: between snapshots. `retry_ms`: wait after being
    fenced. `result_bytes`: the largest result written; a dead letter replaces a larger one. `position_ms`: between
    transactions that only move the position. `observe_ms`: between messages of observations. `results`, `bytes`: the
    most in one transaction. `queue`: blocks held before the input is paused. `turn_ms`: time between two steps from
    which on a transaction ends in the step that begins it: another chain's block may take longer than a transaction
    may be open.
    """

    commit_ms: int
    snapshot_ms: int
    retry_ms: int
    result_bytes: int
    position_ms: int = 1000
    observe_ms: int = 500
    results: int = 20_000
    bytes: int = 64 << 20
    queue: int = 64
    turn_ms: int = 2_500


class Observer(Protocol):
    """The source of observation messages of one chain, for the model builder."""

    def applied(self, block: Block, operator: ResultOperator, nanoseconds: int) -> None:
        """Records the time that applying a block took."""

    def messages(self, operator: ResultOperator) -> Sequence[Message]:
        """The operator's observations and the measurements since the last call."""


@dataclass(frozen=True)
class ChainPlan:
    """The configuration of one chain.

    `published`: the topics of PUBLISH. `source`: value of the header ce_source of all its results. `headers`: further
    headers. `encode`: from a result's JSON to its output format; None for JSON. `letters`: partition for dead letters.
    `snapshot_executor`: runs snapshot writes. `commit_executor`, `search_executor`, `start_executor`: see `Holding`.
    `report_failure`: called with each failed query. `report`: adds to counters; `labels`: stream and partition there.
    `results`: the counter of results. `has_queries`: whether queries are registered that the operator runs, or will run
    when they come into force.
    """

    where: TopicPartition
    output: TopicPartition
    letters: TopicPartition
    transactional_id: str
    group: str
    directory: Path
    operator: Callable[[Note], ResultOperator]
    observer: Callable[[], Observer]
    report_failure: Callable[[Failure], None]
    published: PublishedTopics
    source: bytes = b""
    headers: tuple[tuple[str, bytes], ...] = ()
    encode: Callable[[bytes], bytes] | None = None
    commit_executor: Background = at_once
    snapshot_executor: Background = at_once
    search_executor: Background = at_once
    start_executor: Background = at_once
    report: Report = unreported
    labels: tuple[str, str] = ("", "")
    results: Counter = COMPLEX_EVENTS
    has_queries: Callable[[], bool] = lambda: True


@dataclass(frozen=True)
class Place:
    """The progress of a chain: all blocks before `offset`, and `index` results of the block there.

    `observed_until`: observations of blocks before this offset are in the log. `counts`: number of the `index` results
    by query. `failed`: queries without results from some place on. `claim`: the highest claim before the place, or -1.
    """

    offset: int
    index: int
    observed_until: int
    counts: Counts = field(default_factory=dict)
    failed: tuple[FailedQuery, ...] = ()
    claim: int = -1

    @property
    def read(self) -> int:
        """The offset behind the last block that was read for it."""
        return self.offset + (self.index > 0)

    def has_begun(self, offset: int) -> bool:
        """True if results of the block at `offset`, or all of it, stand before the place."""
        return offset < self.offset or (offset == self.offset and self.index > 0)

    def is_between(self, position: int) -> bool:
        """True if the place is right before the block at `position`, with all earlier observations sent."""
        return (self.offset, self.index, self.observed_until) == (position, 0, position)

    def to_committed(self, known: InputState) -> Committed:
        """The form that is committed with the group. `known`: the state of the input topic."""
        body: dict[str, Any] = {"index": self.index, "said": self.observed_until, **known.record()}
        if self.claim >= 0:
            body["claim"] = self.claim
        if self.counts:
            body["counts"] = counts_text(self.counts)
        if self.failed:
            body["failed"] = failed_queries_record(self.failed)
        return Committed(self.offset, orjson.dumps(body).decode())

    def fits(self, known: InputState) -> bool:
        """True if brokers store the place beside an offset: one within a block has a number for each of its queries."""
        return len(self.to_committed(known).metadata.encode()) <= MOST_METADATA

    @classmethod
    def from_committed(cls, committed: Committed) -> CommittedPlace | None:
        """The place in a committed position, or None if a chain did not write it.

        Kafka's own tools leave no metadata, and neither did version 0.1.0 between two blocks.
        """
        try:
            body = orjson.loads(committed.metadata)
            index, observed_until = int(body["index"]), int(body["said"])
            counts, failed = counts_of(body.get("counts", "")), failed_queries_of(body.get("failed", ()))
            claim = int(body.get("claim", -1))
            place = cls(committed.offset, index, observed_until, counts, failed, claim)
            return CommittedPlace(place, InputState.from_record(body))
        except (orjson.JSONDecodeError, LookupError, TypeError, ValueError):
            return None


@dataclass(frozen=True)
class CommittedPlace:
    """A committed place, and the state of its input topic."""

    place: Place
    input: InputState


@dataclass
class CommitPacing:
    """The time to process blocks between two commits, derived from the duration of the last commit (ms).

    A chain processes blocks for at least as long as its last commit took, and longer while it is busy. With a slow
    broker each block would otherwise get its own commit, and wait for the previous one.
    """

    _took: float = 0.0
    _ended: float = 0.0
    _idled: bool = True

    def begin(self) -> None:
        """Records the start of a commit."""
        self._idled = False

    def end(self, began_ms: float, ended_ms: float) -> None:
        """Records the start and end of a commit (ms)."""
        self._took, self._ended = ended_ms - began_ms, ended_ms

    def mark_idle(self) -> None:
        """Records that the chain had nothing to do."""
        self._idled = True

    def remaining_ms(self, now_ms: int) -> int:
        """Time in ms until the next commit may begin; 0 or less: now."""
        return round((1 if self._idled else _BUSY) * self._took - (now_ms - self._ended))


_SLOW_TURNS_MS = 60_000


@dataclass
class Turns:
    """The times of a chain's steps. Two turns as long as `limit_ms` within a minute make turns slow for a minute.

    One alone may be the start of a service, or a pause of the machine.
    """

    limit_ms: int
    _last: int | None = None
    _watched_until: int = 0
    _slow_until: int = 0

    def begin(self, now_ms: int) -> None:
        """Records the beginning of a step."""
        if self._last is not None and now_ms - self._last >= self.limit_ms:
            if now_ms < self._watched_until:
                self._slow_until = now_ms + _SLOW_TURNS_MS
            self._watched_until = now_ms + _SLOW_TURNS_MS
        self._last = now_ms

    def are_slow(self, now_ms: int) -> bool:
        """True if the next step may come too late for a transaction that is left open."""
        return now_ms < self._slow_until


@dataclass(frozen=True)
class Applied:
    """A block that an operator was given, at `offset`, and its results.

    `dropped`: partial matches that its orders dropped, by query.
    """

    offset: int
    block: Block
    results: Results
    dropped: Mapping[str, int]


@dataclass
class PendingResults:
    """A block whose results are being written.

    `index`: next result to write. `applied_ms`: time when the block was applied. `uncounted`: whether no transaction
    has the block's counts yet.
    """

    applied: Applied
    index: int
    applied_ms: float
    uncounted: bool

    @property
    def offset(self) -> int:
        return self.applied.offset

    @property
    def results(self) -> Results:
        return self.applied.results

    @property
    def traced_columns(self) -> Columns | None:
        """The block's columns, if its events carry trace context."""
        columns = self.applied.block.columns
        return columns if columns.trace is not None else None

    @property
    def done(self) -> bool:
        return self.index >= len(self.results)


def next_index(place: Place, results: Results) -> int:
    """Index of the first result not yet written, in the block at `place`.

    Results of queries gone since do not count.
    """
    return place.index - results_of_others(place.counts, results.names)


def blocks_until(log: Log, plan: ChainPlan, until: int) -> Iterator[Block]:
    """The partition's blocks from the earliest one up to and including the one at offset `until`.

    UnavailableError: the broker gives no more of them.
    """
    consumer = log.consumer(f"{plan.group}-history", committed_only=False, client_id="history")
    low, _ = consumer.watermarks(plan.where)
    reader = BlockReader(ReaderState(counter=0 if low == 0 else None))
    consumer.assign({plan.where: low})
    position, silent = low, 0
    try:
        while position <= until:
            records = consumer.poll(_HISTORY_BATCH, 1.0)
            if not records and consumer.at_end(plan.where):
                return  # what is at `until` is no record, but the mark of a transaction
            silent = 0 if records else silent + 1
            if silent > _SILENT_POLLS:
                raise UnavailableError(f"{plan.where} cannot be read from offset {position} to {until}")
            for record in records:
                position = record.offset + 1
                block = reader.accept(record) if record.offset <= until else None
                if block is not None:
                    yield block
    finally:
        consumer.close()
