"""One source partition of a routed stream: events go on under new keys, in transactions with the position.

take over:        a producer with the partition's transactional id (ends and fences the predecessor's transaction),
                  then the committed position and watermark
run:              each event, with its message's headers and time, goes to the partition of its new key. Dead letters
                  go with it. Before a commit every target partition receives this source's watermark
                  (`engine.windows.sources` reads it)
unknown outcome:  whatever happens to a transaction, nothing of it is kept; then take over again
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from saffron.engine.events.raw import RawBatch
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.mapping.definition import Start
from saffron.runtime.dead_letters.writing import LetterMessage
from saffron.runtime.hops.flow import Flow
from saffron.runtime.hops.input_state import InputTracker
from saffron.runtime.hops.route_position import RoutePosition
from saffron.runtime.hops.transactions import Transactions
from saffron.runtime.log import Consumer, Log, Record, TopicPartition
from saffron.runtime.process.background import Background
from saffron.runtime.results.progress import WrittenPlace
from saffron.runtime.results.retry_state import RetryState
from saffron.runtime.streams.merging import End, Inner, Unread
from saffron.runtime.streams.messages import batch_of
from saffron.runtime.streams.stream_formats import Translation
from saffron.schema.schema import MAX_TS
from saffron.windowing.routing.take_over import find_start

_QUEUE = 10_000
"""Records held before the input is paused."""
_NOTHING = -1
_SLICE = 2_000
"""Records routed in one step, so that other work of the process continues."""
_AWAKE_MS = 200
"""How long a source that was silent says that it is not, before it raises its watermark.

Messages come to several silent sources at once: each then speaks before one of them moves event time past the others.
"""
WAITS = _TAKE_OVER, _REGISTRY, _TOPIC, _TABLE = "take-over", "registry", "topic", "table"
"""Reasons to wait: the end of the predecessor's transaction, a schema registry's answer, a topic that is missing, or a
table that is not loaded yet."""


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

    `of`: number of the source in a merged stream, else 0. `target`: the routed topic, with `partitions` partitions.
    `place`: how `$watermark`s name the chain's source (see `engine.events.decoding.exact.Source`); None: not all
    partitions of the sources are known yet. `loading`: whether a table is not whole yet. `reader`: makes the reader
    that begins at a watermark. `start`: where a partition is read from that was never read. `idle`: silence after which
    the source is not waited for (ms); None: never. `stamp`: the time of an event's message, from that of its source's
    (-1: none) and the present (ms). `translate`: of messages that are not JSON. `letter`: a dead letter's message.
    `retry_ms`: wait after being fenced. `commit_executor`: runs commits.
    """

    where: TopicPartition
    of: int
    group: str
    target: str
    partitions: int
    place: Callable[[], Mapping[str, Any] | None]
    loading: Callable[[], bool]
    reader: Callable[[int], Reader]
    start: Callable[[], Start | int]
    transactional_id: str
    idle: Callable[[], int | None]
    stamp: Callable[[int, int], int | None]
    translate: Translation
    letter: Callable[[Record, Unread], LetterMessage]
    commit_executor: Background
    commit_ms: int
    retry_ms: int


@dataclass
class RouteCounters:
    """Counters since the chain was assigned: committed events, and aborted transactions.

    Misfits, values that the source's condition did not pass, keys that no row of a table has, and dead letters by
    reason are counted as they are read.
    """

    events: int = 0
    misfits: int = 0
    filtered: int = 0
    not_found: int = 0
    letters: Counter[str] = field(default_factory=Counter)
    aborts: int = 0


class RouteChain:
    """The chain of one source partition. A `Chain` of `runtime.hops.last_hop`."""

    def __init__(self, log: Log, consumer: Consumer, plan: RoutePlan, clock: Callable[[], float]) -> None:
        """`clock`: ms since 1970, for measuring only."""
        self._log = log
        self._consumer = consumer
        self._plan = plan
        self._retry = RetryState(plan.where, plan.retry_ms, self._reset)
        self._reader = plan.reader(NO_WATERMARK)
        self._queue: deque[Record] = deque()
        self._silent = False
        self._position = self._committed = 0
        self._sent_watermark = NO_WATERMARK
        self._awake_since: int | None = None
        self._place: Mapping[str, Any] = {}
        self._sent_place: Mapping[str, Any] | None = None
        self.input = InputTracker()
        self._committed_at = self._last_input_at = 0
        self._sent = self._sent_last = 0
        self._is_placed = True
        self._awaits_registry = False
        self.counters = RouteCounters()
        self._flow = Flow(consumer, plan.where, _QUEUE, _SLICE - 1)
        self._transactions = Transactions(
            log, consumer, plan.where, plan.transactional_id, plan.commit_executor, clock, self._count_committed
        )

    @property
    def watermark(self) -> int | None:
        """Event time (ms) below which only late events come from this source; None before the first event."""
        watermark = self._reader.watermark
        return None if watermark == NO_WATERMARK else watermark

    @property
    def waits_for(self) -> str | None:
        """One of `WAITS`, or None."""
        if not self._transactions.is_taken_over:
            return _TAKE_OVER
        if self._awaits_registry:
            return _REGISTRY
        return _TOPIC if self._plan.place() is None else _TABLE if self._plan.loading() else None

    @property
    def is_at_rest(self) -> bool:
        """Whether all that was read has been routed, and is committed."""
        taken = self._transactions.is_taken_over and not self._queue
        return taken and self._position == self._committed and self._transactions.is_committed

    @property
    def trouble(self) -> str | None:
        """See `last_hop.Chain`."""
        return self._retry.trouble

    def restart(self) -> None:
        """See `last_hop.Chain`."""
        if self._transactions.is_taken_over:
            self._reset()

    @property
    def waited_ms(self) -> float:
        return self._transactions.waited_ms

    def take(self, records: Sequence[Record]) -> None:
        if self._transactions.is_taken_over:
            self._queue.extend(record for record in records if record.offset >= self._position)

    def step(self, now_ms: int) -> bool:
        if not self._transactions.is_taken_over:
            return now_ms >= self._retry.retry_at and self._retry.run(now_ms, self._take_over)
        return self._retry.run(now_ms, self._advance)

    def due(self, now_ms: int) -> int:
        return self._plan.commit_ms - (now_ms - self._committed_at)

    def release(self, now_ms: int) -> None:
        def finish(now: int) -> bool:
            self._transactions.wait()
            self._commit(now)
            self._transactions.wait()
            return True

        if self._transactions.is_taken_over:
            self._retry.run(now_ms, finish)
        self.drop()

    def drop(self) -> None:
        self._transactions.close()
        self._queue.clear()
        self._silent = self._awaits_registry = False
        self._sent = self._sent_last = 0
        self._is_placed = True

    # ------------------------------------------------------------ take-over

    def _reset(self) -> None:
        """Drops all state and pauses the input, before another take-over."""
        self.counters.aborts += 1
        self.drop()
        self._flow.pause(True)

    def _take_over(self, now_ms: int) -> bool:
        """Takes the partition over, and seeks the input to its position."""
        plan = self._plan
        self._transactions.take_over()
        start = find_start(
            self._log, self._consumer, plan.where, plan.target, plan.group, plan.of, now_ms, plan.start()
        )
        start.input.take_over(self.input.take_new_incidents())
        self.input = start.input
        self._position = start.position
        self._committed = _NOTHING if start.is_first else start.position  # "the end" is where it is now
        self._reader, self._sent_watermark = plan.reader(start.watermark), NO_WATERMARK
        self._sent_place = self._awake_since = None
        self._committed_at = self._last_input_at = now_ms
        self._consumer.seek(plan.where, self._position)
        self._flow.pause(False)
        return True

    # ------------------------------------------------------------ work

    def _advance(self, now_ms: int) -> bool:
        """One step after the take-over; True on progress."""
        self._flow.update(len(self._queue))
        if not self._transactions.settle():
            return False
        if (place := self._plan.place()) is None:
            return False
        self._place = place
        moved = bool(self._queue) and not self._plan.loading() and self._route(now_ms)
        if not moved and self._falls_silent(now_ms):
            self._silent = True
            self._send_watermark(silent=True)
        elif self._sent_place != place and (self._sent_place is not None or "lookups" in place):
            self._send_watermark(silent=self._silent)
        elif self._awake_since is not None and now_ms - self._awake_since >= _AWAKE_MS:
            self._awake_since = None
            self._send_watermark()
        if (self._transactions.is_open or self._position > self._committed) and self.due(now_ms) <= 0:
            self._commit(now_ms)
        return moved

    def _route(self, now_ms: int) -> bool:
        """Routes the next records; False if there are none that can be read now."""
        records = [self._queue[index] for index in range(min(_SLICE, len(self._queue)))]
        batch = self._plan.translate(batch_of(records))
        self._awaits_registry = batch is None
        if batch is None:
            return False
        self._last_input_at = now_ms
        if self._silent:
            self._silent, self._awake_since = False, now_ms
            self._send_watermark()
        self._send(self._reader.read(batch, records), records, now_ms)
        for _ in records:
            self._queue.popleft()
        self._position = records[-1].offset + 1
        return True

    def _send(self, inner: Inner, records: Sequence[Record], now_ms: int) -> None:
        """Sends events and dead letters, all in one transaction."""
        send, target = self._transactions.producer.send, self._plan.target
        if inner.events or inner.unread:
            self._transactions.begin()
            self._is_placed = False
        for event in inner.events:
            if isinstance(event, End):
                self._send_watermark(event.watermark, end=True)
                continue
            record = records[event.row]
            key = record.key if event.key is None else event.key
            time = self._plan.stamp(record.timestamp, now_ms)
            send(target, event.partition, event.value, key=key, headers=record.headers, timestamp=time)
            self._sent += 1
        for unread in inner.unread:
            letter = self._plan.letter(records[unread.row], unread)
            send(letter.topic, letter.partition, letter.value, key=letter.key)
            self.counters.letters[unread.reason] += 1
        self.counters.misfits += sum(inner.misfits.values())
        self.counters.filtered += inner.filtered
        self.counters.not_found += sum(inner.not_found.values())

    def _falls_silent(self, now_ms: int) -> bool:
        """Whether the source has just been silent for its bound, with its end reached."""
        idle = self._plan.idle()
        if idle is None or self._silent or self._queue or now_ms - self._last_input_at < idle:
            return False
        return self._consumer.at_end(self._plan.where)

    def _send_watermark(
        self, watermark: int | None = None, *, end: bool = False, silent: bool = False, last: bool = False
    ) -> None:
        """Sends this source's watermark to every target partition.

        `watermark`: the reader's where None. `last`: the record ends its transaction, and names the place reached, from
        which a chain without a committed position goes on.
        """
        self._transactions.begin()
        if watermark is None:
            watermark = self._reader.watermark if self._awake_since is None else self._sent_watermark
        message: dict[str, Any] = {"type": "$watermark"}
        if watermark > NO_WATERMARK or not silent:
            message["ts"] = max(watermark, -MAX_TS)
        message |= self._place  # of a source that is no longer one, the last that it had
        self._sent_place = self._place
        value = orjson.dumps(message | ({"end": True} if end else {}) | ({"silent": True} if silent else {}))
        place = WrittenPlace(self.input.state.topic, self._plan.where.partition, self._position, 0).headers()
        for partition in range(self._plan.partitions):
            self._transactions.producer.send(self._plan.target, partition, value, headers=place if last else ())
        self._sent_watermark, self._is_placed = watermark, last

    # ------------------------------------------------------------ transactions

    def _commit(self, now_ms: int) -> None:
        """Ends the transaction with the position reached, on another thread.

        If only that moved, begins a transaction first.
        """
        if not self._transactions.is_open and self._position == self._committed:
            return
        self._transactions.begin()
        if not self._is_placed or self._reader.watermark > self._sent_watermark:
            self._send_watermark(silent=self._silent, last=True)
        self._transactions.commit(
            RoutePosition(self._position, self._reader.watermark, self.input.state).to_committed()
        )
        self._committed, self._committed_at = self._position, now_ms
        self._sent, self._sent_last = 0, self._sent

    def _count_committed(self, began_ms: float, ended_ms: float) -> None:
        """Counts the events of a transaction that was committed."""
        del began_ms, ended_ms
        self.counters.events += self._sent_last
