"""The shell of whatever writes in transactions: one chain per assigned partition of its topics.

Chains of `matcher` and `greta` are `ResultChain`s, of partitions of the `admitted` topics.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Generic, Protocol, TypeVar

from saffron.runtime.hops.input_report import InputRow
from saffron.runtime.hops.input_state import InputBook
from saffron.runtime.log import Consumer, Log, Record, TopicPartition
from saffron.runtime.log.topic_watch import LOOK_MS, TopicWatch
from saffron.runtime.process.step_clock import StepClock


class Chain(Protocol):
    """One assigned partition. It takes over by itself, in its first `step`, and again after anything doubtful."""

    @property
    def waited_ms(self) -> float:
        """How long it has waited so far for room to write."""

    def take(self, records: Sequence[Record]) -> None:
        """Input in order. What comes before the take-over is read again after it."""

    def step(self, now_ms: int) -> bool:
        """One step of work; True if there was any."""

    def look_again(self) -> None:
        """The input is not as it was: retention has taken what was to be read next, or the topic is another one. Take
        over again, which finds out."""

    @property
    def trouble(self) -> str | None:
        """What it waits for that only the user can mend."""

    @property
    def input(self) -> InputBook:
        """What became of the input."""

    def due(self, now_ms: int) -> int:
        """In how many ms a commit is due (0 or less: now), if nothing else comes."""

    def release(self, now_ms: int) -> None:
        """The partition goes to another member in good order."""

    def drop(self) -> None:
        """Forget everything; an open transaction is left to the successor's `init`."""


C = TypeVar("C", bound=Chain)
Make = Callable[[Consumer, TopicPartition, Callable[[], float]], C]
"""(the member's consumer, the partition, a clock in ms for measuring only) -> its chain."""


class LastHop(Generic[C]):
    """All chains of one member of the group. The consumer is read_committed, so that it asks for stable offsets.

    `look_ms`: how often topics are looked at. `busy_ns`: how long its steps have taken so far, without waiting for
    input while nothing else was due.
    """

    def __init__(
        self,
        log: Log,
        group: str,
        *,
        topics: Callable[[], Sequence[str]],
        chain: Make[C],
        poll_records: int = 256,
        look_ms: int = LOOK_MS,
    ) -> None:
        self._topics = topics
        self._chain = chain
        self._poll_records = poll_records
        self._now = 0
        self._clock = StepClock()
        self._watch = TopicWatch(log, look_ms)
        self.rebalances = 0
        self.busy_ns = 0
        self._subscribed: tuple[str, ...] = ()
        self._consumer: Consumer = log.consumer(group, committed_only=True, client_id=group)
        self.chains: dict[TopicPartition, C] = {}

    def step(self, now_ms: int, wait: float = 0.0) -> bool:
        """Some progress; True if there was any. Waits up to `wait` seconds for input if nothing is due before."""
        began = perf_counter_ns()
        self._now = now_ms
        self._clock.start(now_ms)
        self._subscribe()
        for topic in self._watch.step(now_ms, self._subscribed):
            for where, chain in self.chains.items():
                if where.topic == topic:
                    chain.look_again()
        for where, records in self._poll(self._wait(now_ms, wait)).items():
            if where in self.chains:
                self.chains[where].take(records)
        moved = False
        for chain in list(self.chains.values()):
            moved |= chain.step(now_ms)
        self.busy_ns += perf_counter_ns() - began
        return moved

    def lag(self, where: TopicPartition) -> int | None:
        """See `Consumer.lag`."""
        return self._consumer.lag(where)

    def partitions(self, topic: str) -> int:
        """How many partitions an input topic had when it was last looked at; 0: it is not known."""
        return self._watch.partitions(topic)

    @property
    def inputs(self) -> list[InputRow]:
        """What became of the input of each chain."""
        return [InputRow(where, chain.input, chain.trouble) for where, chain in self.chains.items()]

    @property
    def troubles(self) -> list[str]:
        """What streams wait for that only the user can mend."""
        missing = [f"topic {topic} is not there: make it again, or remove its stream" for topic in self._watch.missing]
        return sorted({*missing, *(chain.trouble for chain in self.chains.values() if chain.trouble is not None)})

    @property
    def waited_ms(self) -> float:
        """How long the present chains have waited so far for room to write."""
        return sum(chain.waited_ms for chain in self.chains.values())

    def close(self, now_ms: int) -> None:
        """Finish transactions, keep snapshots, leave the group."""
        self._now = now_ms
        self._clock.start(now_ms)
        self._revoke(list(self.chains))
        self._consumer.close()

    def _wait(self, now_ms: int, wait: float) -> float:
        due = min((chain.due(now_ms) for chain in self.chains.values()), default=1000)
        return max(0.0, min(wait, due / 1000))

    def _poll(self, wait: float) -> dict[TopicPartition, list[Record]]:
        found: dict[TopicPartition, list[Record]] = defaultdict(list)
        began = perf_counter_ns()
        records = self._consumer.poll(self._poll_records, wait)
        for where in self._consumer.displaced():
            if where in self.chains:
                self.chains[where].look_again()
        self.busy_ns -= perf_counter_ns() - began if wait > 0 else 0
        for record in records:
            found[TopicPartition(record.topic, record.partition)].append(record)
        return found

    def _subscribe(self) -> None:
        topics = tuple(self._topics())
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
