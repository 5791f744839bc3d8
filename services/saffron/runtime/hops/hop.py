"""Protocols of the parts that a service supplies to the shell of inner hops (`inner_hop`).

`Hop` is the work of one chain, `Wiring` its surroundings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from saffron.engine.events.block import Block
from saffron.runtime.hops.input_state import InputTracker
from saffron.runtime.hops.when_written import Counted
from saffron.runtime.log import Consumer, TopicPartition, TopicState


class Hop(Protocol):
    """The work of one chain, between its input partition and its output partition. The shell adds claim and tag."""

    @property
    def accepts_input(self) -> bool:
        """True if more input is accepted now. If not, the input partition is paused."""

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

    def take_counts(self) -> Sequence[Sequence[Counted]]:
        """The counts of each block emitted since the last call, to be reported once the block is in the log."""


class Wiring(Protocol):
    """The parts that a service supplies to the shell."""

    def topics(self) -> Sequence[str]:
        """The input topics."""

    def output(self, where: TopicPartition) -> TopicPartition:
        """The output partition of an input partition."""

    def chain(self, where: TopicPartition) -> Hop:
        """A new hop for an input partition, before `resume`."""

    def poll(self, consumer: Consumer, wait: float) -> Sequence[tuple[TopicPartition, Any]]:
        """Input batches by partition. Waits up to `wait` seconds."""

    def sent(self, where: TopicPartition, block: Block, now_ms: float) -> None:
        """Called for each block written, for metrics. `where`: the chain's input partition."""


@dataclass(frozen=True)
class InputPartition:
    """The current state of an input partition: its topic, and its first and end offset.

    `restored_at`: time (ms) of the chain's first own block of those for `resume`; None: there are none.
    """

    topic: TopicState
    low: int
    high: int
    restored_at: int | None = None
