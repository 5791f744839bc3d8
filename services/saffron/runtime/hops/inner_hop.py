"""The shell of `windowing` and `shedder`: one chain per input partition, writing to one internal partition.

A chain claims its output partition (`ownership`). It restores its state from its own last blocks there, and continues
at the input position that they name. No transactions are used. Each block carries the writer's claim: readers ignore
blocks of a lower claim, and a writer that sees a higher claim in its output stops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from saffron.errors import DeniedError, LogError, UnwritableError
from saffron.runtime.hops.hop import Wiring
from saffron.runtime.hops.inner_chain import InnerChain, Member
from saffron.runtime.hops.input_report import InputRow
from saffron.runtime.hops.when_written import Report
from saffron.runtime.log import Log, TopicPartition
from saffron.runtime.log.topic_watch import TopicWatch

_RENEW_MS = 100
_FAILURES = 5
"""Producers replaced in a row without a block written, before the error is raised."""


class InnerHop:
    """All chains of one group member.

    `nonce`: returns 32 hex digits, different at each call. `watch`: the check of its topics.
    """

    def __init__(
        self,
        log: Log,
        group: str,
        wiring: Wiring,
        report: Report,
        *,
        nonce: Callable[[], str],
        retry_ms: int = 3000,
        watch: TopicWatch | None = None,
    ) -> None:
        self._log = log
        self._wiring = wiring
        # Producers of events may use transactions: aborted records must not be read.
        self._consumer = log.consumer(group, committed_only=True)
        self._watch = watch or TopicWatch(log)
        producer, missing = log.producer(), self._watch.trouble_of
        self._member = Member(log, self._consumer, producer, wiring, nonce, retry_ms, report, missing)
        self._topics: tuple[str, ...] = ()
        self.chains: dict[TopicPartition, InnerChain] = {}
        self.rebalances = 0
        self._waited_ms = 0.0

    def step(self, now_ms: int, wait: float = 0.0) -> bool:
        """One round over all chains; True if any made progress. Waits up to `wait` seconds for input when idle."""
        self._member.clock.start(now_ms)
        self._subscribe()
        moved = False
        self._release(self._watch.step(now_ms, self._topics), now_ms)
        batches = self._wiring.poll(self._consumer, wait)
        after = self._member.clock.now() if wait > 0 else now_ms  # what does not wait repeats in a simulation
        self._release(self._watch.arrived(after, {where.topic for where, _ in batches}), now_ms)
        for where, found in self._consumer.out_of_range().items():
            if where in self.chains:
                self.chains[where].out_of_range(found, now_ms)
        for where, batch in batches:
            if where in self.chains:
                moved |= self.chains[where].take(batch, now_ms)
        stepped: InnerChain | None = None
        try:
            self._member.producer.check(f"writing blocks to {', '.join(self._outputs)}")
            for stepped in list(self.chains.values()):
                moved |= stepped.step(now_ms)
        except UnwritableError as error:
            self._refused(error, stepped, now_ms)
            moved = True
        except LogError as error:
            self._member.failures += 1
            if isinstance(error, DeniedError) or self._member.failures > _FAILURES:
                raise
            self._replace_producer(now_ms)
            moved = True
        return moved

    def at_end(self, where: TopicPartition) -> bool:
        """True if an input partition has been read to its end."""
        return self._consumer.at_end(where)

    def has_read(self, where: TopicPartition, end: int) -> bool:
        """See `Consumer.has_read`."""
        return self._consumer.has_read(where, end)

    def partitions(self, topic: str) -> int:
        """Number of partitions of an input topic at the last check; 0: unknown."""
        return self._watch.partitions(topic)

    def lag(self, where: TopicPartition) -> int | None:
        """See `Consumer.lag`."""
        return self._consumer.lag(where)

    @property
    def inputs(self) -> list[InputRow]:
        """Incidents of each started chain's input."""
        chains = self.chains.values()
        return [InputRow(one.where, one.hop.input, one.trouble) for one in chains if one.hop is not None]

    @property
    def troubles(self) -> list[str]:
        """Obstacles that only the user can remove, for all chains and topics."""
        return self._watch.troubles_with((chain.trouble for chain in self.chains.values()), self._consumer.denied())

    @property
    def waited_ms(self) -> float:
        """Total time that this member has waited for room in the producer's queue, in ms."""
        return self._waited_ms + self._member.producer.waited_ms

    def close(self) -> None:
        """Writes all pending blocks and leaves the group."""
        self._revoke(list(self.chains))
        self._consumer.close()
        self._member.producer.close()

    @property
    def _outputs(self) -> list[str]:
        """The topics that chains write. There may be none yet: a user who may write to none is refused before."""
        return sorted({self._wiring.output(TopicPartition(topic, 0)).topic for topic in self._topics})

    # ------------------------------------------------------------ membership

    def _release(self, topics: Sequence[str], now_ms: int) -> None:
        """Starts the chains of topics that are new ones again. They take no record before."""
        for chain in self.chains.values():
            if chain.where.topic in topics:
                chain.release(now_ms)

    def _subscribe(self) -> None:
        topics = tuple(self._wiring.topics())
        if topics and topics != self._topics:
            self._topics = topics
            self._consumer.subscribe(topics, self._assign, self._revoke, self._lose)

    def _assign(self, partitions: list[TopicPartition]) -> None:
        self.rebalances += 1
        self._consumer.pause(partitions)
        for where in partitions:
            self.chains[where] = InnerChain(self._member, where)

    def _revoke(self, partitions: list[TopicPartition]) -> None:
        """Writes pending blocks before the partitions go to another member, which need not make them again then."""
        try:
            released = [self.chains[where] for where in partitions if where in self.chains]
            for chain in released:
                chain.write_rest()
            self._member.producer.flush(10.0)
            for chain in released:
                chain.acknowledged()
        except LogError:
            pass  # the next owner continues from the written blocks
        self._lose(partitions)

    def _lose(self, partitions: list[TopicPartition]) -> None:
        for where in partitions:
            chain = self.chains.pop(where, None)
            if chain is not None:
                chain.close()

    # ------------------------------------------------------------ failures

    def _refused(self, error: UnwritableError, stepped: InnerChain | None, now_ms: int) -> None:
        """Stops the chains whose output does not take what they write; the others go on with the producer.

        `stepped`: the chain that met the error, whose own block may not have been sent.
        """
        refused = [chain for chain in self.chains.values() if chain.output.topic == error.topic]
        if not refused:
            raise error
        for chain in refused:
            chain.refused(error, now_ms)
        if stepped is not None and stepped not in refused:
            stepped.release(now_ms + _RENEW_MS)

    def _replace_producer(self, now_ms: int) -> None:
        """Starts again with a new producer and new claims, after a send with unknown outcome.

        The log shows the outcome.
        """
        member = self._member
        self._waited_ms += member.producer.waited_ms
        member.producer.close()
        member.producer = self._log.producer()
        for chain in self.chains.values():
            chain.release(now_ms + _RENEW_MS)
