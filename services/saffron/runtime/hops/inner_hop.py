"""The shell of `windowing` and `shedder`: one chain per input partition, writing to one internal partition.

A chain claims its output partition (`ownership`). It restores its state from its own last blocks there, and continues
at the input position that they name. No transactions are used. Each block carries the writer's claim: readers ignore
blocks of a lower claim, and a writer that sees a higher claim in its output stops.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from saffron.engine.events.block import Block
from saffron.errors import DeniedError, GapError, LogError, StreamError
from saffron.runtime.hops.input_report import InputRow
from saffron.runtime.hops.input_state import Incident, InputTracker
from saffron.runtime.hops.ownership import ClaimState, Ownership
from saffron.runtime.log import Consumer, Log, OutOfRange, TopicPartition, TopicState
from saffron.runtime.log.topic_watch import TopicWatch
from saffron.runtime.process.step_clock import StepClock

_LOG = logging.getLogger(__name__)
_RENEW_MS = 100
_FAILURES = 5
"""Producers replaced in a row without a block written, before the error is raised."""
_TROUBLE_MS = 10_000
_CLAIM_MS = 30_000
"""Time limit for a claim to appear in the log. A later one counts as lost by its producer."""


class Hop(Protocol):
    """The work of one chain, between its input partition and its output partition. The shell adds claim and tag."""

    @property
    def accepts_input(self) -> bool:
        """Whether more input is accepted now. If not, the input partition is paused."""

    def resume(self, block: Block) -> None:
        """Restores state from one of the chain's own blocks in the log.

        Called first, in order, with all blocks from the newest checkpoint to the end.
        """

    @property
    def input(self) -> InputTracker:
        """Incidents of the input, which the chain's blocks carry."""

    def begin(self, partition: InputPartition, now_ms: int) -> int:
        """The input offset to read from; called after `resume`.

        StreamError: the input cannot be continued from any offset.
        """

    def records_lost(self, first: int, stop: int, now_ms: int) -> None:
        """Records first..stop-1 of the input were removed by retention before they were read."""

    def take(self, batch: Any, now_ms: int) -> None:
        """Accepts input records in order, as `Wiring.poll` returns them."""

    def emit(self, now_ms: int, *, flush: bool) -> Sequence[Block]:
        """The blocks that are ready to be written. `flush`: all that are possible."""


class Wiring(Protocol):
    """The parts that a service supplies to the shell."""

    def topics(self) -> Sequence[str]:
        """The input topics."""

    def output(self, where: TopicPartition) -> TopicPartition:
        """The output partition of an input partition."""

    def ensure_output(self, where: TopicPartition, output: TopicPartition) -> None:
        """Makes sure that the output partition exists. StreamError: it does not, and cannot be created."""

    def chain(self, where: TopicPartition) -> Hop:
        """A new hop for an input partition, before `resume`."""

    def poll(self, consumer: Consumer, wait: float) -> Sequence[tuple[TopicPartition, Any]]:
        """Input batches by partition. Waits up to `wait` seconds."""

    def encode(self, block: Block) -> bytes: ...

    def decode(self, value: bytes) -> Block: ...

    def claim(self, nonce: str) -> bytes:
        """The value of a claim's record."""

    def sent(self, where: TopicPartition, block: Block, now_ms: float) -> None:
        """Called for each block written, for metrics. `where`: the chain's input partition."""


@dataclass(frozen=True)
class InputPartition:
    """The current state of an input partition: its topic, and its first and end offset."""

    topic: TopicState
    low: int
    high: int


@dataclass
class Chain:
    """The state of one partition.

    `ownership` is None until `retry_at` (ms), when the chain claims its output. `hop` is set once the output is owned.
    `uncounted`: incidents of earlier hops that no report has counted. `trouble`: an obstacle that only the user can
    remove, or None.
    """

    where: TopicPartition
    output: TopicPartition
    ownership: Ownership | None = None
    hop: Hop | None = None
    retry_at: int = 0
    claimed_at: int = 0
    paused: bool = True
    trouble: str | None = None
    uncounted: list[Incident] = field(default_factory=list)


class InnerHop:
    """All chains of one group member. `nonce`: returns 32 hex digits, different at each call."""

    def __init__(self, log: Log, group: str, wiring: Wiring, *, nonce: Callable[[], str], retry_ms: int = 3000) -> None:
        self._log = log
        self._wiring = wiring
        self._nonce = nonce
        self._retry_ms = retry_ms
        self._producer = log.producer()
        # Producers of events may use transactions: aborted records must not be read.
        self._consumer = log.consumer(group, committed_only=True)
        self._topics: tuple[str, ...] = ()
        self.chains: dict[TopicPartition, Chain] = {}
        self.losses = 0
        self.rebalances = 0
        self._failures = 0
        self._waited_ms = 0.0
        self._clock = StepClock()
        self._watch = TopicWatch(log)

    def step(self, now_ms: int, wait: float = 0.0) -> bool:
        """One round over all chains; True if any made progress. Waits up to `wait` seconds for input when idle."""
        self._clock.start(now_ms)
        self._subscribe()
        moved = False
        self._check_topics(now_ms)
        batches = self._wiring.poll(self._consumer, wait)
        for where, found in self._consumer.out_of_range().items():
            self._handle_out_of_range(where, found, now_ms)
        for where, batch in batches:
            chain = self.chains.get(where)
            # Records before the chain is owned are read again: taking over seeks to its position.
            if chain is not None and chain.hop is not None and not chain.paused:
                moved |= self._contained(chain, now_ms, partial(self._take, chain.hop, batch, now_ms))
        try:
            for chain in list(self.chains.values()):
                self._follow_output(chain)
                moved |= self._contained(chain, now_ms, partial(self._advance, chain, now_ms))
        except LogError as error:
            self._failures += 1
            if isinstance(error, DeniedError) or self._failures > _FAILURES:
                raise
            self._replace_producer(now_ms)
            moved = True
        return moved

    def at_end(self, where: TopicPartition) -> bool:
        """Whether an input partition has been read to its end."""
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
        missing = [f"topic {topic} is not there: make it again, or remove its stream" for topic in self._watch.missing]
        return sorted({*missing, *(chain.trouble for chain in self.chains.values() if chain.trouble is not None)})

    @property
    def waited_ms(self) -> float:
        """Total time that this member has waited for room in the producer's queue, in ms."""
        return self._waited_ms + self._producer.waited_ms

    def close(self) -> None:
        """Writes all pending blocks and leaves the group."""
        self._revoke(list(self.chains))
        self._consumer.close()
        self._producer.close()

    # ------------------------------------------------------------ membership

    def _subscribe(self) -> None:
        topics = tuple(self._wiring.topics())
        if topics and topics != self._topics:
            self._topics = topics
            self._consumer.subscribe(topics, self._assign, self._revoke, self._lose)

    def _assign(self, partitions: list[TopicPartition]) -> None:
        self.rebalances += 1
        self._consumer.pause(partitions)
        for where in partitions:
            self.chains[where] = Chain(where, self._wiring.output(where))

    def _revoke(self, partitions: list[TopicPartition]) -> None:
        """Writes pending blocks before the partitions go to another member, which need not make them again then."""
        try:
            for where in partitions:
                chain = self.chains.get(where)
                if chain is not None and chain.hop is not None and chain.ownership is not None:
                    self._write(chain, chain.hop.emit(0, flush=True))
            self._producer.flush(10.0)
        except LogError:
            pass  # the next owner continues from the written blocks
        self._lose(partitions)

    def _lose(self, partitions: list[TopicPartition]) -> None:
        for where in partitions:
            chain = self.chains.pop(where, None)
            if chain is not None and chain.ownership is not None:
                chain.ownership.close()

    # ------------------------------------------------------------ the input

    def _check_topics(self, now_ms: int) -> None:
        """Releases the chains of topics that were deleted and created again."""
        for topic in self._watch.step(now_ms, self._topics):
            for chain in self.chains.values():
                if chain.where.topic == topic:
                    self._release(chain, now_ms)

    def _handle_out_of_range(self, where: TopicPartition, found: OutOfRange, now_ms: int) -> None:
        """Handles a position without a record: records the loss, or restarts the chain where the topic is a new one."""
        chain = self.chains.get(where)
        if chain is None or chain.hop is None:
            return  # starting the hop seeks to its position
        state = self._log.describe([where.topic]).get(where.topic)
        if state is None or chain.hop.input.state.remade(state.id) or found.first < found.wanted:
            self._release(chain, now_ms)
        else:
            chain.hop.records_lost(found.wanted, found.first, now_ms)

    # ------------------------------------------------------------ one chain

    def _follow_output(self, chain: Chain) -> None:
        """Restarts a chain whose input now belongs to another stream, and so has another output."""
        output = self._wiring.output(chain.where)
        if output != chain.output:
            self._release(chain, 0)
            chain.output = output

    def _contained(self, chain: Chain, now_ms: int, act: Callable[[], bool]) -> bool:
        """One action on one chain; True on progress. An error that only the user can fix stops this chain alone."""
        try:
            return act()
        except (StreamError, GapError) as error:
            if chain.trouble is None:
                _LOG.error("%s/%d: %s", chain.where.topic, chain.where.partition, error)
            self._release(chain, now_ms + _TROUBLE_MS)
            chain.trouble = str(error)
            return False

    @staticmethod
    def _take(hop: Hop, batch: Any, now_ms: int) -> bool:
        hop.take(batch, now_ms)
        return True

    def _advance(self, chain: Chain, now_ms: int) -> bool:
        """One step of one chain: claim, start the hop, or write its blocks. True on progress."""
        if chain.ownership is None:
            if now_ms < chain.retry_at:
                return False
            self._wiring.ensure_output(chain.where, chain.output)
            chain.claimed_at, nonce = now_ms, self._nonce()
            value = self._wiring.claim(nonce)
            chain.ownership = Ownership(self._log, self._producer, chain.output, nonce=nonce, value=value)
            return True
        moved = chain.ownership.step()
        if chain.ownership.state is ClaimState.LOST:
            self._release(chain, now_ms + self._retry_ms)
            self.losses += 1
            return True
        if chain.ownership.state is not ClaimState.OWNED:
            self._check_delivery(chain, "claiming")
            if now_ms - chain.claimed_at > _CLAIM_MS:
                raise LogError(f"the claim on {chain.output.topic}/{chain.output.partition} was lost on its way")
            return moved
        if chain.hop is None:
            self._start_hop(chain, chain.ownership, now_ms)
            return True
        blocks = chain.hop.emit(now_ms, flush=False)
        self._write(chain, blocks)
        if not blocks:
            self._check_delivery(chain, "sending to")
        self._set_flow(chain, chain.hop.accepts_input)
        return moved or bool(blocks)

    def _check_delivery(self, chain: Chain, doing: str) -> None:
        """Raises LogError if a record sent before was lost. Without the check this shows only many blocks later."""
        self._producer.check(f"{doing} {chain.output.topic}/{chain.output.partition}")

    def _start_hop(self, chain: Chain, ownership: Ownership, now_ms: int) -> None:
        """Creates the hop of an owned chain, restores its state, and seeks the input to its position."""
        hop = self._wiring.chain(chain.where)
        for record in ownership.tail:
            hop.resume(self._wiring.decode(record.value or b""))
        ownership.tail = ()
        state = self._log.describe([chain.where.topic]).get(chain.where.topic)
        if state is None:
            raise StreamError(f"topic {chain.where.topic} is not there: make it again, or remove its stream")
        found = InputPartition(state, *self._consumer.watermarks(chain.where))
        self._consumer.seek(chain.where, hop.begin(found, now_ms))
        hop.input.take_over(chain.uncounted)
        chain.uncounted = []
        chain.hop, chain.trouble = hop, None
        self._set_flow(chain, hop.accepts_input)

    def _set_flow(self, chain: Chain, accepts_input: bool) -> None:
        """Resumes or pauses the chain's input."""
        if accepts_input == chain.paused:
            (self._consumer.resume if accepts_input else self._consumer.pause)([chain.where])
            chain.paused = not accepts_input

    def _write(self, chain: Chain, blocks: Sequence[Block]) -> None:
        """Sends blocks with the claim and tag of the chain's ownership."""
        assert chain.ownership is not None
        for block in blocks:
            carries = any(control.kind == "checkpoint" for control in block.controls)
            tag = chain.ownership.tag(carries=carries)
            value = self._wiring.encode(replace(block, claim=tag.claim))
            self._producer.send(chain.output.topic, chain.output.partition, value, headers=tag.headers())
            self._failures = 0
            self._wiring.sent(chain.where, block, self._clock.now())

    def _release(self, chain: Chain, retry_at: int) -> None:
        """Drops the chain's state. The chain claims again at `retry_at` (ms), if it is still assigned then."""
        if chain.ownership is not None:
            chain.ownership.close()
        if chain.hop is not None:
            chain.uncounted += chain.hop.input.take_new_incidents()
        chain.ownership, chain.hop, chain.retry_at = None, None, retry_at
        self._set_flow(chain, accepts_input=False)

    # ------------------------------------------------------------ failures

    def _replace_producer(self, now_ms: int) -> None:
        """Starts again with a new producer and new claims, after a send with unknown outcome.

        The log shows the outcome.
        """
        self._waited_ms += self._producer.waited_ms
        self._producer.close()
        self._producer = self._log.producer()
        for chain in self.chains.values():
            self._release(chain, now_ms + _RENEW_MS)
