"""A replay: checked queries over raw events, through one fused chain per partition, with statistics at the end."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from saffron.engine.events.block import Block
from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.decoding.losses import loss_notices
from saffron.engine.events.raw import RawBatch
from saffron.engine.explain.kernel_text import kernel_sources
from saffron.engine.kernels import generated, jit
from saffron.engine.match.general.watch import ONE_IN
from saffron.engine.operators.aggregates import registered
from saffron.engine.windows.dead_letters import DeadLetter
from saffron.errors import QueryError, SaffronError
from saffron.language import Bound, bind
from saffron.language.plan.plan import Plan
from saffron.language.syntax.parsing.parser import parse
from saffron.runtime.log.murmur2 import partition_of
from saffron.runtime.process.config import user_cache_directory
from saffron.runtime.replay.ahead import made_ahead
from saffron.runtime.replay.binding import bind_all
from saffron.runtime.replay.both import Merged
from saffron.runtime.replay.first_events import explained, first_events
from saffron.runtime.replay.fused import DEFAULT_STREAM, Chain, Query
from saffron.runtime.replay.merged_stream import InnerBatch, InnerFiles, MergedMessages
from saffron.runtime.streams.event_keys import keys_of, no_key_notice
from saffron.runtime.streams.whole_tables import table_notices
from saffron.schema.likely_times import seconds_notice
from saffron.schema.schema import Schema


@dataclass(frozen=True)
class ChainBlocks:
    """Blocks for the engines of `chain`, the next in order. `letters`: the bad and late events among their records."""

    chain: Chain
    blocks: Sequence[Block]
    letters: Sequence[DeadLetter]


class Replay:
    """A replay of queries over one stream of events.

    - `merged`: the messages of a merged stream, whose batches these are.
    - `grows`: a schema that is not given grows with the events (none is inferred from the first ones), and names that
      no event has had yet may come.
    - `interpret`: queries whose kernels are not compiled yet begin at once, interpreted.
    - `ahead`: another thread reads and decodes the batches, which wait for nothing, while the engines run.
    - `warn`: called with each warning before a query starts, in case the query does not end.

    Once results have begun it has the `names`, `plans`, `weights` (by name) and `warnings` of the queries, the
    `schema`, and the `seconds` that were not spent on decoding or compiling.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        *,
        schema: Schema | None = None,
        lenient: bool = False,
        disorder: int = 0,
        partitions: int = 1,
        key: str | None = None,
        merged: MergedMessages | InnerFiles | None = None,
        grows: bool = False,
        interpret: bool = True,
        ahead: bool = False,
        warn: Callable[[str], None] = lambda warning: None,
    ) -> None:
        jit.use_directory(user_cache_directory() / "kernels")
        self.names: list[str] = []
        self.plans: list[Plan] = []
        self.weights: dict[str, float] = {}
        self.seconds = 0.0
        self.warnings: list[str] = []
        self._aggregates = frozenset(registered())
        self.queries, self.schema = queries, schema
        self.lenient, self.disorder, self.partitions = lenient, disorder, partitions
        self._key, self._keyed = key, 0
        self.merged = merged
        self.stream = DEFAULT_STREAM
        self._grows = grows and schema is None
        self._interpret = interpret
        self._ahead = ahead
        self._warn = warn
        self._chains: list[Chain] = []
        self._results: Counter[str] = Counter()
        self._peak = 0
        self._reading = 0.0
        self._letters: list[DeadLetter] = []
        self._one_in = ONE_IN

    def results(self, batches: Iterable[RawBatch]) -> Iterator[Merged]:
        """Results in order, as the events complete them. QueryError before the first: a query does not bind."""
        steps = self._steps(self._begun(batches))
        started = time.perf_counter() - self._decoding() - self._compiling()
        for step in made_ahead(steps) if self._ahead else steps:
            self._letters += step.letters
            for merged in self._counted(step.chain, step.chain.apply(step.blocks)):
                yield merged
                self._note_time(started)
        for chain in self._chains:
            yield from self._counted(chain, chain.finish())
            self._letters += self._bad(chain)
        self._note_time(started)
        for chain in self._chains:
            chain.engines.raise_failure()

    def _steps(self, batches: Iterable[RawBatch]) -> Iterator[ChainBlocks]:
        """The events of the batches as blocks, for the engines."""
        for batch in batches:
            for chain, part in self._split(batch):
                for blocks in chain.decode(part):
                    yield ChainBlocks(chain, blocks, self._bad(chain))

    def _bad(self, chain: Chain) -> list[DeadLetter]:
        """The bad and late events since the last call, where they were decoded."""
        of_messages = () if self.merged is None else self.merged.dead_letters()
        return [*of_messages, *chain.dead_letters()]

    def _note_time(self, started: float) -> None:
        """Notes the time since `started` that is neither decoding nor compiling."""
        self.seconds = time.perf_counter() - started - self._decoding() - self._compiling()

    def _decoding(self) -> float:
        return self._reading + sum(chain.seconds.decode for chain in self._chains)

    def _compiling(self) -> float:
        return sum(chain.seconds.compile for chain in self._chains)

    def _begun(self, batches: Iterable[RawBatch]) -> Iterator[RawBatch]:
        """Creates the chains. Returns all batches, with those from which the schema was inferred."""
        source = self._timed(batches)
        head = first_events(source) if self.schema is None else []
        self.begin(head)
        return itertools.chain(head, source)

    def begin(self, head: Sequence[RawBatch] = ()) -> Sequence[Chain]:
        """Creates the chains, one a partition. `head`: the first batches, to infer a schema from if there is none."""
        if not self._grows:
            self.schema = self.schema or infer_schema(head)
        schema = self.schema
        try:
            queries = self._bound(schema)
        except QueryError as error:
            if schema is None:
                raise
            raise explained(error, schema, head, self.merged) from error
        interpreted = self._interpret and self._would_compile(queries, schema)
        self._chains = [
            Chain(
                queries,
                schema,
                self._compile,
                partition=partition,
                disorder=self.disorder,
                stream=self.stream,
                merged=self.merged is not None,
                one_in=self._one_in,
                interpreted=interpreted,
            )
            for partition in range(self.partitions)
        ]
        return self._chains

    def warn_under(self, schema: Schema) -> None:
        """Warn of the queries under a schema that has grown, without repeating warnings."""
        try:
            found = bind_all(self.queries, schema, self._bind).warnings
        except SaffronError:
            return  # a query is refused: windowing says so
        for warning in found:
            if warning not in self.warnings:
                self.warnings.append(warning)
                self._warn(warning)

    def _would_compile(self, queries: Sequence[Query], schema: Schema | None) -> bool:
        """True if compiling would hold up the first answer. It must do so with aggregates of the user's own: one that
        does not compile is an error before any result.
        """
        if self._aggregates or schema is None:
            return not self._aggregates
        shed = {query.name: query.shed for query in queries}
        try:
            sources = (one for plan in self.plans for one in kernel_sources(plan, schema, shed[plan.name]))
            return not all(map(generated.is_kept, sources))
        except SaffronError:
            return False  # nothing runs it: the engines say so

    def _timed(self, batches: Iterable[RawBatch]) -> Iterator[RawBatch]:
        """The batches. The time to read and unpack them counts as decoding."""
        source = iter(batches)
        while True:
            started = time.perf_counter()
            batch = next(source, None)
            self._reading += time.perf_counter() - started
            if batch is None:
                return
            yield batch

    def dead_letters(self) -> Sequence[DeadLetter]:
        """Bad and late events since the last call."""
        letters, self._letters = self._letters, []
        return letters

    def reports(self, way: str = "a --schema") -> Iterator[str]:
        """Messages at the end for the user, on values that were not kept.

        `way`: the means by which a user states the right kind; in a definition there is another one.
        """
        windowing = [chain.statistics()["windowing"] for chain in self._chains]
        mistyped: Counter[str] = Counter()
        for one in windowing:
            mistyped.update(one["mistyped_attributes"])
        if self.merged is not None:
            mistyped.update(self.merged.counts.misfits)
            yield from self.merged.counts.notices()
            yield from table_notices(self.merged.tables, self.merged.counts.not_found)
        if self._key is not None and not self._keyed:
            yield no_key_notice(self._key)
        way = way if self.merged is None else "`as` in the definition"
        yield from loss_notices(mistyped, sum(one["left_out"] for one in windowing), way)
        if in_seconds := sum(one["in_seconds"] for one in windowing):
            yield seconds_notice(in_seconds)

    def figures(self) -> dict[str, Any]:
        """The statistics that `--stats` prints.

        `decode_seconds`: the time in which events were read, decoded and ordered. `seconds`: all other time, but for
        that of compiling. Time in which events were decoded while the engines ran counts once, as decoding.
        """
        windowing = [chain.statistics()["windowing"] for chain in self._chains]
        events = sum(one["events"] for one in windowing)
        decoding = self._decoding()
        refused = 0 if self.merged is None else self.merged.counts.refused
        misfits = 0 if self.merged is None else self.merged.counts.misfits.total()
        dropped = [chain.statistics()["matcher"]["dropped_partial_matches"] for chain in self._chains]
        return {
            "events": events,
            "dead_letters": refused + sum(one["late"] + sum(one["bad"].values()) for one in windowing),
            "mistyped_values": misfits + sum(one["mistyped"] for one in windowing),
            "left_out_values": sum(one["left_out"] for one in windowing),
            "results": {name: self._results[name] for name in self.names},
            "seconds": round(self.seconds, 6),
            "decode_seconds": round(decoding, 6),
            "compile_seconds": round(self._compiling(), 6),
            "events_per_second": round(events / (decoding + self.seconds)) if events else 0,
            "peak_partial_matches": self._peak,
            "dropped_events": 0,
            "dropped_partial_matches": sum(dropped),
        }

    def _bound(self, schema: Schema | None) -> list[Query]:
        """The queries under their names, makers before readers; notes plans, weights, stream and warnings.

        QueryError: a query does not bind. InputError: the queries are over different streams, or not the merged one.
        """
        if self.merged is not None:
            for query in self.queries:
                self.merged.require(parse(query.text).stream or DEFAULT_STREAM)
        bound = bind_all(self.queries, schema, self._bind)
        self.warnings += bound.warnings
        for warning in bound.warnings:
            self._warn(warning)
        self.names += [plan.name for plan in bound.plans]
        self.plans += bound.plans
        self.weights |= bound.weights
        self.stream = bound.stream
        return bound.queries

    def _bind(self, text: str, schema: Schema | None, name: str) -> Bound:
        return bind(text, schema, name=name, lenient=self.lenient, aggregates=self._aggregates, unseen=self._grows)

    def _compile(self, text: str, schema: Schema | None, name: str) -> Plan:
        return self._bind(text, schema, name).plan

    def _split(self, batch: RawBatch) -> Iterator[tuple[Chain, RawBatch]]:
        """Each chain with its part of a batch, by the partition of the key as on Kafka; events without one have the
        empty key.

        A batch of a merged stream is whole, for its partition. Without a key attribute all go to the first chain.
        """
        if isinstance(batch, InnerBatch):
            yield self._chains[batch.partition], batch
            return
        if self._key is None:
            yield self._chains[0], batch
            return
        keys = keys_of([batch.value(row) for row in range(len(batch))], self._key)
        self._keyed += sum(key is not None for key in keys)
        target = np.array([partition_of(key or b"", self.partitions) for key in keys])
        for partition, chain in enumerate(self._chains):
            rows = np.flatnonzero(target == partition)
            if len(rows):
                yield chain, batch.take(rows)

    def _counted(self, chain: Chain, merged: Iterable[Merged]) -> Iterator[Merged]:
        for one in merged:
            self._results.update(one.counts())
            self._peak = max(self._peak, chain.engines.partial_matches())
            yield one
