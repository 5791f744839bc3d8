"""Fused mode: the services' operators chained in one process, without a log (`saffron replay`).

    RawBatch -> WindowingOperator -> MatchOperator, TrendOperator -> results in published order

There is one chain per partition, as on Kafka. Nothing is encoded between the operators.

Machine code of a new query takes about a second to make, which is longer than its kernels take as plain Python for some
ten thousand events. So a chain may begin `interpreted`: it compiles once that pays.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block, encode_block
from saffron.engine.events.raw import RawBatch
from saffron.engine.match.general.watch import ONE_IN
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.operators.containment import Failure
from saffron.engine.operators.operator import State
from saffron.engine.operators.standing import Compiler
from saffron.engine.operators.stopwatch import Stopwatch, no_time
from saffron.engine.trends.trend_operator import TrendOperator
from saffron.engine.windows.dead_letters import DeadLetter
from saffron.engine.windows.operator import WindowingOperator
from saffron.errors import FailedError, SaffronError
from saffron.language.cost.shedders import NONE
from saffron.records.query import ADD, QueryRecord
from saffron.runtime.replay.both import Merged
from saffron.schema.schema import END_OF_TIME, Schema

BLOCK_EVENTS = 16_384
"""Events in a block, so that the engines' data fit the processor's cache (8,192, 65,536: a tenth slower)."""

NO_CHECKPOINTS = 2**62
INTERPRETED_SECONDS = 0.5
"""Time that an interpreted chain spends on blocks before it compiles: half of what compiling a query takes."""
INTERPRETED_RECORDS = 256
"""The number of records in a batch for interpreted kernels."""
_BLOCK, _MATCHER, _TRENDS = "block", "matcher.", "trends."
"""Names in a snapshot: of the block that windowing resumes with, and before those of each engine."""
DEFAULT_STREAM = "events"
QUERY_VERSION = 1
"""Version of all queries, which never change here."""


@dataclass(frozen=True)
class Query:
    """A query that was checked and binds. `shed`: name of its shedder, as in its record."""

    name: str
    text: str
    shed: str = NONE


@dataclass
class Seconds:
    """The time of a replay in seconds, by kind of work."""

    decode: float = 0.0
    compile: float = 0.0
    processing: float = 0.0


class Engines:
    """The engines of the last hop: match and aggregate queries over the same blocks.

    `stopwatch`, `one_in`: of the operators. `compiled` False: the kernels run as plain Python until `compile`.
    """

    def __init__(
        self,
        compiler: Compiler,
        *,
        partition: int = 0,
        stream: str = DEFAULT_STREAM,
        stopwatch: Stopwatch = no_time,
        one_in: int = ONE_IN,
        compiled: bool = True,
    ) -> None:
        shared: dict[str, Any] = {
            "partition": partition, "compiler": compiler, "stream": stream, "stopwatch": stopwatch,
        }  # fmt: skip
        self._match = partial(MatchOperator, one_in=one_in, **shared)
        self._trend = partial(TrendOperator, **shared)
        self.matcher = self._match(compiled=compiled)
        self.trends = self._trend(compiled=compiled)
        self._failures: list[Failure] = []

    def compile(self) -> None:
        """Goes on with machine code from where the engines stand. The results of the last block must have been read."""
        self.restore(self.matcher.snapshot(), self.trends.snapshot(), compiled=True)

    def restore(self, matcher: State, trends: State, *, compiled: bool) -> None:
        """Goes on with new engines from these snapshots."""
        self.matcher, self.trends = self._match(compiled=compiled), self._trend(compiled=compiled)
        self.matcher.restore(matcher)
        self.trends.restore(trends)
        self._note()

    def apply(self, block: Block) -> Merged:
        """Results of one block. A failed query has none from here on; `raise_failure` raises its error."""
        merged = Merged((self.trends.apply(block), self.matcher.apply(block)))
        self._note()
        return merged

    def partial_matches(self) -> int:
        """The number of partial matches of the engine that has more of them now."""
        stored = [one.statistics()["partial_matches"] for one in (self.matcher, self.trends)]
        return max(int(sum(one.values())) for one in stored)

    def raise_failure(self) -> None:
        """Raises the error of the first query that failed, if one has; called once the others have all their results.

        SaffronError: its own. FailedError: any other exception of it.
        """
        self._note()
        for one in self._failures:
            if isinstance(one.error, SaffronError):
                raise one.error
            others = len(self._failures) - 1
            more = f" ({others} more failed, too)" if others else ""
            raise FailedError(f"query {one.name} failed: {one.reason}{more}") from one.error

    @property
    def failed(self) -> Sequence[Failure]:
        """The queries that have failed, in this order."""
        return self._failures

    def _note(self) -> None:
        self._failures += [*self.matcher.failures(), *self.trends.failures()]

    def refuse(self) -> None:
        """Raises for a query that binds, but that its engine cannot run."""
        self.raise_failure()
        for name, status in {**self.matcher.statuses(), **self.trends.statuses()}.items():
            if status.state == "rejected":
                reason = status.reason
                raise SaffronError(reason if name in reason else f"query {name}: {reason}")


class Chain:
    """The chain of one partition: windowing and both engines.

    `schema`: None: it grows with the events. `stream`: the one that the queries are over. `merged`: its events are of a
    merged stream. `interpreted`: it compiles no kernel before that pays. `opening`: its first blocks, with schema and
    queries.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        schema: Schema | None,
        compiler: Compiler,
        *,
        partition: int,
        disorder: int,
        stream: str = DEFAULT_STREAM,
        merged: bool = False,
        one_in: int = ONE_IN,
        interpreted: bool = False,
    ) -> None:
        self.seconds = Seconds()
        self._interpreted = interpreted
        self.windowing = WindowingOperator(
            partition,
            stream,
            schema,
            disorder_ms=disorder,
            merged=merged,
            max_block_events=BLOCK_EVENTS,
            checkpoint_every=NO_CHECKPOINTS,
            compiler=compiler,
        )
        self.engines = Engines(compiler, partition=partition, stream=stream, one_in=one_in, compiled=not interpreted)
        started = time.perf_counter()
        for query in queries:
            record = QueryRecord(query.name, QUERY_VERSION, ADD, query.text, shed=query.shed)
            self.windowing.query(query.name, record)
        self.opening = self.windowing.flush()
        for block in self.opening:
            self.engines.apply(block)
        self.engines.refuse()
        self.seconds.compile += time.perf_counter() - started

    def feed(self, batch: RawBatch) -> Iterator[Merged]:
        """Results that the batch completes, block by block."""
        for blocks in self.decode(batch):
            yield from self.apply(blocks)

    def decode(self, batch: RawBatch) -> Iterator[Sequence[Block]]:
        """The blocks that the batch completes, a part of it at a time while the kernels are interpreted.

        It uses windowing alone, and `apply` the engines: one thread may decode while another applies.
        """
        done = 0
        while done < len(batch):
            started = time.perf_counter()
            part = batch.part(done, min(len(batch), done + INTERPRETED_RECORDS) if self._interpreted else len(batch))
            done += len(part)
            self.windowing.ingest(part)
            blocks = self.windowing.flush()
            self.seconds.decode += time.perf_counter() - started
            yield blocks

    def apply(self, blocks: Iterable[Block]) -> Iterator[Merged]:
        """Results of these blocks, the next ones in order. The caller's time between results counts as processing."""
        started = time.perf_counter()
        for block in blocks:
            yield self.engines.apply(block)
        self.seconds.processing += time.perf_counter() - started
        if self._interpreted and self.seconds.processing > INTERPRETED_SECONDS:
            self._compile()

    def advance(self, ts: int) -> Iterator[Merged]:
        """Results that a watermark completes: no event with a smaller ts will come."""
        self.windowing.advance_watermark(ts)
        yield from self.apply(self.windowing.flush())

    def finish(self) -> Iterator[Merged]:
        """Results that the end of the stream completes (an infinite watermark)."""
        self.windowing.advance_watermark(END_OF_TIME, end=True)
        yield from self.apply(self.windowing.flush())

    def snapshot(self) -> State:
        """All state between two batches as flat arrays, but for the records from `windowing.position()` on."""
        block = self.windowing.checkpoint()
        self.engines.apply(block)
        return {
            _BLOCK: np.frombuffer(encode_block(block), np.uint8),
            **{f"{_MATCHER}{name}": array for name, array in self.engines.matcher.snapshot().items()},
            **{f"{_TRENDS}{name}": array for name, array in self.engines.trends.snapshot().items()},
        }

    def restore(self, state: State) -> None:
        """Take over a snapshot of the same queries. Bring the records from `windowing.position()` on next."""
        self.windowing.resume(decode_block(state[_BLOCK].tobytes()))
        matcher, trends = _part(state, _MATCHER), _part(state, _TRENDS)
        self.engines.restore(matcher, trends, compiled=not self._interpreted)

    def blocks(self, batches: Iterable[RawBatch]) -> Iterator[Block]:
        """The blocks of a whole stream, its end included, without the engines."""
        for batch in batches:
            for blocks in self.decode(batch):
                yield from blocks
        self.windowing.advance_watermark(END_OF_TIME, end=True)
        yield from self.windowing.flush()

    def _compile(self) -> None:
        started = time.perf_counter()
        self.engines.compile()
        self._interpreted = False
        self.seconds.compile += time.perf_counter() - started

    def dead_letters(self) -> Iterable[DeadLetter]:
        """Bad and late events since the last call."""
        return self.windowing.take_dead_letters()

    def statistics(self) -> Mapping[str, Any]:
        """Statistics of the three operators: `windowing`, `matcher`, `greta`."""
        return {
            "windowing": self.windowing.statistics(),
            "matcher": self.engines.matcher.statistics(),
            "greta": self.engines.trends.statistics(),
        }


def _part(state: State, prefix: str) -> State:
    """The arrays of one engine."""
    return {name[len(prefix) :]: array for name, array in state.items() if name.startswith(prefix)}
