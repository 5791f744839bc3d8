"""The shell of services that write in transactions: one chain per assigned input partition.

`matcher` and `greta` run `ResultChain`s over `admitted` topics; re-keyed streams run `RouteChain`s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Generic, TypeVar

from saffron.runtime.hops.input_report import InputRow
from saffron.runtime.hops.transactional_chain import TransactionalChain
from saffron.runtime.log import Consumer, Log, Record, TopicPartition
from saffron.runtime.log.topic_watch import TopicWatch
from saffron.runtime.process.step_clock import StepClock

C = TypeVar("C", bound=TransactionalChain)
Make = Callable[[Consumer, TopicPartition, Callable[[], float]], C]
"""A function from the member's consumer, a partition, and a clock (ms, for measuring only) to a chain."""


class LastHop(Generic[C]):
    """All chains of one group member. The consumer is read_committed.

    `watch`: the check of its topics. `busy_ns`: time spent in steps, without idle waiting for input.
    """

    def __init__(
        self,
        log: Log,
        group: str,
        *,
        topics: Callable[[], Sequence[str]],
        chain: Make[C],
        poll_records: int = 256,
        watch: TopicWatch | None = None,
    ) -> None:
        self._wanted = topics
        self._chain = chain
        self._poll_records = poll_records
        self._now = 0
        self._clock = StepClock()
        self._watch = watch or TopicWatch(log)
        self.rebalances = 0
        self.busy_ns = 0
        self._subscribed: tuple[str, ...] = ()
        self._consumer: Consumer = log.consumer(group, committed_only=True, client_id=group)
        self.chains: dict[TopicPartition, C] = {}

    def step(self, now_ms: int, wait: float = 0.0) -> bool:
        """One round over all chains; True if any made progress. Waits up to `wait` seconds while nothing is due."""
        began = perf_counter_ns()
        self._now = now_ms
        self._clock.start(now_ms)
        self._subscribe()
        self._restart(self._watch.step(now_ms, self._subscribed))
        found = self._poll(self._wait(now_ms, wait))
        after = self._clock.now() if wait > 0 else now_ms  # what does not wait repeats in a simulation
        self._restart(self._watch.arrived(after, {where.topic for where in found}))
        for where, records in found.items():
            if where in self.chains:
                self.chains[where].take(records)
        moved = False
        for chain in list(self.chains.values()):
            moved |= chain.step(now_ms)
        self.busy_ns += perf_counter_ns() - began
        return moved

    def lag(self, where: TopicPartition) -> int | None:
        """The lag of an input partition; see `Consumer.lag`."""
        return self._consumer.lag(where)

    @property
    def topics(self) -> tuple[str, ...]:
        """The input topics that are subscribed to."""
        return self._subscribed

    def has_read(self, where: TopicPartition, end: int) -> bool:
        """See `Consumer.has_read`."""
        return self._consumer.has_read(where, end)

    def partitions(self, topic: str) -> int:
        """Number of partitions of an input topic at the last check; 0: unknown."""
        return self._watch.partitions(topic)

    @property
    def missing(self) -> frozenset[str]:
        """See `TopicWatch.missing`."""
        return self._watch.missing

    @property
    def inputs(self) -> list[InputRow]:
        """Incidents of each chain's input."""
        return [InputRow(where, chain.input, chain.trouble) for where, chain in self.chains.items()]

    @property
    def troubles(self) -> list[str]:
        """Obstacles that only the user can remove, for all chains and topics."""
        return self._watch.troubles_with((chain.trouble for chain in self.chains.values()), self._consumer.denied())

    @property
    def waited_ms(self) -> float:
        """Total time that the present chains have waited for room in the producer's queue, in ms."""
        return sum(chain.waited_ms for chain in self.chains.values())

    def close(self, now_ms: int) -> None:
        """Commits, writes snapshots, and leaves the group."""
        self._now = now_ms
        self._clock.start(now_ms)
        self._revoke(list(self.chains))
        self._consumer.close()

    def _wait(self, now_ms: int, wait: float) -> float:
        due = min((chain.due(now_ms) for chain in self.chains.values()), default=1000)
        return max(0.0, min(wait, due / 1000))

    def _poll(self, wait: float) -> dict[TopicPartition, list[Record]]:
        """The next records by partition. A chain whose position has no record is restarted.

        Waits up to `wait` seconds, which do not count as busy time.
        """
        found: dict[TopicPartition, list[Record]] = defaultdict(list)
        began = perf_counter_ns()
        records = self._consumer.poll(self._poll_records, wait)
        for where in self._consumer.out_of_range():
            if where in self.chains:
                self.chains[where].restart()
        self.busy_ns -= perf_counter_ns() - began if wait > 0 else 0
        for record in records:
            found[record.where].append(record)
        return found

    def _restart(self, topics: Sequence[str]) -> None:
        """Restarts the chains of topics that are new ones. They take no record before."""
        for where, chain in self.chains.items():
            if where.topic in topics:
                chain.restart()

    def _subscribe(self) -> None:
        topics = tuple(self._wanted())
        if topics and topics != self._subscribed:
            self._subscribed = topics
            self._consumer.subscribe(topics, self._assign, self._revoke, self._lose)

    def _assign(self, partitions: list[TopicPartition]) -> None:
        self.rebalances += 1
        self._consumer.pause(partitions)
        for where in partitions:
            self.chains[where] = self._chain(self._consumer, where, self._clock.now)

    def _revoke(self, partitions: list[TopicPartition]) -> None:
        for where in partitions:
            if (chain := self.chains.pop(where, None)) is not None:
                chain.release(self._now)

    def _lose(self, partitions: list[TopicPartition]) -> None:
        for where in partitions:
            if (chain := self.chains.pop(where, None)) is not None:
                chain.drop()
