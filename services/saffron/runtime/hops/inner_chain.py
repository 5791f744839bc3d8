"""One chain of an inner hop: the right to write its output partition, its hop, and the blocks that it writes there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block, encode_block
from saffron.errors import GapError, LogError, StreamError, UnwritableError
from saffron.runtime.hops.flow import Flow
from saffron.runtime.hops.hop import Hop, InputPartition, Wiring
from saffron.runtime.hops.inner_topics import ensure_partition
from saffron.runtime.hops.obstacle import Obstacle
from saffron.runtime.hops.ownership import ClaimState, Ownership
from saffron.runtime.hops.when_written import Report, WhenWritten
from saffron.runtime.log import Consumer, Log, OutOfRange, Producer, TopicPartition
from saffron.runtime.process.step_clock import StepClock
from saffron.runtime.telemetry.metric_names import BLOCKS

_TROUBLE_MS = 10_000
_CLAIM_MS = 30_000
"""Time limit for a claim to appear in the log. A later one counts as lost by its producer."""


@dataclass
class Member:
    """The clients and settings that the chains of one group member share.

    `producer`: replaced after a send with unknown outcome. `failures`: producers replaced in a row without a block
    written. `nonce`: returns 32 hex digits, different at each call. `retry_ms`: wait after a claim was lost. `report`:
    adds to counters. `missing`: says how a missing input topic is made good.
    """

    log: Log
    consumer: Consumer
    producer: Producer
    wiring: Wiring
    nonce: Callable[[], str]
    retry_ms: int
    report: Report
    missing: Callable[[str], str]
    clock: StepClock = field(default_factory=StepClock)
    failures: int = 0


@dataclass(frozen=True, slots=True)
class BlockMark:
    """A block that was sent: block `number` (from 1) of a claim. `reach`: see `_reach`."""

    claim: int
    number: int
    reach: tuple[int, int, bool]


class InnerChain:
    """The chain of one input partition `where`, to the partition `output`.

    `hop` is set once the output is owned.
    """

    def __init__(self, member: Member, where: TopicPartition) -> None:
        self.where = where
        self.output = member.wiring.output(where)
        self.hop: Hop | None = None
        self._obstacle = Obstacle(where)
        self._member = member
        self._ownership: Ownership | None = None
        self._retry_at = 0
        self._claimed_at = 0
        self._sent = 0
        self._flow = Flow(member.consumer, where)
        self._when_written: WhenWritten[BlockMark] = WhenWritten(member.report)

    # ------------------------------------------------------------ what the shell calls

    @property
    def trouble(self) -> str | None:
        """An obstacle that only the user can remove, or None."""
        return self._obstacle.text

    def take(self, batch: Any, now_ms: int) -> bool:
        """Gives input to the hop; True if it was taken.

        Records before the output is owned are read again: starting the hop seeks to its position.
        """
        hop = self.hop
        if hop is None or self._flow.is_paused:
            return False

        def act() -> bool:
            hop.take(batch, now_ms)
            return True

        return self._contained(now_ms, act)

    def step(self, now_ms: int) -> bool:
        """One step: claim, start the hop, or write its blocks. True on progress.

        LogError: the outcome of what was sent is unknown.
        """
        output = self._member.wiring.output(self.where)
        if output != self.output:  # the input now belongs to another stream
            self.release(0)
            self.output = output
        return self._contained(now_ms, partial(self._advance, now_ms))

    def out_of_range(self, found: OutOfRange, now_ms: int) -> None:
        """Handles a position without a record: records the loss, or restarts the chain where the topic is a new one."""
        if self.hop is None:
            return  # starting the hop seeks to its position
        state = self._member.log.describe([self.where.topic]).get(self.where.topic)
        if state is None or self.hop.input.state.remade(state.id) or found.first < found.wanted:
            self.release(now_ms)
        else:
            self.hop.records_lost(found.wanted, found.first, now_ms)

    def refused(self, error: UnwritableError, now_ms: int) -> None:
        """Stands, since the output does not take what was sent to it."""
        self._stand(error, now_ms)

    def write_rest(self) -> None:
        """Writes all blocks that are possible."""
        if self.hop is not None and self._ownership is not None:
            self._write(self._ownership, self.hop, self.hop.emit(0, flush=True))

    def acknowledged(self) -> None:
        """Record that all messages sent are acknowledged."""
        if self._ownership is not None and self._ownership.state is ClaimState.OWNED:
            self._when_written.written_while(lambda mark: True)

    def release(self, retry_at: int) -> None:
        """Drops the chain's state. The chain claims again at `retry_at` (ms), if it is still assigned then."""
        self.close()
        self._when_written.drop()
        self._ownership, self.hop, self._retry_at = None, None, retry_at
        self._flow.pause(True)

    def close(self) -> None:
        """Stops reading the output."""
        if self._ownership is not None:
            self._ownership.close()

    # ------------------------------------------------------------ inside

    def _contained(self, now_ms: int, act: Callable[[], bool]) -> bool:
        """Run one action; True on progress. An error that only the user can fix stops this chain alone."""
        try:
            return act()
        except (StreamError, GapError) as error:
            self._stand(error, now_ms)
            return False

    def _stand(self, error: LogError, now_ms: int) -> None:
        self._obstacle.met(error)
        self.release(now_ms + _TROUBLE_MS)

    def _advance(self, now_ms: int) -> bool:
        """Claims the output, waits for the claim, starts the hop, or writes its blocks; True on progress.

        A lost claim drops the chain's state for a while. LogError: a claim or a block was lost on its way.
        """
        ownership = self._ownership
        if ownership is None:
            return self._claim(now_ms)
        moved = ownership.step()
        self._when_written.written_while(lambda mark: mark.claim == ownership.claim and mark.number <= ownership.landed)
        if ownership.landed:
            self._obstacle.written()
        if ownership.state is ClaimState.LOST:
            self.release(now_ms + self._member.retry_ms)
            return True
        if ownership.state is not ClaimState.OWNED:
            self._check_delivery("claiming")
            if now_ms - self._claimed_at > _CLAIM_MS:
                raise LogError(f"the claim on {self.output.topic}/{self.output.partition} was lost on its way")
            return moved
        if self.hop is None:
            self._start_hop(ownership, now_ms)
            return True
        blocks = self.hop.emit(now_ms, flush=False)
        self._write(ownership, self.hop, blocks)
        if not blocks:
            self._check_delivery("sending to")
        self._flow.pause(not self.hop.accepts_input)
        return moved or bool(blocks)

    def _claim(self, now_ms: int) -> bool:
        """Claims the output, if it is time to."""
        if now_ms < self._retry_at:
            return False
        member = self._member
        ensure_partition(member.log, self.where.topic, self.output.topic, self.output.partition)
        self._claimed_at, nonce = now_ms, member.nonce()
        self._ownership = Ownership(member.log, member.producer, self.output, nonce=nonce)
        return True

    def _check_delivery(self, doing: str) -> None:
        """Raises LogError if a record sent before was lost. Without the check this shows only many blocks later."""
        self._member.producer.check(f"{doing} {self.output.topic}/{self.output.partition}")

    def _start_hop(self, ownership: Ownership, now_ms: int) -> None:
        """Creates the hop, restores its state, and seeks the input to its position."""
        member, topic = self._member, self.where.topic
        hop = member.wiring.chain(self.where)
        reached: dict[int, tuple[int, int, bool]] = {}
        for record in ownership.tail:
            block = decode_block(record.value or b"")
            hop.resume(block)
            reached[block.claim] = _reach(block)
        restored_at = ownership.tail[0].timestamp if ownership.tail else None
        ownership.tail = ()
        self._when_written.settle(lambda mark: mark.claim in reached and mark.reach <= reached[mark.claim])
        state = member.log.describe([topic]).get(topic)
        if state is None:
            raise StreamError(member.missing(topic))
        state.require(self.where)
        found = InputPartition(state, *member.consumer.watermarks(self.where), restored_at)
        member.consumer.seek(self.where, hop.begin(found, now_ms))
        self.hop, self._sent = hop, 0
        self._obstacle.started()
        self._flow.pause(not hop.accepts_input)

    def _write(self, ownership: Ownership, hop: Hop, blocks: Sequence[Block]) -> None:
        """Sends blocks with the claim and tag of the chain's ownership."""
        member, output = self._member, self.output
        if blocks:
            hop.input.count(self.where, self._when_written)
        for block, counts in zip(blocks, hop.take_counts(), strict=True):
            carries = any(control.kind == "checkpoint" for control in block.controls)
            tag = ownership.tag(carries=carries)
            value = encode_block(replace(block, claim=tag.claim))
            self._sent += 1
            self._when_written.add(BLOCKS, 1, output.topic)
            for one in counts:
                self._when_written.add(one.metric, one.amount, *one.labels)
            self._when_written.seal(BlockMark(tag.claim, self._sent, _reach(block)))
            member.producer.send(output.topic, output.partition, value, headers=tag.headers())
            member.failures = 0
            member.wiring.sent(self.where, block, member.clock.now())


def _reach(block: Block) -> tuple[int, int, bool]:
    """The extent of a block, in the order of a claim's blocks. A block without content may move the watermark alone."""
    return block.next_counter, block.watermark, block.end
