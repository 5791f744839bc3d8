"""A chain beside one whose blocks take longer than a transaction may be open: its own transactions end in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from saffron.engine.events.block import Block
from saffron.engine.events.codec import encode_block
from saffron.engine.operators.operator import History
from saffron.runtime.hops.last_hop import LastHop
from saffron.runtime.hops.tags import BlockTag, ClaimTag
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.results.chain_plan import ChainPlan
from saffron.runtime.results.result_chain import ResultChain
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.fakes import FakeOperator, FakeResults, columns
from tests.unit.runtime.plans import plan_of
from tests.unit.runtime.results.chain_bench import LIMITS

QUICK, SLOW = 0, 1


class SlowOperator(FakeOperator):
    """An operator whose blocks take long. `work`: lets that time pass."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__()
        self._work = work

    def apply(self, block: Block, history: History | None = None) -> FakeResults:
        self._work()
        return super().apply(block, history)


class Member:
    """A member with two partitions of `admitted`, of which one has blocks that take `block_ms`."""

    def __init__(self, directory: Path, block_ms: int) -> None:
        self.now = 0
        self.broker = MemoryBroker(lambda: self.now, session_timeout=10**9, transaction_timeout=10_000)
        for name in ("admitted", "results", "letters", "observations.latency"):
            self.broker.create(TopicSpec(name, 2, {}))
        self._directory, self._block_ms = directory, block_ms
        self._producer = MemoryLog(self.broker).producer()
        self._seqs = [0, 0]
        for partition in (QUICK, SLOW):
            self._producer.send("admitted", partition, b"", headers=ClaimTag("0" * 32).headers())
        log = MemoryLog(self.broker)
        limits = replace(LIMITS, snapshot_ms=30_000, retry_ms=3_000)
        self.hop = LastHop(
            log,
            "matcher",
            topics=lambda: ["admitted"],
            chain=lambda consumer, where, clock: ResultChain(log, consumer, self._plan(log, where), limits, clock),
        )

    def block(self, partition: int, results: int) -> None:
        """A block of one event with so many results."""
        seq = self._seqs[partition]
        self._seqs[partition] += 1
        block = Block(columns([seq], [results], [seq]), seq, seq + 1, 0, counter=seq)
        self._producer.send("admitted", partition, encode_block(block), headers=BlockTag(0, 0, -1, False).headers())

    def results(self, partition: int) -> int:
        """The number of committed results."""
        return len(self.broker.partition(TopicPartition("results", partition)).read(0, 10_000, True)[0])

    def _plan(self, log: MemoryLog, where: TopicPartition) -> ChainPlan:
        def work() -> None:
            self.now += self._block_ms

        own = self._directory / str(where.partition)
        return plan_of(
            log, where, own, operator=lambda note: SlowOperator(work) if where.partition == SLOW else FakeOperator()
        )


@pytest.mark.parametrize("block_ms", [9_000, 11_000, 20_000])
def test_blocks_of_one_partition_that_take_long_do_not_void_the_work_of_another(tmp_path: Path, block_ms: int) -> None:
    """It may happen once, before the member knows."""
    member = Member(tmp_path, block_ms)
    for _ in range(40):
        member.block(SLOW, 1)
    for turn in range(200):
        if turn % 4 == 0 and turn < 80:
            member.block(QUICK, 1 + turn % 12)
        member.hop.step(member.now)
        member.now += 1
    expected = sum(1 + turn % 12 for turn in range(0, 80, 4))
    assert (member.results(QUICK), member.results(SLOW)) == (expected, 40)
    assert member.broker.epochs[f"matcher.{QUICK}"].number <= 2
