"""The engine over numbered events: all events of a stream, or those of some keys.

Events carry the numbers that they have among all events of the stream, so that ids, windows in EVENTS and what results
say of positions are those of a run over everything. To the engine the others are events that were dropped whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from saffron.engine.events.block import Block
from saffron.engine.events.columns import Columns
from saffron.engine.events.tables import empty_columns
from saffron.engine.kernels import jit
from saffron.engine.operators.aggregates import UserAggregate, register, registered
from saffron.language import Bound, bind
from saffron.language.plan.plan import Plan
from saffron.runtime.process.config import user_cache_directory
from saffron.runtime.replay.fused import Chain, Merged, Query
from saffron.schema.schema import END_OF_TIME, Schema


@dataclass(frozen=True)
class Asked:
    """Queries (by their own names, makers first) over a stream of `events` events; it goes to other machines.

    `aggregates`: those of the user's that the queries may call.
    """

    queries: tuple[Query, ...]
    schema: Schema
    lenient: bool
    aggregates: tuple[UserAggregate, ...] = ()
    events: int = 0


def binder(lenient: bool) -> Callable[[str, Schema | None, str], Bound]:
    """Binds texts with the user's aggregates that this process knows."""
    known = frozenset(registered())
    return lambda text, schema, name: bind(text, schema, name=name, lenient=lenient, aggregates=known)


def run(asked: Asked, batches: Iterable[Columns]) -> Iterator[Merged]:
    """Results of all queries over these events, which ascend by `seq`. SaffronError where a query cannot be run."""
    chain = started(asked)
    last = chain.opening[-1]
    for columns in batches:
        last = _block(last, columns, chain.windowing.opened(columns))
        yield chain.engines.apply(last)
    yield chain.engines.apply(_end(last, asked))


def started(asked: Asked) -> Chain:
    """The engines with the queries in force, before any event."""
    jit.use_directory(user_cache_directory() / "kernels")
    known = registered()
    for one in asked.aggregates:
        if one.name not in known:
            register(one.name, one.step, initial=one.initial, final=one.final)
    bind_one = binder(asked.lenient)

    def compiler(text: str, schema: Schema | None, name: str) -> Plan:
        return bind_one(text, schema, name).plan

    return Chain(asked.queries, asked.schema, compiler, partition=0, disorder=0)


def _block(before: Block, columns: Columns, opened: Mapping[str, Sequence[int]]) -> Block:
    """The events behind those of `before`, and the gap before them. `opened`: where windows of queries open."""
    return Block(
        columns,
        first_seq=before.next_seq,
        next_seq=int(columns.seq[-1]) + 1,
        watermark=int(columns.ts[-1]),
        counter=before.next_counter,
        opened={name: tuple(positions) for name, positions in opened.items() if positions},
    )


def _end(before: Block, asked: Asked) -> Block:
    """The end of the stream, behind all its events."""
    return Block(
        empty_columns(asked.schema),
        first_seq=before.next_seq,
        next_seq=asked.events,
        watermark=END_OF_TIME,
        counter=before.next_counter,
        end=True,
    )


def lines_of(results: Iterable[Merged]) -> Iterator[Sequence[bytes]]:
    """Results as `saffron replay` writes them, some thousand at a time, without the time of detection."""
    for merged in results:
        yield from merged.json()
