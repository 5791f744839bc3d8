"""One source partition of a routed stream: events go on under new keys, in transactions with the position.

take over:  from the committed position and watermark
run:        each event, with its message's headers and time, goes to the partition of its new key. Dead letters go with
            it. Before a commit every target partition receives this source's watermark
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from saffron.mapping.envelopes import Eventless
from saffron.runtime.hops.input_state import InputTracker
from saffron.runtime.hops.route_position import RoutePosition
from saffron.runtime.hops.transactional_chain import TransactionalChain
from saffron.runtime.log import Consumer, Log, Record
from saffron.runtime.results.progress import WrittenPlace
from saffron.runtime.streams.merging import End, Inner
from saffron.runtime.streams.messages import batch_of
from saffron.runtime.telemetry import metric_names as names
from saffron.windowing.routing.route_plan import RoutePlan
from saffron.windowing.routing.source_watermarks import SourceWatermarks
from saffron.windowing.routing.take_over import find_start

_QUEUE = 10_000
"""Records held before the input is paused."""
_NOTHING = -1
_SLICE = 2_000
"""Records routed in one step, so that other work of the process continues."""
WAITS = _TAKE_OVER, REGISTRY, _TOPIC, _TABLE = "take-over", "registry", "topic", "table"
"""Reasons to wait: the end of the predecessor's transaction, a schema registry's answer, a topic that is missing, or a
table that is not loaded yet."""


class RouteChain(TransactionalChain):
    """The chain of one source partition."""

    def __init__(self, log: Log, consumer: Consumer, plan: RoutePlan, clock: Callable[[], float]) -> None:
        """`clock`: ms since 1970, for measuring only."""
        super().__init__(log, consumer, plan.holding, clock)
        self._plan = plan
        self._place_reached = self._committed_at = 0
        self._awaits_registry = False
        self._made_anew: tuple[int, int] | None = None
        self._watermarks = SourceWatermarks(plan, self._transactions, lambda: consumer.at_end(plan.holding.where))

    @property
    def watermark(self) -> int | None:
        """Event time (ms) below which only late events come from this source; None before the first event."""
        return self._watermarks.watermark

    @property
    def has_begun(self) -> bool:
        """True if it has taken over, and all readers know that its source is awake."""
        return self.is_taken_over and self._watermarks.has_begun

    @property
    def waits_for(self) -> str | None:
        """The obstacle that it waits for, one of `WAITS`; None: there is none."""
        if not self.is_taken_over:
            return _TAKE_OVER
        if self._awaits_registry:
            return REGISTRY
        return _TOPIC if self._plan.place() is None else _TABLE if self._plan.loading() else None

    @property
    def is_at_rest(self) -> bool:
        """True if all that was read has been routed, and is committed."""
        taken = self.is_taken_over and not self._queue
        return taken and self.position == self._place_reached and self._transactions.is_committed

    def due(self, now_ms: int) -> int:
        return self._plan.commit_ms - (now_ms - self._committed_at)

    # ------------------------------------------------------------ take-over and release

    def _take_over(self, now_ms: int) -> InputTracker:
        """Sets position and watermark to those committed, or named in the target topic, or to the plan's start.

        A source made anew is read from its first record: see `find_start`.
        """
        plan, holding = self._plan, self._holding
        start = find_start(
            self._log,
            self._consumer,
            holding.where,
            plan.target,
            plan.group,
            plan.of,
            now_ms,
            plan.start(),
            self._search,
        )
        self.position = start.position
        self._place_reached = start.position if start.is_committed else _NOTHING
        self._watermarks.begin(start.watermark, start.said, now_ms)
        self._made_anew = start.made_anew if holding.where.partition == 0 else None
        self._committed_at = now_ms
        return start.input

    def _finish(self, now_ms: int) -> None:
        self._transactions.wait()
        self._commit(now_ms)
        self._transactions.wait()

    def _committed(self, began_ms: float, ended_ms: float) -> None:
        del began_ms, ended_ms
        self._watermarks.committed()

    def _forget(self) -> None:
        self._awaits_registry = False
        self._watermarks.forget()

    # ------------------------------------------------------------ work

    def _advance(self, now_ms: int) -> bool:
        """Routes the next records, sends a watermark that is due, and commits if it is time. True if records went on.

        Nothing is done while a commit is under way, or not all partitions of the sources are known.
        """
        self._flow.update(len(self._queue), _QUEUE, _SLICE - 1)
        if not self._transactions.settle():
            return False
        if (place := self._plan.place()) is None:
            return False
        self._watermarks.stand_at(place, now_ms)
        # The group learns of a topic's new number of partitions a little later than this chain.
        if self._made_anew is not None and int(place["sources"]) < self._made_anew[1]:
            self._watermarks.give_up(*self._made_anew)
            self._made_anew = None
        if self._queue:  # what cannot be read yet is no silence
            self._watermarks.input_came(now_ms)
        moved = bool(self._queue) and not self._plan.loading() and self._route(now_ms)
        self._watermarks.send_due(now_ms, waiting=moved or bool(self._queue))
        if (self._transactions.is_open or self.position > self._place_reached) and self.due(now_ms) <= 0:
            self._commit(now_ms)
        return moved

    def _route(self, now_ms: int) -> bool:
        """Routes the next records; False if there are none that can be read now."""
        records = [self._queue[index] for index in range(min(_SLICE, len(self._queue)))]
        batch = self._plan.translate(batch_of(records))
        self._awaits_registry = batch is None
        if batch is None:
            return False
        inner = self._watermarks.reader.read(batch, records)
        self._send(inner, records, now_ms)
        self._count(inner)
        for _ in records:
            self._queue.popleft()
        self.position = records[-1].offset + 1
        return True

    def _send(self, inner: Inner, records: Sequence[Record], now_ms: int) -> None:
        """Sends events and dead letters, all in one transaction."""
        if inner.events or inner.unread:
            self._transactions.begin()
            self._watermarks.events_sent()
        send, target = self._transactions.producer.send, self._plan.target
        for event in inner.events:
            if isinstance(event, End):
                self._watermarks.send(event.watermark, end=True)
                continue
            record = records[event.row]
            key = record.key if event.key is None else event.key
            time = self._plan.stamp(record.timestamp, now_ms)
            send(target, event.partition, event.value, key=key, headers=record.headers, timestamp=time)
        for unread in inner.unread:
            letter = self._plan.letter(records[unread.row], unread)
            send(letter.topic, letter.partition, letter.value, key=letter.key)

    def _count(self, inner: Inner) -> None:
        """Count the outcome of messages, once the position behind them is committed."""
        add, labels = self._transactions.when_written.add, self._plan.labels
        add(names.ROUTED_EVENTS, sum(not isinstance(event, End) for event in inner.events), *labels)
        add(names.MISTYPED_VALUES, sum(inner.misfits.values()), *labels)
        add(names.FILTERED, inner.eventless.get(Eventless.FILTERED, 0), *labels)
        add(names.WITHOUT_ARRAY, inner.eventless.get(Eventless.NO_ARRAY, 0), *labels)
        add(names.TABLE_MISSES, sum(inner.not_found.values()), *labels)
        for reason, count in Counter(unread.reason for unread in inner.unread).items():
            add(names.DEAD_LETTERS, count, reason)

    # ------------------------------------------------------------ transactions

    def _commit(self, now_ms: int) -> None:
        """Ends the transaction with the position reached, on another thread.

        If only that moved, begins a transaction first.
        """
        if not self._transactions.is_open and self.position == self._place_reached:
            return
        self._transactions.begin()
        reached = WrittenPlace(self.input.state.topic, self._holding.where.partition, self.position, 0)
        self._watermarks.say_place(reached.headers())
        watermark, said = self._watermarks.reader.watermark, self._watermarks.said
        position = RoutePosition(self.position, watermark, self.input.state, self._made_anew, said)
        self._commit_at(position.to_committed())
        self._place_reached, self._committed_at = self.position, now_ms
