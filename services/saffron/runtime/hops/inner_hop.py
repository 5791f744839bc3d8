"""The shell of `windowing` and `shedder`: from one topic to an internal one, no transactions, one chain per partition.

A chain that is assigned claims its output partition (`ownership`), takes the stream up from its own last block, and
reads its input from the position named there. What is written carries the claim; a member that has been overtaken is
ignored by every reader, notices the higher claim in its own output, and stops.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from saffron.engine.events.block import Block
from saffron.errors import DeniedError, GapError, LogError, StreamError
from saffron.runtime.hops.input_report import InputRow
from saffron.runtime.hops.input_state import InputBook
from saffron.runtime.hops.ownership import Ownership, Standing
from saffron.runtime.log import Consumer, Displaced, Log, TopicPartition, TopicState
from saffron.runtime.log.topic_watch import TopicWatch
from saffron.runtime.process.step_clock import StepClock

_LOG = logging.getLogger(__name__)
_RENEW_MS = 100
_FAILURES = 5
"""New producers in a row, without a block written, before the error is passed on."""
_TROUBLE_MS = 10_000
_CLAIM_MS = 30_000
"""A claim that has not come by after this long is not coming: its producer lost it."""


class Hop(Protocol):
    """The work of one chain, between its input partition and its own output. The shell stamps claim and tag."""

    @property
    def hungry(self) -> bool:
        """Whether it takes more input now (else the input partition is paused)."""

    def resume(self, block: Block) -> None:
        """Take over an own block of the log: from the newest checkpoint to the end, in order, before anything else."""

    @property
    def input(self) -> InputBook:
        """What became of the input; to stand in the blocks."""

    def begin(self, found: Input, now_ms: int) -> int:
        """The input offset to read from, after `resume`. StreamError: from no offset can it be read on."""

    def lost(self, first: int, stop: int, now_ms: int) -> None:
        """Records first..stop-1 of the input were taken by retention before they were read."""

    def take(self, batch: Any, now_ms: int) -> None:
        """Input, in order, as `Wiring.poll` gives it."""

    def emit(self, now_ms: int, *, flush: bool) -> Sequence[Block]:
        """Blocks that are ready to be written; `flush`: whatever there is."""


class Wiring(Protocol):
    """What one service puts into the shell."""

    def topics(self) -> Sequence[str]:
        """The input topics."""

    def output(self, where: TopicPartition) -> TopicPartition:
        """The output partition of an input partition."""

    def require(self, where: TopicPartition, output: TopicPartition) -> None:
        """See that there is the output partition. StreamError: it is not, and cannot be made."""

    def chain(self, where: TopicPartition) -> Hop:
        """A new chain, before `resume`."""

    def poll(self, consumer: Consumer, wait: float) -> Sequence[tuple[TopicPartition, Any]]:
        """Input by partition."""

    def encode(self, block: Block) -> bytes: ...

    def decode(self, value: bytes) -> Block: ...

    def claim(self, nonce: str) -> bytes:
        """The value of a claim's record."""

    def sent(self, where: TopicPartition, block: Block, now_ms: float) -> None:
        """A block of the chain that reads `where` has been passed on; for the numbers."""


@dataclass(frozen=True)
class Input:
    """The input partition as it is now: its topic, and the ends of what is there."""

    topic: TopicState
    low: int
    high: int


@dataclass
class Chain:
    """One partition: `ownership` None while it waits until `retry_at` to claim (again); `hop` once it is owned.

    `trouble`: what it waits for that only the user can mend.
    """

    where: TopicPartition
    output: TopicPartition
    ownership: Ownership | None = None
    hop: Hop | None = None
    retry_at: int = 0
    claimed_at: int = 0
    paused: bool = True
    trouble: str | None = None


class InnerHop:
    """All chains of one member of the group. `nonce`: gives 32 hex digits, never the same twice."""

    def __init__(self, log: Log, group: str, wiring: Wiring, *, nonce: Callable[[], str], retry_ms: int = 3000) -> None:
        self._log = log
        self._wiring = wiring
        self._nonce = nonce
        self._retry_ms = retry_ms
        self._producer = log.producer()
        # Producers of events may use transactions: what they have aborted never happened.
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
        """Some progress; True if there was any. Waits up to `wait` seconds for input if there is nothing to do."""
        self._clock.start(now_ms)
        self._subscribe()
        moved = False
        self._look_at_topics(now_ms)
        batches = self._wiring.poll(self._consumer, wait)
        for where, found in self._consumer.displaced().items():
            self._displaced(where, found, now_ms)
        for where, batch in batches:
            chain = self.chains.get(where)
            # What comes by before the chain is owned is read again: the input is sought to its position then.
            if chain is not None and chain.hop is not None and not chain.paused:
                moved |= self._guarded(chain, now_ms, partial(self._take, chain.hop, batch, now_ms))
        try:
            for chain in list(self.chains.values()):
                self._follow_output(chain)
                moved |= self._guarded(chain, now_ms, partial(self._advance, chain, now_ms))
        except LogError as error:
            self._failures += 1
            if isinstance(error, DeniedError) or self._failures > _FAILURES:
                raise
            self._renew(now_ms)
            moved = True
        return moved

    def at_end(self, where: TopicPartition) -> bool:
        """Whether an input partition has been read to its end."""
        return self._consumer.at_end(where)

    def lag(self, where: TopicPartition) -> int | None:
        """See `Consumer.lag`."""
        return self._consumer.lag(where)

    @property
    def inputs(self) -> list[InputRow]:
        """What became of the input of each chain that is taken up."""
        chains = self.chains.values()
        return [InputRow(one.where, one.hop.input, one.trouble) for one in chains if one.hop is not None]

    @property
    def troubles(self) -> list[str]:
        """What streams wait for that only the user can mend."""
        missing = [f"topic {topic} is not there: make it again, or remove its stream" for topic in self._watch.missing]
        return sorted({*missing, *(chain.trouble for chain in self.chains.values() if chain.trouble is not None)})

    @property
    def waited_ms(self) -> float:
        """How long this member has waited so far for room to write."""
        return self._waited_ms + self._producer.waited_ms

    def close(self) -> None:
        """Write what there is and leave the group."""
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
        """Leave nothing behind that the next owner would have to make again."""
        try:
            for where in partitions:
                chain = self.chains.get(where)
                if chain is not None and chain.hop is not None and chain.ownership is not None:
                    self._write(chain, chain.hop.emit(0, flush=True))
            self._producer.flush(10.0)
        except LogError:
            pass  # the next owner takes up from what has landed
        self._lose(partitions)

    def _lose(self, partitions: list[TopicPartition]) -> None:
        for where in partitions:
            chain = self.chains.pop(where, None)
            if chain is not None and chain.ownership is not None:
                chain.ownership.close()

    # ------------------------------------------------------------ the input

    def _look_at_topics(self, now_ms: int) -> None:
        """Begin anew where a topic is another one."""
        for topic in self._watch.step(now_ms, self._topics):
            for chain in self.chains.values():
                if chain.where.topic == topic:
                    self._stop(chain, now_ms)

    def _displaced(self, where: TopicPartition, found: Displaced, now_ms: int) -> None:
        """What was to be read next is not there."""
        chain = self.chains.get(where)
        if chain is None or chain.hop is None:
            return  # it is sought where it is to be read when the chain is taken up
        state = self._log.describe([where.topic]).get(where.topic)
        if state is None or chain.hop.input.state.remade(state.id) or found.first < found.wanted:
            self._stop(chain, now_ms)
        else:
            chain.hop.lost(found.wanted, found.first, now_ms)

    # ------------------------------------------------------------ one chain

    def _follow_output(self, chain: Chain) -> None:
        """Begin anew where the input has come to belong to another stream, whose output is another."""
        output = self._wiring.output(chain.where)
        if output != chain.output:
            self._stop(chain, 0)
            chain.output = output

    def _guarded(self, chain: Chain, now_ms: int, act: Callable[[], bool]) -> bool:
        """A step of one chain; what only the user can mend holds up no other chain."""
        try:
            return act()
        except (StreamError, GapError) as error:
            if chain.trouble is None:
                _LOG.error("%s/%d: %s", chain.where.topic, chain.where.partition, error)
            self._stop(chain, now_ms + _TROUBLE_MS)
            chain.trouble = str(error)
            return False

    @staticmethod
    def _take(hop: Hop, batch: Any, now_ms: int) -> bool:
        hop.take(batch, now_ms)
        return True

    def _advance(self, chain: Chain, now_ms: int) -> bool:
        if chain.ownership is None:
            if now_ms < chain.retry_at:
                return False
            self._wiring.require(chain.where, chain.output)
            chain.claimed_at, nonce = now_ms, self._nonce()
            value = self._wiring.claim(nonce)
            chain.ownership = Ownership(self._log, self._producer, chain.output, nonce=nonce, value=value)
            return True
        moved = chain.ownership.step()
        if chain.ownership.standing is Standing.LOST:
            self._stop(chain, now_ms + self._retry_ms)
            self.losses += 1
            return True
        if chain.ownership.standing is not Standing.OWNED:
            self._check(chain, "claiming")
            if now_ms - chain.claimed_at > _CLAIM_MS:
                raise LogError(f"the claim on {chain.output.topic}/{chain.output.partition} was lost on its way")
            return moved
        if chain.hop is None:
            self._take_up(chain, chain.ownership, now_ms)
            return True
        blocks = chain.hop.emit(now_ms, flush=False)
        self._write(chain, blocks)
        if not blocks:
            self._check(chain, "sending to")
        self._feed(chain, chain.hop.hungry)
        return moved or bool(blocks)

    def _check(self, chain: Chain, doing: str) -> None:
        """What was sent last may be lost; else that would be known with many a block more only."""
        self._producer.check(f"{doing} {chain.output.topic}/{chain.output.partition}")

    def _take_up(self, chain: Chain, ownership: Ownership, now_ms: int) -> None:
        hop = self._wiring.chain(chain.where)
        for record in ownership.tail:
            hop.resume(self._wiring.decode(record.value or b""))
        ownership.tail = ()
        state = self._log.describe([chain.where.topic]).get(chain.where.topic)
        if state is None:
            raise StreamError(f"topic {chain.where.topic} is not there: make it again, or remove its stream")
        found = Input(state, *self._consumer.watermarks(chain.where))
        self._consumer.seek(chain.where, hop.begin(found, now_ms))
        chain.hop, chain.trouble = hop, None
        self._feed(chain, hop.hungry)

    def _feed(self, chain: Chain, hungry: bool) -> None:
        if hungry == chain.paused:
            (self._consumer.resume if hungry else self._consumer.pause)([chain.where])
            chain.paused = not hungry

    def _write(self, chain: Chain, blocks: Sequence[Block]) -> None:
        assert chain.ownership is not None
        for block in blocks:
            carries = any(control.kind == "checkpoint" for control in block.controls)
            tag = chain.ownership.tag(carries=carries)
            value = self._wiring.encode(replace(block, claim=tag.claim))
            self._producer.send(chain.output.topic, chain.output.partition, value, headers=tag.headers())
            self._failures = 0
            self._wiring.sent(chain.where, block, self._clock.now())

    def _stop(self, chain: Chain, retry_at: int) -> None:
        """Drop everything; claim again at `retry_at`, if the partition is still assigned then."""
        if chain.ownership is not None:
            chain.ownership.close()
        chain.ownership, chain.hop, chain.retry_at = None, None, retry_at
        self._feed(chain, hungry=False)

    # ------------------------------------------------------------ failures

    def _renew(self, now_ms: int) -> None:
        """Something sent may or may not have landed: a new producer and new claims find out from the log."""
        self._waited_ms += self._producer.waited_ms
        self._producer.close()
        self._producer = self._log.producer()
        for chain in self.chains.values():
            self._stop(chain, now_ms + _RENEW_MS)
