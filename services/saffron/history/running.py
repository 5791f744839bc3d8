"""The engine over numbered events: all events of a stream, or those of some keys.

Events have their numbers among all events of the stream. So ids, windows in EVENTS and positions in results are those
of a run over everything. For the engine, the missing events were shed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from saffron.engine.events.block import Block
from saffron.engine.events.column_operations import empty_columns
from saffron.engine.events.columns import Columns
from saffron.engine.kernels import jit
from saffron.engine.operators.aggregates import UserAggregate, register, registered
from saffron.language import Bound, bind
from saffron.language.plan.plan import Plan
from saffron.runtime.process.config import user_cache_directory
from saffron.runtime.replay.both import Merged
from saffron.runtime.replay.fused import DEFAULT_STREAM, Chain, Query
from saffron.schema.functions import own
from saffron.schema.functions.function import Function
from saffron.schema.schema import END_OF_TIME, Schema


@dataclass(frozen=True)
class EngineTask:
    """The task of an engine, which Spark sends to other machines: queries over a stream.

    `queries`: those whose results others read come first. `aggregates`: user-defined ones that they may call.
    `events`: number of events of the whole stream. `stream`: the one that the queries are over.
    """

    queries: tuple[Query, ...]
    schema: Schema
    lenient: bool
    aggregates: tuple[UserAggregate, ...] = ()
    functions: tuple[Function, ...] = ()
    events: int = 0
    stream: str = DEFAULT_STREAM


def binder(lenient: bool) -> Callable[[str, Schema | None, str], Bound]:
    """A function that binds a text (text, schema, name) with the user-defined aggregates of this process."""
    known = frozenset(registered())
    return lambda text, schema, name: bind(text, schema, name=name, lenient=lenient, aggregates=known)


def run(task: EngineTask, batches: Iterable[Columns]) -> Iterator[Merged]:
    """The results of all queries over events in the order of `seq`.

    SaffronError: a query cannot be run, or failed, once the others have all their results.
    """
    chain = start_engines(task)
    last = chain.opening[-1]
    for columns in batches:
        last = _block(last, columns, chain.windowing.opened(columns))
        yield chain.engines.apply(last)
    yield chain.engines.apply(_end(last, task))
    chain.engines.raise_failure()


def start_engines(task: EngineTask) -> Chain:
    """The engines with all queries in force, before any event."""
    jit.use_directory(user_cache_directory() / "kernels")
    known = registered()
    for one in task.aggregates:
        if one.name not in known:
            register(one.name, one.step, initial=one.initial, final=one.final)
    for function in task.functions:
        own.add(function)
    bind_one = binder(task.lenient)

    def compiler(text: str, schema: Schema | None, name: str) -> Plan:
        return bind_one(text, schema, name).plan

    return Chain(task.queries, task.schema, compiler, partition=0, disorder=0, stream=task.stream)


def _block(before: Block, columns: Columns, opened: Mapping[str, Sequence[int]]) -> Block:
    """The block behind `before`, with a gap for missing events. `opened`: by query, positions where windows open."""
    return Block(
        columns,
        first_seq=before.next_seq,
        next_seq=int(columns.seq[-1]) + 1,
        watermark=int(columns.ts[-1]),
        counter=before.next_counter,
        opened={name: tuple(positions) for name, positions in opened.items() if positions},
    )


def _end(before: Block, task: EngineTask) -> Block:
    """The block that ends the stream, behind all its events."""
    return Block(
        empty_columns(task.schema),
        first_seq=before.next_seq,
        next_seq=task.events,
        watermark=END_OF_TIME,
        counter=before.next_counter,
        end=True,
    )


def lines_of(results: Iterable[Merged]) -> Iterator[Sequence[bytes]]:
    """Results as lines of `saffron replay`, some thousand at a time, without the time of detection."""
    for merged in results:
        yield from merged.json()
