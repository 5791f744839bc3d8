"""One source partition of a re-keyed stream: its events go on under their new keys, in transactions with the position.

take over:  a producer with the partition's transactional id (ends the predecessor's transaction, fences it), then
            the committed position, and beside it the watermark that the predecessor had reached
run:        each event's own bytes, headers and time go to the partition of its new key; before a transaction is
            ended, every target partition is told how far this source is (`engine.windows.sources` reads it)
in doubt:   whatever happens to a transaction, nothing of it is kept: take over again
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import orjson

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.runtime.hops.input_state import InputBook
from saffron.runtime.log import Committed, Consumer, Log, Producer, Record, TopicPartition
from saffron.runtime.process.background import Background
from saffron.runtime.results.progress import Written
from saffron.runtime.results.unknown_outcome import Doubt
from saffron.runtime.streams.stream_formats import Translation
from saffron.windowing.routing.rekeying import Rekeying
from saffron.windowing.routing.take_over import Reached, find_start

_QUEUE = 10_000
"""Records held before the input is paused."""
_SLICE = 2_000
"""Records routed in one step, so that the other work of the process goes on."""
WAITS = _TAKE_OVER, _REGISTRY = "take-over", "registry"
"""What a chain may wait for: that its predecessor's transaction is over, or an answer of a schema registry."""


@dataclass(frozen=True)
class Bounds:
    """Of a re-keyed stream, in ms. `idle`: a source partition silent this long is not waited for; None: for ever."""

    disorder: int = 0
    idle: int | None = None


@dataclass(frozen=True)
class RoutePlan:
    """The parts of one chain. `target`: the re-keyed topic, of `partitions` partitions; `sources`: how many there are.

    `translate`: of messages that are not JSON events. `retry_ms`: after being fenced.
    """

    where: TopicPartition
    group: str
    target: str
    partitions: int
    sources: Callable[[], int]
    key: str | None
    transactional_id: str
    bounds: Callable[[], Bounds]
    translate: Translation | None
    commits: Background
    commit_ms: int
    retry_ms: int
    max_future: int


@dataclass
class Routed:
    """Since the chain was assigned: events that stand in the new stream, and transactions that were begun anew."""

    events: int = 0
    aborts: int = 0


class RouteChain:
    """See the module. A `Chain` of `runtime.hops.last_hop`."""

    def __init__(self, log: Log, consumer: Consumer, plan: RoutePlan) -> None:
        self._log = log
        self._consumer = consumer
        self._plan = plan
        self._producer: Producer | None = None
        self._doubt = Doubt(plan.where, plan.retry_ms, self._anew)
        self._rekeying = self._begin_at(NO_WATERMARK)
        self._queue: deque[Record] = deque()
        self._ending: Future[None] | None = None
        self._open = self._paused = self._silent = False
        self._position = self._committed = 0
        self._told = NO_WATERMARK
        self.input = InputBook()
        self._committed_at = self._heard_at = 0
        self._waited_ms = 0.0
        self._sent = self._sent_last = 0
        self._held_up = False
        self.routed = Routed()

    @property
    def watermark(self) -> int | None:
        """No event below it comes from this source but late ones (ms); None before the first."""
        watermark = self._rekeying.watermark
        return None if watermark == NO_WATERMARK else watermark

    @property
    def waits_for(self) -> str | None:
        """One of `WAITS`, or nothing but events."""
        return _TAKE_OVER if self._producer is None else _REGISTRY if self._held_up else None

    @property
    def trouble(self) -> str | None:
        """See `last_hop.Chain`."""
        return self._doubt.trouble

    def look_again(self) -> None:
        """See `last_hop.Chain`."""
        if self._producer is not None:
            self._anew()

    @property
    def waited_ms(self) -> float:
        return self._waited_ms + (self._producer.waited_ms if self._producer is not None else 0.0)

    def take(self, records: Sequence[Record]) -> None:
        if self._producer is not None:
            self._queue.extend(record for record in records if record.offset >= self._position)

    def step(self, now_ms: int) -> bool:
        if self._producer is None:
            return now_ms >= self._doubt.retry_at and self._doubt.guarded(now_ms, self._take_over)
        return self._doubt.guarded(now_ms, self._advance)

    def due(self, now_ms: int) -> int:
        return self._plan.commit_ms - (now_ms - self._committed_at)

    def release(self, now_ms: int) -> None:
        def finish(now: int) -> bool:
            self._ended()
            self._commit(now)
            self._ended()
            return True

        if self._producer is not None:
            self._doubt.guarded(now_ms, finish)
        self.drop()

    def drop(self) -> None:
        self._waited_ms = self.waited_ms
        if self._producer is not None:
            self._producer.close()
        self._producer, self._ending = None, None
        self._queue.clear()
        self._open = self._silent = self._held_up = False
        self._sent = self._sent_last = 0

    # ------------------------------------------------------------ take-over

    def _anew(self) -> None:
        self.routed.aborts += 1
        self.drop()
        self._pause(True)

    def _take_over(self, now_ms: int) -> bool:
        plan = self._plan
        self._producer = self._log.producer(plan.transactional_id, client_id=plan.transactional_id)
        start = find_start(self._log, self._consumer, plan.where, plan.target, plan.group, now_ms)
        self.input = start.input
        self._position = self._committed = start.position
        self._rekeying, self._told = self._begin_at(start.watermark), NO_WATERMARK
        self._committed_at = self._heard_at = now_ms
        self._consumer.seek(plan.where, self._position)
        self._paused = True
        self._pause(False)
        return True

    def _begin_at(self, watermark: int) -> Rekeying:
        return Rekeying(self._plan.key, self._plan.partitions, self._plan.max_future, watermark)

    # ------------------------------------------------------------ work

    def _advance(self, now_ms: int) -> bool:
        self._pause(len(self._queue) >= (_SLICE if self._paused else _QUEUE))
        if self._ending is not None:
            if not self._ending.done():
                return False
            self._ended()
        moved = bool(self._queue) and self._route(now_ms)
        if not moved and self._falls_silent(now_ms):
            self._silent = True
            self._tell(silent=True)
        if (self._open or self._position > self._committed) and self.due(now_ms) <= 0:
            self._commit(now_ms)
        return moved

    def _route(self, now_ms: int) -> bool:
        """The next records, if they can be read now."""
        records = [self._queue[index] for index in range(min(_SLICE, len(self._queue)))]
        raw = _batch(records)
        batch = raw if self._plan.translate is None else self._plan.translate(raw)
        self._held_up = batch is None
        if batch is None:
            return False
        assert self._producer is not None
        if self._silent:
            self._silent, self._told = False, NO_WATERMARK  # to be told again, even if it is the same
        self._heard_at = now_ms
        self._rekeying.disorder = self._plan.bounds().disorder
        send, target = self._producer.send, self._plan.target
        for move in self._rekeying.moves(batch):
            self._begin()
            if move.end:
                self._tell(end=True)
                continue
            record = records[move.row]
            key = record.key if move.key is None else move.key
            time = record.timestamp if record.timestamp >= 0 else None
            send(target, move.partition, record.value, key=key, headers=record.headers, timestamp=time)
            self._sent += 1
        for _ in records:
            self._queue.popleft()
        self._position = records[-1].offset + 1
        return True

    def _falls_silent(self, now_ms: int) -> bool:
        idle = self._plan.bounds().idle
        if idle is None or self._silent or self._queue or now_ms - self._heard_at < idle:
            return False
        return self._consumer.at_end(self._plan.where)

    def _tell(self, *, end: bool = False, silent: bool = False, last: bool = False) -> None:
        """Every target partition hears how far this source is. `last`: nothing comes behind it in its transaction."""
        assert self._producer is not None
        self._begin()
        word: dict[str, Any] = {"type": "$watermark"}
        if self._rekeying.watermark > NO_WATERMARK:
            word["ts"] = self._rekeying.watermark
        word |= {"source": self._plan.where.partition, "sources": self._plan.sources()}
        value = orjson.dumps(word | ({"end": True} if end else {}) | ({"silent": True} if silent else {}))
        place = Written(self.input.state.topic, self._plan.where.partition, self._position, 0).header()
        for partition in range(self._plan.partitions):
            self._producer.send(self._plan.target, partition, value, headers=[place] if last else ())
        self._told = self._rekeying.watermark

    # ------------------------------------------------------------ transactions

    def _begin(self) -> None:
        assert self._producer is not None
        if not self._open:
            self._producer.begin()
            self._open = True

    def _commit(self, now_ms: int) -> None:
        """End the transaction with the position reached (one of its own if only that has moved), beside the loop."""
        assert self._producer is not None
        if not self._open and self._position == self._committed:
            return
        self._begin()
        if self._sent or self._rekeying.watermark > self._told:
            self._tell(silent=self._silent, last=True)
        reached = Reached(self._position, self._rekeying.watermark, self.input.state).committed()
        self._ending = self._plan.commits(partial(self._end, self._producer, reached, self._consumer.membership()))
        self._open, self._committed, self._committed_at = False, self._position, now_ms
        self._sent, self._sent_last = 0, self._sent

    def _end(self, producer: Producer, reached: Committed, membership: Any) -> None:
        """On any thread, so that it may not ask the consumer."""
        producer.send_offsets({self._plan.where: reached}, membership)
        producer.commit()

    def _ended(self) -> None:
        """Wait until the last transaction stands, if it is still at its end; LogError where that is not known."""
        if self._ending is not None:
            ending, self._ending = self._ending, None
            ending.result()
            self.routed.events += self._sent_last

    def _pause(self, pause: bool) -> None:
        if pause != self._paused:
            (self._consumer.pause if pause else self._consumer.resume)([self._plan.where])
            self._paused = pause


def _batch(records: Sequence[Record]) -> RawBatch:
    offsets = np.array([record.offset for record in records], dtype=np.int64)
    times = np.array([record.timestamp for record in records], dtype=np.int64)
    return batch_of_values([record.value for record in records], offsets, times)
