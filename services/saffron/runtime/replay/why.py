"""`saffron replay --why`: the events of one key from a stream, for the explaining interpreter (engine.why)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from saffron.counted import counted
from saffron.engine.events.block import Block
from saffron.engine.events.decoding.infer import infer_schema
from saffron.engine.events.decoding.newest import newest
from saffron.engine.events.raw import RawBatch
from saffron.engine.operators.aggregates import registered
from saffron.engine.operators.composition import bind_together, makers_of
from saffron.engine.operators.result_values import read_result
from saffron.engine.why.block_traces import (
    NEWEST_EVENTS,
    TraceInput,
    is_key,
    key_of,
    matches_only,
    trace_key_in,
    trace_match_in,
)
from saffron.engine.why.makers import read_beside
from saffron.engine.why.trace import Trace
from saffron.engine.windows.operator import WindowingOperator
from saffron.errors import InputError
from saffron.language import Bound, bind
from saffron.language.plan.plan import Plan
from saffron.language.syntax.delivery import whole_text
from saffron.records.query import ADD, QueryRecord
from saffron.runtime.replay.binding import stream_of
from saffron.runtime.replay.first_events import first_events
from saffron.runtime.replay.fused import BLOCK_EVENTS, NO_CHECKPOINTS, Query
from saffron.runtime.replay.merged_stream import InnerFiles, MergedMessages
from saffron.runtime.replay.replay import Replay
from saffron.schema.schema import END_OF_TIME, Schema

Batches = Callable[[], Iterable[RawBatch]]
"""A function that returns the events from their beginning, each time it is called."""


@dataclass(frozen=True)
class Reader:
    """Queries over events, as for a replay with one partition. `merged`: opens a merged stream anew."""

    queries: Sequence[Query]
    batches: Batches
    schema: Schema | None = None
    lenient: bool = False
    disorder: int = 0
    merged: Callable[[], MergedMessages | InnerFiles] | None = None


def why(reader: Reader, target: str, *, shown: int = NEWEST_EVENTS) -> list[Trace]:
    """The explanations of a key ("symbol=IBM", "a=1,b=x", "*") under each match query, or of a match by its id.

    `shown`: how many of the key's newest events are explained.

    InputError: not found, or no key of the queries. QueryError: as for a replay.
    """
    if is_key(target):
        return [trace_of(reader, query, target, shown) for query in reader.queries]
    return [_of_match(reader, target)]


def trace_of(reader: Reader, query: Query, target: str, shown: int) -> Trace:
    """The explanation of a key under one of the queries; see `why`."""
    of = _context(reader, query)
    return trace_key_in(of, key_of(of.plan, target, of.schema.kinds), shown)


def _of_match(reader: Reader, target: str) -> Trace:
    result = _result(reader, target)
    named = (_bound(reader, query.text, None, query.name).plan.name for query in reader.queries)
    replayed = next(query for query, name in zip(reader.queries, named, strict=True) if name == result["query"])
    return trace_match_in(_context(reader, replayed), result)


def _result(reader: Reader, target: str) -> dict[str, Any]:
    """The first result whose id begins with `target`."""
    files = None if reader.merged is None else reader.merged()
    queries = [replace(one, text=whole_text(one.text)) for one in reader.queries]
    run = Replay(queries, schema=reader.schema, lenient=reader.lenient, disorder=reader.disorder, merged=files)
    count, wanted = 0, b'{"id":"' + target.lower().encode()
    for merged in run.results(reader.batches() if files is None else files.batches()):
        for lines in merged.json():
            count += len(lines)
            found = next((line for line in lines if line.startswith(wanted)), None)
            if found is not None:
                return read_result(found)
    raise InputError(
        f"of {counted(count, 'result')} none has an id that begins with {target!r}; "
        "ask for a key (--why symbol=IBM), or for an id as replay prints it"
    )


def _context(reader: Reader, query: Query) -> TraceInput:
    """The input of an explanation: the stream, and the queries whose results this one reads."""
    schema = reader.schema or newest(infer_schema(first_events(iter(reader.batches()))), reader.batches())
    texts = [(one.name, one.text) for one in reader.queries]
    plans = [one.plan for one in bind_together(texts, schema, partial(_bound, reader))]
    plan = matches_only(plans[reader.queries.index(query)])
    others = {one.name: one for one in plans if one is not plan}
    named = {one.name: text for one, (_, text) in zip(plans, texts, strict=True)}
    bound_to, makers = read_beside(plan, schema, others, named, partial(_plan, reader))
    chosen = {name: named[name] for name in [*makers_of(plan, others), plan.name]}
    return TraceInput(plan, bound_to, _blocks(reader, stream_of(plans), chosen, schema), makers)


def _bound(reader: Reader, text: str, schema: Schema | None, name: str) -> Bound:
    return bind(text, schema, name=name, lenient=reader.lenient, aggregates=frozenset(registered()))


def _plan(reader: Reader, text: str, schema: Schema | None, name: str) -> Plan:
    return _bound(reader, text, schema, name).plan


def _blocks(reader: Reader, stream: str, queries: Mapping[str, str], schema: Schema) -> Iterator[Block]:
    """The stream's blocks in order, with the sequence numbers of a replay."""
    windowing = WindowingOperator(
        0,
        stream,
        schema,
        disorder_ms=reader.disorder,
        merged=reader.merged is not None,
        max_block_events=BLOCK_EVENTS,
        checkpoint_every=NO_CHECKPOINTS,
        compiler=partial(_plan, reader),
    )
    for name, text in queries.items():
        windowing.query(name, QueryRecord(name, 1, ADD, text))
    for batch in reader.batches():
        windowing.ingest(batch)
        windowing.take_dead_letters()
        yield from windowing.flush()
    windowing.advance_watermark(END_OF_TIME, end=True)
    yield from windowing.flush()
