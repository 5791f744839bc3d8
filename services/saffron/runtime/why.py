"""`saffron replay --why`: the events of one key out of a stream, for the explaining interpreter (engine.why)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from saffron.engine.aggregates import registered
from saffron.engine.composition import reads
from saffron.engine.events import RawBatch, Schema, infer_schema
from saffron.engine.events.block import Block
from saffron.engine.events.schema import END_OF_TIME
from saffron.engine.why.story import Story
from saffron.engine.why.telling import TOLD, is_key, key_of, tell_key, tell_match
from saffron.engine.windows.operator import WindowingOperator
from saffron.errors import InputError
from saffron.language import bind
from saffron.language.plan import MatchPlan, Plan
from saffron.runtime.fused import BLOCK_EVENTS, DEFAULT_STREAM, NO_CHECKPOINTS, Query
from saffron.runtime.replay import Replay, first_events

Batches = Callable[[], Iterable[RawBatch]]
"""The events from their beginning, each time it is called."""


@dataclass(frozen=True)
class Reader:
    """Queries over events, as a replay takes them; one partition."""

    queries: Sequence[Query]
    batches: Batches
    schema: Schema | None = None
    lenient: bool = False
    disorder: int = 0


def why(reader: Reader, asked: str, *, told: int = TOLD) -> list[Story]:
    """The story of a key ("symbol=IBM", "a=1,b=x", "*") under each match query, or of a match, by its id.

    Raises InputError: what was asked is not there, or is no key of the queries; QueryError as a replay does.
    """
    if is_key(asked):
        return [story_of(reader, query, asked, told) for query in reader.queries]
    return [_of_match(reader, asked)]


def story_of(reader: Reader, query: Query, asked: str, told: int) -> Story:
    """The story of a key under one of the queries; see `why`."""
    plan, schema = _plan(reader, query)
    return tell_key(plan, key_of(plan, asked, schema.kinds), _blocks(reader, query, schema), told)


def _of_match(reader: Reader, asked: str) -> Story:
    result = _result(reader, asked)
    replayed = next(query for query in reader.queries if _plan(reader, query)[0].name == result["query"])
    plan, schema = _plan(reader, replayed)
    return tell_match(plan, result, _blocks(reader, replayed, schema))


def _result(reader: Reader, asked: str) -> dict[str, Any]:
    """The result whose id begins with what was asked."""
    run = Replay(reader.queries, schema=reader.schema, lenient=reader.lenient, disorder=reader.disorder)
    count, wanted = 0, b'{"id":"' + asked.lower().encode()
    for merged in run.results(reader.batches()):
        for lines in merged.json():
            count += len(lines)
            found = next((line for line in lines if line.startswith(wanted)), None)
            if found is not None:
                result: dict[str, Any] = orjson.loads(found)
                return result
    raise InputError(
        f"none of the {count:,} results has an id that begins with {asked!r}; "
        "ask for a key (--why symbol=IBM), or for an id as replay prints it"
    )


def _plan(reader: Reader, query: Query) -> tuple[MatchPlan, Schema]:
    schema = reader.schema or infer_schema(first_events(iter(reader.batches())))
    own = _bound(reader, query.text, None, query.name)
    for other in reader.queries:
        composing = _bound(reader, other.text, None, other.name)
        if reads(own, composing):
            raise InputError(
                f"{own.name} matches results of {composing.name} (INTO): --why explains events of files only"
            )
    plan = _bound(reader, query.text, schema, query.name)
    if not isinstance(plan, MatchPlan):
        raise InputError(f"{plan.name} counts trends and binds no events: --why explains match queries")
    return plan, schema


def _bound(reader: Reader, text: str, schema: Schema | None, name: str) -> Plan:
    return bind(text, schema, name=name, lenient=reader.lenient, aggregates=frozenset(registered())).plan


def _blocks(reader: Reader, query: Query, schema: Schema) -> Iterator[Block]:
    """The stream in order, numbered as a replay numbers it."""
    windowing = WindowingOperator(
        0,
        DEFAULT_STREAM,
        schema,
        disorder_ms=reader.disorder,
        max_block_events=BLOCK_EVENTS,
        checkpoint_every=NO_CHECKPOINTS,
        compiler=lambda text, known, name: _bound(reader, text, known, name),
    )
    windowing.query(query.name, {"name": query.name, "version": 1, "op": "add", "text": query.text, "from": "now"})
    for batch in reader.batches():
        windowing.ingest(batch)
        windowing.take_dead_letters()
        yield from windowing.flush()
    windowing.advance_watermark(END_OF_TIME, end=True)
    yield from windowing.flush()
