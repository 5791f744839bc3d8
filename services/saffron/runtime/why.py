"""`saffron replay --why`: the events of one key out of a stream, for the explaining interpreter (engine.why)."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from saffron.engine.aggregates import registered
from saffron.engine.composition import reads
from saffron.engine.events import RawBatch, Schema, infer_schema
from saffron.engine.events.block import Block
from saffron.engine.events.schema import END_OF_TIME, Kind
from saffron.engine.events.tables import column_values
from saffron.engine.why.interpreter import reads_others
from saffron.engine.why.story import Step, Story, story_of_key, story_of_match
from saffron.engine.windows.bounds import NO_WATERMARK
from saffron.engine.windows.operator import WindowingOperator
from saffron.errors import InputError
from saffron.language import bind
from saffron.language.errors import suggestion
from saffron.language.plan import MatchPlan, Plan
from saffron.runtime.fused import BLOCK_EVENTS, DEFAULT_STREAM, NO_CHECKPOINTS, Query
from saffron.runtime.replay import Replay, first_events

TOLD = 40
"""Events told of a key: its last ones."""
EVERYTHING = "*"
"""What is asked for where a query has no key."""

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
    if "=" in asked or asked == EVERYTHING:
        return [story_of(reader, query, asked, told) for query in reader.queries]
    return [_of_match(reader, asked)]


def story_of(reader: Reader, query: Query, asked: str, told: int) -> Story:
    """The story of a key under one of the queries; see `why`."""
    plan, schema = _plan(reader, query)
    key = _key(plan, schema, asked)
    buffer: deque[Step] = deque()
    seen: dict[str, None] = {}
    watermark, ours, dropped = None, 0, 0
    for block in _blocks(reader, query, schema):
        if NO_WATERMARK < block.watermark < END_OF_TIME:
            watermark = block.watermark
        for step in _steps(plan, block, key, seen):
            buffer.append(step)
            ours += step.ours
        dropped += _forget(buffer, plan, told)
    if not ours:
        known = ", ".join(list(seen)[:8]) or "none"
        hint = suggestion(str(next(iter(key.values()), "")), seen) if len(key) == 1 else ""
        raise InputError(f"no event has {_told(key)}; there are {known}. {hint}".rstrip())
    story = story_of_key(plan, key, buffer, told=told, left_out=dropped)
    return replace(story, watermark=watermark)


def _of_match(reader: Reader, asked: str) -> Story:
    result = _result(reader, asked)
    if "events" not in result:
        raise InputError(f"result {asked} is not a match with events: --why explains matches")
    if result.get("timeout"):
        raise InputError(f"result {asked} is a partial match that timed out: ask for its key instead of its id")
    replayed = next(query for query in reader.queries if _plan(reader, query)[0].name == result["query"])
    plan, schema = _plan(reader, replayed)
    bound = [result["events"][component.variable] for component in plan.components[: plan.positive]]
    parts = [[e["seq"] for e in (part if isinstance(part, list) else [part] if part else [])] for part in bound]
    clock = "seq" if plan.window.events else "ts"
    everything = [e for part in bound for e in (part if isinstance(part, list) else [part] if part else [])]
    low = min(e[clock] for e in everything) - 2 * plan.window.size
    high = max(e[clock] for e in everything) + plan.window.size
    steps = [
        step
        for block in _blocks(reader, replayed, schema)
        for step in _steps(plan, block, result["key"], {})
        if low <= step.event[clock] <= high
    ]
    story = story_of_match(plan, result["key"], steps, parts)
    if story is None:
        raise InputError(f"the interpreter does not find match {asked}: please report this as a bug, with the query")
    return story


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


def _key(plan: MatchPlan, schema: Schema, asked: str) -> dict[str, Any]:
    """The key's values, read by their kinds."""
    pairs = [part.partition("=") for part in asked.split(",")] if asked != EVERYTHING else []
    given = {name.strip(): text.strip() for name, _, text in pairs}
    if set(given) != set(plan.key):
        wanted = ",".join(f"{name}=VALUE" for name in plan.key) or f"'{EVERYTHING}', it has no [attr]"
        raise InputError(f"the key of {plan.name} is asked for as --why {wanted}; got {asked!r}")
    return {name: _read(name, given[name], schema) for name in plan.key}


def _read(name: str, text: str, schema: Schema) -> Any:
    kind = Kind.INT if name == "ts" else Kind.STRING if name == "type" else schema.kinds[name]
    try:
        if kind is Kind.BOOL:
            return {"true": True, "false": False}[text.lower()]
        return text if kind is Kind.STRING else int(text) if kind is Kind.INT else float(text)
    except (ValueError, KeyError):
        raise InputError(f"--why {name}={text}: {name} is of kind {kind.value}") from None


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


def _steps(plan: MatchPlan, block: Block, key: Mapping[str, Any], seen: dict[str, None]) -> Iterator[Step]:
    """The events of a block that the key's story needs. `seen`: values of a key of one attribute, for a hint."""
    columns = block.columns
    if columns.latest is not None:
        raise InputError("the events have imprecise times; --why explains runs over exact times only")
    others = reads_others(plan)
    opened = set(itertools.chain.from_iterable(block.opened.values()))
    values = {name: column_values(column) for name, column in columns.attributes.items()}
    own = {"seq": columns.seq.tolist(), "ts": columns.ts.tolist(), "type": column_values(columns.type)}
    keys = [own.get(name) or values.get(name) or [] for name in key]
    wanted = tuple(key.values())
    for row, found in enumerate(zip(*keys, strict=True) if keys else itertools.repeat((), len(columns))):
        ours, opens = found == wanted, own["seq"][row] in opened
        if len(wanted) == 1 and len(seen) < 1000 and found[0] is not None:
            seen.setdefault(str(found[0]))
        if ours or others or opens:
            attributes = {name: column[row] for name, column in values.items() if column[row] is not None}
            event = {name: column[row] for name, column in own.items()}
            yield Step({**event, **attributes}, ours, opens)


def _forget(buffer: deque[Step], plan: MatchPlan, told: int) -> int:
    """Drop what can no longer matter for the last `told` events; how many of the key's own that were."""
    if len(buffer) <= told:
        return 0
    clock = "seq" if plan.window.events else "ts"
    horizon = buffer[-told - 1].event[clock] - 2 * plan.window.size
    dropped = 0
    while buffer[0].event[clock] < horizon:
        dropped += buffer.popleft().ours
    return dropped


def _told(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in key.items()) or "any key"
