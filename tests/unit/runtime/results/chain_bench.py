"""A broker, blocks, and a result chain that a test drives in steps of a millisecond."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from saffron.engine.events.block import Block, Control
from saffron.engine.events.codec import decode_block, encode_block
from saffron.engine.operators.containment import Failure, Note
from saffron.engine.operators.operator import ResultOperator
from saffron.runtime.hops.tags import BlockTag, ClaimTag, read_tag
from saffron.runtime.log import Record, TopicPartition, TopicSpec
from saffron.runtime.process.background import Background, at_once
from saffron.runtime.results.chain_plan import Limits, Place
from saffron.runtime.results.result_chain import ResultChain
from saffron.runtime.telemetry.metrics import Metrics
from tests.memory.memory_broker import MemoryBroker
from tests.memory.memory_log import MemoryLog
from tests.unit.runtime.fakes import FakeOperator, columns
from tests.unit.runtime.plans import plan_of

WHERE, OUTPUT, LETTERS = (TopicPartition(topic, 0) for topic in ("admitted", "results", "letters"))
LIMITS = Limits(
    commit_ms=10,
    position_ms=50,
    observe_ms=20,
    snapshot_ms=1_000,
    retry_ms=500,
    results=4,
    queue=8,
    result_bytes=16_000_000,
)


@dataclass
class Bench:
    """A broker, blocks, and a chain that a test drives."""

    directory: Path
    now: int = 0
    counter: int = 0
    seq: int = 0
    claim: int = 0
    broker: MemoryBroker = field(init=False)
    metrics: Metrics = field(default_factory=Metrics)
    told: list[Failure] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.broker = MemoryBroker(lambda: self.now, session_timeout=10_000)
        for name in ("admitted", "results", "letters", "observations.latency"):
            self.broker.create(TopicSpec(name, 1, {}))
        self._producer = MemoryLog(self.broker).producer()
        self._producer.send("admitted", 0, b"", headers=ClaimTag("0" * 32).headers())

    def block(self, *results: int, controls: tuple[Control, ...] = ()) -> None:
        """A block of events with so many results each."""
        seqs = list(range(self.seq, self.seq + len(results)))
        times = columns(seqs, list(results), seqs)
        block = Block(times, seqs[0], seqs[-1] + 1, 0, counter=self.counter, controls=controls)
        self.seq += len(results)
        self.counter += len(results) + len(controls)
        tag = BlockTag(self.claim, self.broker.partition(WHERE).high - 1, -1, False)
        self._producer.send("admitted", 0, encode_block(block), headers=tag.headers())

    def lose(self, offset: int) -> None:
        """The input loses its end, from `offset` on. Its writer claims it again, and goes on behind what is left."""
        self.broker.truncate(WHERE, offset)
        left = self.blocks()[-1:]
        self.counter, self.seq = (left[0].next_counter, left[0].next_seq) if left else (0, 0)
        self.claim = self.broker.partition(WHERE).high
        self._producer.send("admitted", 0, b"", headers=ClaimTag("0" * 32).headers())

    def chain(
        self,
        limits: Limits = LIMITS,
        background: Background = at_once,
        commits: Background = at_once,
        starts: Background = at_once,
        searches: Background = at_once,
        operator: Callable[[Note], ResultOperator] = lambda note: FakeOperator(),
        output: TopicPartition = OUTPUT,
    ) -> tuple[ResultChain, MemoryLog]:
        log = MemoryLog(self.broker)
        consumer = log.consumer("matcher", committed_only=True)
        consumer.assign({WHERE: 0})
        consumer.pause([WHERE])
        plan = plan_of(
            log,
            WHERE,
            self.directory,
            output=output,
            letters=LETTERS,
            operator=operator,
            report_failure=self.told.append,
            source=b"/test",
            snapshot_executor=background,
            commit_executor=commits,
            start_executor=starts,
            search_executor=searches,
            report=self.metrics.add,
        )
        chain = ResultChain(log, consumer, plan, limits, lambda: float(self.now))
        self._consumer = consumer
        return chain, log

    def drive(self, chain: ResultChain, until: int) -> None:
        """Let time pass in steps of a ms."""
        while self.now < until:
            self.now += 1
            chain.take(self._consumer.poll(100, 0))
            while chain.step(self.now):
                chain.take(self._consumer.poll(100, 0))

    def polled(self) -> list[Record]:
        return self._consumer.poll(100, 0)

    def results(self, where: TopicPartition = OUTPUT) -> list[bytes]:
        records = self.broker.partition(where).read(0, 10_000, True)[0]
        return [(record.value or b"").partition(b',"detected_at"')[0] + b"}" for record in records]

    def blocks(self) -> list[Block]:
        records = self.broker.partition(WHERE).read(1, 10_000, True)[0]
        return [decode_block(record.value or b"") for record in records if isinstance(read_tag(record), BlockTag)]

    def expected(self) -> list[bytes]:
        operator, found = FakeOperator(), []
        for block in self.blocks():
            results = operator.apply(block)
            found += results.json(0, len(results))
        return found

    @property
    def place(self) -> Place:
        kept = Place.from_committed(self.broker.offsets["matcher", WHERE])
        assert kept is not None
        return kept.place
