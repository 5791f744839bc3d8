"""Random match plans and streams, seeded; and the engine run on them without Kafka, JSON or the query language."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import orjson

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.schema_record import schema_to_record
from saffron.engine.match.match_operator import MatchOperator
from saffron.engine.match.planning.engine import engine_of_runs
from saffron.engine.operators.engine_choice import Engine, EngineChoice
from saffron.language import compile_query
from saffron.language.plan.clauses import OpenOn, ReturnItem, Window
from saffron.language.plan.expressions import (
    Aggregate,
    Attribute,
    Binary,
    Call,
    Const,
    Expr,
    In,
    Length,
    Scope,
    Unary,
    Which,
)
from saffron.language.plan.formulas import attribute_shown
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.pattern import Component, Condition, Edge, Strategy
from saffron.schema.event_types import one_type
from saffron.schema.schema import NULL_INT, Kind, Schema
from tests.reference.match import generate
from tests.reference.match.answers import answers, returned
from tests.reference.match.events import Event as Bound
from tests.reference.match.events import events_of
from tests.reference.match.matches import Match
from tests.reference.match.question import Question, question
from tests.reference.match.windows import windows
from tests.unit.engine.match.texts import text_of

KINDS = {"x": Kind.INT, "f": Kind.FLOAT, "s": Kind.STRING, "t": Kind.BOOL, "k": Kind.INT, "g": Kind.STRING}
TYPES = {name: tuple(KINDS) for name in "ABC"}
SCHEMA = Schema(KINDS, TYPES, {})
WORDS = ("a", "b", "ba", "é", "z")
COMPARISONS = ("=", "!=", "!=", "<", "<=", "<=", ">", ">=", ">=")
DTYPES = {Kind.INT: np.int64, Kind.FLOAT: np.float64, Kind.BOOL: np.int8, Kind.STRING: np.int32}
NULLS = {Kind.INT: NULL_INT, Kind.FLOAT: float("nan"), Kind.BOOL: -1, Kind.STRING: -1}

Event = Mapping[str, Any]
Case = tuple[MatchPlan, list[dict[str, Any]], tuple[int, ...]]

# ---------------------------------------------------------------- streams


def stream(rng: random.Random, size: int, types: str = "AABBC") -> list[dict[str, Any]]:
    """Events in order, with ties in time, gaps in seq and nulls."""
    return generate.stream(rng, size, types, nulls=0.06)


def columns(events: Sequence[Event], dropped: Sequence[int] | None = None) -> Columns:
    """Events as a block carries them, arrays read-only as those from Arrow are."""

    def frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        array.flags.writeable = False
        return array

    def column(name: str, kind: Kind) -> Column:
        values = [event[name] for event in events]
        if kind is not Kind.STRING:
            filled = [NULLS[kind] if v is None else v for v in values]
            return Column(kind, frozen(np.array(filled, DTYPES[kind])))
        distinct = {v: None for v in values if v is not None}
        codes = {v: code for code, v in enumerate(distinct)}
        data = [-1 if v is None else codes[v] for v in values]
        return Column(kind, frozen(np.array(data, np.int32)), tuple(distinct))

    return Columns(
        seq=frozen(np.array([event["seq"] for event in events], np.int64)),
        ts=frozen(np.array([event["ts"] for event in events], np.int64)),
        time=frozen(np.array([10 * event["seq"] for event in events], np.int64)),
        type=column("type", Kind.STRING),
        attributes={name: column(name, kind) for name, kind in KINDS.items()},
        dropped=None if dropped is None else np.array(dropped, np.uint64),
    )


# ---------------------------------------------------------------- plans


def _number(rng: random.Random) -> Const:
    return Const(rng.choice([0, 1, 2, 0.5, 1.5, -1]))


def _compared(rng: random.Random, left: Expr, right: Expr) -> Expr:
    expr: Expr = Binary(rng.choice(COMPARISONS), left, right)
    return Unary("not", expr) if rng.random() < 0.1 else expr


def _numeric(rng: random.Random, expr: Expr) -> Expr:
    """Arithmetic around a number, now and then."""
    if rng.random() < 0.7:
        return expr
    if rng.random() < 0.3:
        return Call(rng.choice(["abs", "sqrt"]), (expr,))
    if rng.random() < 0.2:
        return Call(rng.choice(["least", "greatest"]), (expr, _number(rng)))
    return Binary(rng.choice("+-*/%"), expr, _number(rng))


def _leaf(rng: random.Random, component: int, which: Which, back: int = 0) -> Attribute:
    name = rng.choice(["x", "x", "f", "f", "ts"])
    return Attribute(component, which, name, KINDS.get(name, Kind.INT), back)


def _earlier(rng: random.Random, components: Sequence[Component], limit: int) -> Expr:
    """A number of a component that is complete before `limit`."""
    index = rng.randrange(limit)
    if not components[index].closure:
        return _leaf(rng, index, Which.SINGLE)
    return _closed(rng, index)


def _closed(rng: random.Random, index: int) -> Expr:
    roll = rng.random()
    if roll < 0.2:
        return Length(index)
    if roll < 0.55:
        return _leaf(rng, index, rng.choice([Which.FIRST, Which.LAST]))
    return _aggregate(rng, index, Scope.CLOSED)


def _ended(rng: random.Random, index: int) -> Expr:
    """A number that is known only when the closure is complete."""
    while isinstance(found := _closed(rng, index), Attribute) and found.which is Which.FIRST:
        pass
    return found


def _aggregate(rng: random.Random, index: int, scope: Scope) -> Aggregate:
    function = rng.choice(["count", "sum", "avg", "min", "max", "first", "last", "stddev"])
    if function == "count" and rng.random() < 0.5:
        return Aggregate("count", index, scope, None, None)
    name = rng.choice(["x", "f"])
    return Aggregate(function, index, scope, name, KINDS[name])


def _local(rng: random.Random, index: int, which: Which) -> Expr:
    roll = rng.random()
    if roll < 0.5:
        return _compared(rng, _numeric(rng, _leaf(rng, index, which)), _number(rng))
    if roll < 0.65:
        return _compared(rng, Attribute(index, which, "s", Kind.STRING), Const(rng.choice([*WORDS, "zz"])))
    if roll < 0.75:
        choices = tuple(Const(word) for word in rng.sample(WORDS, 3))
        return In(Attribute(index, which, "s", Kind.STRING), choices)
    if roll < 0.85:
        return Attribute(index, which, "t", Kind.BOOL)
    if roll < 0.9:
        return Binary("=", Attribute(index, which, "s", Kind.STRING), _number(rng))
    either = (_local(rng, index, which), _local(rng, index, which))
    return Binary(rng.choice(["and", "or"]), *either)


def _conditions(rng: random.Random, components: Sequence[Component], index: int) -> Iterator[Condition]:
    closure = components[index].closure
    which = Which.CURRENT if closure else Which.SINGLE
    both = (Edge.BEGIN, Edge.TAKE) if closure else (Edge.BEGIN,)

    def on(edges: Sequence[Edge], expr: Expr, local: bool = False) -> Iterator[Condition]:
        yield from (Condition(index, edge, expr, local, "") for edge in edges)

    if rng.random() < 0.3:
        yield from on(both, _local(rng, index, which), local=True)
    if index and rng.random() < 0.35:
        yield from on(both, _compared(rng, _leaf(rng, index, which), _numeric(rng, _earlier(rng, components, index))))
    if index and rng.random() < 0.15:
        other = Attribute(index - 1, Which.LAST if components[index - 1].closure else Which.SINGLE, "s", Kind.STRING)
        yield from on(both, _compared(rng, Attribute(index, which, "s", Kind.STRING), other))
    if not closure:
        return
    if rng.random() < 0.4:
        back = rng.choice([1, 1, 2, 3])
        name = rng.choice(["x", "f", "s"])
        pair = (
            Attribute(index, Which.CURRENT, name, KINDS[name]),
            Attribute(index, Which.PREVIOUS, name, KINDS[name], back),
        )
        yield from on((Edge.TAKE,), _compared(rng, *pair))
    if rng.random() < 0.35:
        yield from on((Edge.TAKE,), _compared(rng, _leaf(rng, index, which), _aggregate(rng, index, Scope.BEFORE)))
    if rng.random() < 0.15:
        yield from on(both, _compared(rng, _leaf(rng, index, which), _leaf(rng, index, Which.FIRST)))
    if rng.random() < 0.3:
        yield from on((Edge.PROCEED,), _compared(rng, _ended(rng, index), _number(rng)))
    if index and rng.random() < 0.1:
        yield from on((Edge.PROCEED,), _compared(rng, _ended(rng, index), _earlier(rng, components, index)))


def window(rng: random.Random) -> Window:
    events = rng.random() < 0.4
    size = rng.randrange(2, 12 if events else 20)
    roll = rng.random()
    if roll < 0.5:
        return Window(size, events, None, None)
    if roll < 0.8:
        return Window(size, events, rng.randrange(1, size + 4), None)
    expr = _local(rng, 0, Which.SINGLE) if rng.random() < 0.6 else None
    return Window(size, events, None, OpenOn(rng.choice("AB"), expr))


def plan(rng: random.Random, strategy: Strategy | None = None) -> MatchPlan:
    components = tuple(
        Component(f"v{index}", one_type(rng.choice("AAB")), rng.random() < 0.5)
        for index in range(rng.choice([1, 2, 2, 2, 3, 3, 4]))
    )
    conditions = [c for index in range(len(components)) for c in _conditions(rng, components, index)]
    returns = [
        ReturnItem(f"r{number}", _numeric(rng, _earlier(rng, components, len(components))))
        for number in range(rng.choice([0, 0, 2]))
    ]
    chosen = strategy or rng.choice(list(Strategy))
    key = rng.choice([(), (), (), (), ("k",), ("k",), ("g",), ("g", "k"), ("f",)])
    text = f"plan {rng.random()}"
    return MatchPlan("q", text, "events", components, chosen, key, tuple(conditions), window(rng), tuple(returns))


@lru_cache(maxsize=1000)
def choice(engine: Engine, made: MatchPlan) -> EngineChoice:
    """An engine whatever would be chosen; runs merge where they would."""
    return replace(engine_of_runs(made, SCHEMA), engine=engine)


def plan_of(text: str) -> MatchPlan:
    """The plan of a match query over the streams of this module."""
    found = compile_query(text, SCHEMA, name="q")
    assert isinstance(found, MatchPlan)
    return found


def asked(made: MatchPlan) -> Question:
    """The plan's query as the reference reads it: from its text."""
    return question(text_of(made))


def openers(made: MatchPlan, events: Sequence[Event]) -> tuple[int, ...]:
    """Positions at which windows of the plan open."""
    if made.window.opens is None:
        return ()
    return tuple(window.opener.seq for window in windows(asked(made), events_of(events)) if window.opener is not None)


# ---------------------------------------------------------------- running them


RUNS = "pspice"
"""A shedder of partial matches: a query under it has runs wherever there are any to have."""


def schema_control(position: int = 0) -> Control:
    return Control(position, "schema", {"schema": schema_to_record(SCHEMA)})


def query_control(op: str, name: str = "q", position: int = 0, **body: Any) -> Control:
    shared = {"op": op, "name": name, "version": 1, "text": name, "slot": 0, "from": "now", "shed": RUNS}
    return Control(position, "query", {**shared, **body})


def operator(plans: Mapping[str, MatchPlan], *, compiled: bool = False) -> MatchOperator:
    """An operator whose compiler knows these plans by their text."""
    return MatchOperator(partition=3, compiled=compiled, compiler=lambda text, _schema, _name: plans[text])


def blocks(
    events: Sequence[Event],
    cuts: Sequence[int],
    opened: Mapping[str, Sequence[int]] | None = None,
    controls: Sequence[Control] = (),
    dropped: Sequence[int] | None = None,
) -> list[Block]:
    """The stream cut before the events with these indices; the controls each in the block of their position."""
    bounds = sorted({0, len(events), *cuts})
    made = []
    for low, high in pairwise(bounds):
        first = 0 if low == 0 else events[low]["seq"]
        following = events[high]["seq"] if high < len(events) else events[-1]["seq"] + 1
        mine = tuple(c for c in controls if first <= c.position < following or (low == 0 and c.position < first))
        made.append(
            Block(
                columns=columns(events[low:high], None if dropped is None else dropped[low:high]),
                first_seq=first,
                next_seq=following,
                watermark=events[high - 1]["ts"],
                end=high == len(events),
                controls=mine,
                opened={n: tuple(p for p in at if first <= p < following) for n, at in (opened or {}).items()},
            )
        )
    return made


def blocks_of(
    made: MatchPlan, events: Sequence[Any], cuts: Sequence[int], controls: Sequence[Control] = ()
) -> list[Block]:
    """The blocks of a stream at whose beginning the query is added, before these controls."""
    first = (schema_control(), query_control("add"), *controls)
    return blocks(events, cuts, {"q": openers(made, events)}, first)


def results(run: MatchOperator, stream_blocks: Sequence[Block]) -> list[bytes]:
    """The JSON of all results, rendered in two slices a block."""
    texts = []
    for block in stream_blocks:
        found = run.apply(block)
        texts += found.json(0, len(found) // 2) + found.json(len(found) // 2, len(found))
    return texts


def engine(
    made: MatchPlan, events: Sequence[Event], *, compiled: bool = False, cuts: Sequence[int] = ()
) -> list[bytes]:
    """The engine's results over a whole stream."""
    controls = (schema_control(), query_control("add"))
    opened = {"q": openers(made, events)}
    return results(operator({"q": made}, compiled=compiled), blocks(events, cuts, opened, controls))


def expected(made: MatchPlan, events: Sequence[Event]) -> list[dict[str, Any]]:
    """What the definition gives, as results without their ids."""
    return [described(made, match) for match in answers(asked(made), events)]


def whole(event: Bound) -> dict[str, Any]:
    """An event in a result: under an inferred schema without what is null."""
    there = {name: value for name, value in event.attributes.items() if value is not None}
    return {"seq": event.seq, "ts": event.ts, "type": event.type, **there}


def described(made: MatchPlan, match: Match) -> dict[str, Any]:
    """A match as a result, without its id."""
    parts = {
        component.variable: [whole(event) for event in part] if component.closure else whole(part[0])
        for component, part in zip(made.components, match.parts, strict=True)
    }
    first, last = match.events()[0], match.events()[-1]
    return {
        "query": "q",
        "partition": 3,
        "key": key_values(made.key, first),
        "start": first.ts,
        "end": last.ts,
        "window": None if match.window is None else list(match.window),
        "events": parts,
        "return": returned(asked(made), match),
    }


def parsed(texts: Sequence[bytes]) -> list[dict[str, Any]]:
    """Results without their ids, which must all differ."""
    objects = [orjson.loads(text) for text in texts]
    assert len({thing["id"] for thing in objects}) == len(objects)
    return [{name: part for name, part in thing.items() if name != "id"} for thing in objects]


def key_values(names: Sequence[str], event: Bound) -> dict[str, Any]:
    """A key as a result has it: its attributes and functions, by their text."""
    shown = {name: attribute_shown(name) for name in names}
    return {text: event.get(name if name == text else f"={text}") for name, text in shown.items()}
