"""The shell of `windowing` and `shedder`: from one topic to an internal one, no transactions, one chain per partition.

A chain that is assigned claims its output partition (`ownership`), takes the stream up from its own last block, and
reads its input from the position named there. What is written carries the claim; a member that has been overtaken is
ignored by every reader, notices the higher claim in its own output, and stops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from saffron.engine.events.block import Block
from saffron.errors import DeniedError, GapError, LogError
from saffron.runtime.log import Consumer, Log, TopicPartition
from saffron.runtime.ownership import Ownership, Standing
from saffron.runtime.step_clock import StepClock

_RENEW_MS = 100
_FAILURES = 5
"""New producers in a row, without a block written, before the error is passed on."""
_CLAIM_MS = 30_000
"""A claim that has not come by after this long is not coming: its producer lost it."""


class Hop(Protocol):
    """The work of one chain, between its input partition and its own output. The shell stamps claim and tag."""

    @property
    def hungry(self) -> bool:
        """Whether it takes more input now (else the input partition is paused)."""

    def resume(self, block: Block) -> None:
        """Take over an own block of the log: from the newest checkpoint to the end, in order, before anything else."""

    def position(self) -> int | None:
        """The input offset to read from, after `resume`; None: the earliest there is."""

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


@dataclass
class Chain:
    """One partition: `ownership` None while it waits until `retry_at` to claim (again); `hop` once it is owned."""

    where: TopicPartition
    output: TopicPartition
    ownership: Ownership | None = None
    hop: Hop | None = None
    retry_at: int = 0
    claimed_at: int = 0
    paused: bool = True


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

    def step(self, now_ms: int, wait: float = 0.0) -> bool:
        """Some progress; True if there was any. Waits up to `wait` seconds for input if there is nothing to do."""
        self._clock.start(now_ms)
        self._subscribe()
        moved = False
        for where, batch in self._wiring.poll(self._consumer, wait):
            chain = self.chains.get(where)
            # What comes by before the chain is owned is read again: the input is sought to its position then.
            if chain is not None and chain.hop is not None and not chain.paused:
                chain.hop.take(batch, now_ms)
                moved = True
        try:
            for chain in list(self.chains.values()):
                self._follow_output(chain)
                moved |= self._advance(chain, now_ms)
        except LogError as error:
            self._failures += 1
            if isinstance(error, GapError | DeniedError) or self._failures > _FAILURES:
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

    # ------------------------------------------------------------ one chain

    def _follow_output(self, chain: Chain) -> None:
        """Begin anew where the input has come to belong to another stream, whose output is another."""
        output = self._wiring.output(chain.where)
        if output != chain.output:
            self._stop(chain, 0)
            chain.output = output

    def _advance(self, chain: Chain, now_ms: int) -> bool:
        if chain.ownership is None:
            if now_ms < chain.retry_at:
                return False
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
            self._take_up(chain, chain.ownership)
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

    def _take_up(self, chain: Chain, ownership: Ownership) -> None:
        hop = self._wiring.chain(chain.where)
        for record in ownership.tail:
            hop.resume(self._wiring.decode(record.value or b""))
        ownership.tail = ()
        position = hop.position()
        self._consumer.seek(chain.where, self._consumer.watermarks(chain.where)[0] if position is None else position)
        chain.hop = hop
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
