"""`why` on the running system: an explanation from the newest blocks of `admitted`, which the matcher reads.

The log holds what the matcher saw, without shed events, so the explanation covers its actual input. At most
`MOST_BLOCKS` blocks of each partition are read, so that a request takes a few seconds at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from saffron.engine.events.block import Block
from saffron.engine.events.codec import decode_block
from saffron.engine.events.json_schema import from_json_schema
from saffron.engine.kernels import jit
from saffron.engine.operators.aggregates import registered
from saffron.engine.operators.composition import bound, makers_of, standing_plans
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
from saffron.engine.why.makers import Makers, read_beside
from saffron.engine.why.trace import Trace
from saffron.errors import InputError
from saffron.language import bind
from saffron.language.plan.plan import Plan
from saffron.language.syntax.delivery import has_rows, whole_text
from saffron.language.syntax.parsing.parser import parse
from saffron.records.stream import StreamRecord
from saffron.runtime.hops.tags import valid_blocks
from saffron.runtime.log import Consumer, Log, TopicPartition
from saffron.runtime.log.ends import backwards, each_to_end
from saffron.runtime.log.topics import Topics
from saffron.runtime.process.config import user_cache_directory
from saffron.runtime.result_formats.reading import result_id, result_values
from saffron.schema.schema import Distribution, Kind, Schema, widened

MOST_BLOCKS = 256
"""Newest blocks read of each partition."""
MOST_RESULTS = 100_000
"""Newest results of each partition that are searched for an id."""
_POLLS = 100
_BATCH = 5000


@dataclass(frozen=True)
class Question:
    """A question about one query.

    `target`: a key ("symbol=IBM", "a=1,b=x", "*") or the beginning of a result's id. `events`: number of a key's events
    to explain. `beside`: texts of the other registered queries by name.
    """

    query: str
    text: str
    stream: StreamRecord
    target: str
    events: int = NEWEST_EVENTS
    beside: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """An explanation.

    `partition`: of its events. `events`: number of events read, of all keys; `since`: ts of the first.
    """

    trace: Trace
    partition: int
    events: int
    since: int | None


def why_now(log: Log, topics: Topics, group: str, question: Question) -> Answer:
    """The explanation of a key or a match among the newest events. InputError: not found, or not explainable."""
    consumer = log.consumer(group, committed_only=True, client_id="why")
    try:
        if is_key(question.target):
            return _of_key(log, consumer, topics, question)
        return _of_match(log, consumer, topics, question)
    finally:
        consumer.close()


def _of_key(log: Log, consumer: Consumer, topics: Topics, question: Question) -> Answer:
    """The explanation of a key. Its events are in one partition, but only the producer knows which, so all are read."""
    refused: InputError | None = None
    for place in _places(log, topics.admitted_of(question.stream.stem)):
        blocks = _blocks(consumer, place)
        if not any(len(block.columns) for block in blocks):
            continue
        of = _context(question, blocks, place.partition)
        try:
            trace = trace_key_in(of, key_of(of.plan, question.target, of.schema.kinds), question.events)
            return _answer(trace, place, blocks)
        except InputError as error:
            refused = refused or error
    raise refused or InputError(f"no events have come on stream {question.stream.name!r} yet")


def _of_match(log: Log, consumer: Consumer, topics: Topics, question: Question) -> Answer:
    """The explanation of the result whose id begins with the target. InputError: none of the newest does.

    A result that was written without its events is made again from the newest blocks.
    """
    result = _result(log, consumer, topics, question)
    if result is None or "events" not in result:  # of EMIT VALUES, or read by other queries only
        result = _made_again(log, consumer, topics, question) or result
    if result is None:
        raise InputError(
            f"none of the newest results of {question.query} has an id that begins with {question.target!r}; "
            "ask for a key (symbol=IBM), or for an id as `saffron tail` prints it"
        )
    place = TopicPartition(topics.admitted_of(question.stream.stem), int(result["partition"]))
    blocks = _blocks(consumer, place)
    return _answer(trace_match_in(_context(question, blocks, place.partition), result), place, blocks)


def _answer(trace: Trace, place: TopicPartition, blocks: list[Block]) -> Answer:
    filled = [block.columns for block in blocks if len(block.columns)]
    return Answer(trace, place.partition, sum(map(len, filled)), int(filled[0].ts[0]) if filled else None)


def _result(log: Log, consumer: Consumer, topics: Topics, question: Question) -> Mapping[str, Any] | None:
    """The newest result whose id begins with the target, where the query's results are written."""
    if has_rows(question.text):
        return None
    publish = parse(question.text).publish
    topic = topics.complex_events if publish is None or publish.topic is None else publish.topic
    wanted = question.target.lower().encode()
    for place in _places(log, topic):
        low, high = consumer.watermarks(place)
        for record in backwards(consumer, place, max(low, high - MOST_RESULTS), high):
            result = result_values(record) if result_id(record).startswith(wanted) else None
            if result is not None and result["query"] == question.query and type(result.get("partition")) is int:
                return result
    return None


def _made_again(log: Log, consumer: Consumer, topics: Topics, question: Question) -> Mapping[str, Any] | None:
    """The result whose id begins with the target, with its events, found again in the newest blocks."""
    if whole_text(question.text) == question.text:
        return None
    texts = {**question.beside, question.query: question.text}
    wanted = b'{"id":"' + question.target.lower().encode()
    jit.use_directory(user_cache_directory() / "kernels")
    for place in _places(log, topics.admitted_of(question.stream.stem)):
        blocks = _blocks(consumer, place)
        schema = _schema(blocks, question.stream.schema)
        plans = standing_plans(_plan, texts, schema, question.stream.name)
        own = plans[question.query]
        chosen = [(name, texts[name]) for name in [*makers_of(matches_only(own), plans), question.query]]
        makers = Makers(chosen, schema, (), kinds={}, compiler=_plan, partition=place.partition)
        for block in blocks:
            results = makers.results(block)
            for text in results.json(0, len(results)):
                if text.startswith(wanted) and (found := read_result(text))["query"] == question.query:
                    return found
    return None


def _context(question: Question, blocks: list[Block], partition: int) -> TraceInput:
    """The input of an explanation: the blocks, and the queries whose results this one reads."""
    schema = _schema(blocks, question.stream.schema)
    texts = {name: text for name, text in question.beside.items() if name != question.query}
    others = standing_plans(_plan, texts, schema, question.stream.name)
    plan = matches_only(bound(_plan, question.text, schema, question.query, others))
    bound_to, makers = read_beside(plan, schema, others, texts, _plan, partition=partition)
    if makers is not None:  # they are run as in a service
        jit.use_directory(user_cache_directory() / "kernels")
    return TraceInput(plan, bound_to, blocks, makers)


def _plan(text: str, schema: Schema | None, name: str) -> Plan:
    return bind(text, schema, name=name, lenient=True, aggregates=frozenset(registered())).plan


def _schema(blocks: list[Block], given: Mapping[str, Any] | None) -> Schema:
    """The schema of the blocks' columns, enough to read values by their kinds.

    The distribution of imprecise times is only in the `given` schema; for an inferred one it is uniform.
    """
    kinds: dict[str, Kind] = {}
    names: dict[str, None] = {}
    for block in blocks:
        for name, column in block.columns.attributes.items():
            own = Kind.LONG if column.kind is Kind.INT else column.kind  # the column does not say how large they may be
            known = kinds.get(name, own)
            kinds[name] = widened(known, own) or known
        names |= dict.fromkeys(block.columns.type.values)
    times: Mapping[str, Distribution] = {} if given is None else from_json_schema(given).times
    if given is None and any(block.columns.latest is not None for block in blocks):
        times = dict.fromkeys(names, "uniform")
    return Schema(kinds, dict.fromkeys(names, tuple(kinds)), dict.fromkeys(names, frozenset()), times=times)


# ---------------------------------------------------------------- the ends of topics


def _places(log: Log, topic: str) -> Iterator[TopicPartition]:
    return (TopicPartition(topic, one) for one in range(log.partitions(topic) or 0))


def _blocks(consumer: Consumer, place: TopicPartition) -> list[Block]:
    """The newest blocks in order, each once. Blocks of former owners are left out."""
    found: list[Block] = []
    low, high = consumer.watermarks(place)
    if high <= low:
        return found
    newest = each_to_end(consumer, {place: max(low, high - MOST_BLOCKS)}, batch=_BATCH, polls=_POLLS)
    for record in valid_blocks(newest):
        block = decode_block(record.value or b"")
        if found and block.counter < found[-1].next_counter:
            continue  # written again by a new owner
        found.append(block)
    return found
