"""Rests of chains without queries: how often they read, that they wake, and that no answer depends on them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from saffron.engine.events.block import Block, Control
from saffron.engine.events.codec import decode_block, encode_block
from saffron.engine.operators.operator import State
from saffron.runtime.hops.tags import BlockTag, ClaimTag
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.results import rest
from saffron.runtime.results.rest import REST_MS, Rest
from saffron.runtime.results.result_chain import ResultChain
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.fakes import FakeOperator, columns
from tests.unit.runtime.plans import plan_of
from tests.unit.runtime.results import chain_bench

WHERE, OUTPUT, LETTERS = (TopicPartition(topic, 0) for topic in ("admitted", "results", "letters"))
LIMITS = replace(chain_bench.LIMITS, snapshot_ms=400)


class Queried(FakeOperator):
    """Has results only while a query stands: "query" controls add and remove it."""

    def __init__(self) -> None:
        super().__init__()
        self.has_queries = False

    def _control(self, control: Control, rows: list[tuple[str, int]]) -> None:
        super()._control(control, rows)
        if control.kind == "query":
            self.has_queries = control.body["op"] == "add"

    def snapshot(self) -> State:
        return {**super().snapshot(), "queries": np.array([self.has_queries])}

    def restore(self, state: State) -> None:
        super().restore(state)
        self.has_queries = bool(state["queries"][0])


@dataclass
class Bench:
    """A broker, a chain, and what it has read at which time."""

    directory: Path
    now: int = 0
    seq: int = 0
    counter: int = 0
    registered: bool = False
    reads: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.broker = MemoryBroker(lambda: self.now, session_timeout=10**9)
        for name in ("admitted", "results", "letters", "observations.latency"):
            self.broker.create(TopicSpec(name, 1, {}))
        self._producer = MemoryLog(self.broker).producer()
        self._producer.send("admitted", 0, b"", headers=ClaimTag("0" * 32).headers())
        self.start()

    def start(self) -> None:
        """A new process takes the partition over."""
        log = MemoryLog(self.broker)
        self._consumer = log.consumer("greta", committed_only=True)
        self._consumer.assign({WHERE: 0})
        self._consumer.pause([WHERE])
        plan = plan_of(
            log,
            WHERE,
            self.directory,
            group="greta",
            partitions=1,
            output=OUTPUT,
            letters=LETTERS,
            operator=lambda note: Queried(),
            source=b"/test",
            has_queries=lambda: self.registered,
        )
        self.chain = ResultChain(log, self._consumer, plan, LIMITS, lambda: float(self.now))

    def block(self, results: int = 0, query: str = "") -> None:
        """A block of one event. `query`: "add" or "remove", before the event."""
        controls = (Control(self.seq, "query", {"op": query, "n": 0, "name": "one", "version": 1}),) if query else ()
        times = columns([self.seq], [results], [self.seq])
        block = Block(times, self.seq, self.seq + 1, self.now, counter=self.counter, controls=controls)
        self.seq, self.counter = self.seq + 1, self.counter + 1 + len(controls)
        self._producer.send("admitted", 0, encode_block(block), headers=BlockTag(0, 0, -1, False).headers())

    def run(self, ms: int, every: int = 0, *, busy: bool = True) -> None:
        """Let time pass; with `every` a block without results comes each so many ms. `busy`: until there is no work."""
        for _ in range(ms):
            self.now += 1
            if every and self.now % every == 0:
                self.block()
            if records := self._consumer.poll(100, 0):
                self.reads.append(self.now)
                self.chain.take(records)
            while self.chain.step(self.now) and busy:
                pass

    def results(self) -> list[bytes]:
        records = self.broker.partition(OUTPUT).read(0, 100_000, True)[0]
        return [(record.value or b"").partition(b',"detected_at"')[0] for record in records]

    def expected(self) -> list[bytes]:
        """What an operator says that is given every block."""
        operator, found = Queried(), []
        for record in self.broker.partition(WHERE).read(1, 100_000, True)[0]:
            results = operator.apply(decode_block(record.value or b""))
            found += [one.partition(b',"detected_at"')[0] for one in results.json(0, len(results))]
        return [one.removesuffix(b"}") for one in found]


def test_a_chain_without_queries_reads_in_few_large_steps(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.run(2_000, every=10)
    assert 2_000 // REST_MS <= len(bench.reads) <= 2_000 // REST_MS + 2
    bench.run(REST_MS)
    assert bench.chain.position == bench.broker.partition(WHERE).high


def test_a_chain_to_which_each_step_brings_a_block_rests_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.run(2_000, every=1, busy=False)
    assert len(bench.reads) <= 4 * 2_000 // REST_MS


def test_an_idle_input_is_read_at_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.run(1_000)
    bench.block()
    before = bench.now
    bench.run(2)
    assert bench.reads[-1] - before <= 2


def test_a_registered_query_ends_the_rest(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.run(500, every=10)
    bench.registered = True
    bench.reads.clear()
    bench.run(100, every=10)
    assert len(bench.reads) >= 10


def test_a_standing_query_is_not_rested_from_and_its_end_brings_rest(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.run(500, every=10)
    bench.registered = True
    bench.block(query="add")
    bench.run(50, every=10)
    bench.registered = False  # removed; the record that takes it out of force is still to come
    bench.reads.clear()
    bench.run(100, every=10)
    assert len(bench.reads) == 10
    bench.block(query="remove")
    bench.run(20, every=10)
    bench.reads.clear()
    bench.run(2_000, every=10)
    assert len(bench.reads) <= 2_000 // REST_MS + 1


def test_positions_and_snapshots_are_written_at_rest(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.run(1_000, every=10)
    bench.run(REST_MS + 60)
    committed = bench.broker.offsets["greta", WHERE]
    assert committed.offset == bench.chain.position == bench.broker.partition(WHERE).high
    assert list(tmp_path.rglob("*.snapshot"))
    bench.chain.drop()
    bench.start()
    bench.run(5)
    assert bench.chain.position == committed.offset
    assert bench.chain.next_seq == bench.seq


def history(seed: int, directory: Path) -> tuple[list[bytes], list[bytes]]:
    """Results of a random history with queries that come and go, restarts and pauses; and the right ones."""
    draw, bench = random.Random(seed), Bench(directory)
    for _ in range(60):
        match draw.randrange(10):
            case 0:
                bench.registered = True
                bench.run(draw.randrange(3))
                bench.block(draw.randrange(3), query="add")
            case 1:
                bench.registered = draw.random() < 0.5
                bench.block(draw.randrange(3), query="remove")
            case 2:
                (bench.chain.drop if draw.random() < 0.5 else lambda: bench.chain.release(bench.now))()
                bench.start()
            case _:
                bench.block(draw.randrange(4) if bench.registered else 0)
        bench.run(draw.choice((0, 1, 5, 40, 300)), every=draw.choice((0, 0, 3, 20)))
    bench.run(1_000)
    return bench.results(), bench.expected()


@pytest.mark.parametrize("seed", range(8))
def test_rests_change_no_answer(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rested, right = history(seed, tmp_path / "rested")
    monkeypatch.setattr(rest, "REST_MS", 0)
    unrested, same = history(seed, tmp_path / "unrested")
    assert rested == right == same == unrested
    assert rested, "a test without results proves nothing"


def test_a_rest_begins_only_at_the_end_of_what_is_there() -> None:
    class Behind:
        def lag(self, where: TopicPartition) -> int | None:
            return left

    left: int | None = 5
    rests = Rest(Behind(), WHERE, lambda: False)  # type: ignore[arg-type]
    rests.begin_at(3)
    assert not rests.is_on(3, 100)
    assert not rests.is_on(4, 100)
    left = None  # unknown
    assert not rests.is_on(5, 101)
    left = 0
    assert rests.is_on(6, 102)
    assert rests.is_on(6, 101 + REST_MS)
    assert not rests.is_on(6, 102 + REST_MS)
    assert not rests.is_on(6, 500 + REST_MS), "nothing came: the chain waits for it"
