"""Plans from patterns, and blocks from lists of events, for the tests of trends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.schema import NULL_INT, Kind, Schema
from saffron.engine.events.schema_record import schema_to_record
from saffron.language.plan import (
    Component,
    Expr,
    ReturnItem,
    Strategy,
    Template,
    Transition,
    TrendAggregate,
    TrendPlan,
    TrendState,
    TrendValue,
    Window,
)
from tests.reference.trends import Leaf, Pattern, Plus

KINDS = {"k": Kind.STRING, "g": Kind.INT, "x": Kind.FLOAT, "n": Kind.INT, "f": Kind.BOOL, "h": Kind.FLOAT}
SCHEMA = Schema(KINDS, {name: tuple(KINDS) for name in "ABCD"}, {name: frozenset() for name in "ABCD"})


def leaves(pattern: Pattern) -> list[Leaf]:
    if isinstance(pattern, Leaf):
        return [pattern]
    parts = (pattern.body,) if isinstance(pattern, Plus) else pattern.parts
    return [leaf for part in parts for leaf in leaves(part)]


def template(pattern: Pattern) -> tuple[int, int, set[tuple[int, int]]]:
    """Algorithm 1 of GRETA: first state, last state, transitions."""
    if isinstance(pattern, Leaf):
        return pattern.number, pattern.number, set()
    if isinstance(pattern, Plus):
        first, last, transitions = template(pattern.body)
        return first, last, transitions | {(last, first)}
    first, last, transitions = template(pattern.parts[0])
    for part in pattern.parts[1:]:
        start, end, more = template(part)
        transitions = transitions | more | {(last, start)}
        last = end
    return first, last, transitions


def text_of(pattern: Pattern) -> str:
    if isinstance(pattern, Leaf):
        return f"{pattern.type} v{pattern.number}"
    if isinstance(pattern, Plus):
        return f"({text_of(pattern.body)})+"
    return f"SEQ({', '.join(text_of(part) for part in pattern.parts)})"


def plan_of(
    pattern: Pattern,
    window: Window,
    *,
    name: str = "q",
    key: tuple[str, ...] = (),
    group: tuple[str, ...] = (),
    strict: bool = False,
    local: Mapping[int, Expr] | None = None,
    edge: Mapping[tuple[int, int], Expr] | None = None,
) -> TrendPlan:
    first, last, transitions = template(pattern)
    states = leaves(pattern)
    local, edge = local or {}, edge or {}
    return TrendPlan(
        name=name,
        text=f"{text_of(pattern)} {window} {key} {group} {strict} {local} {edge}",
        stream="events",
        components=tuple(Component(f"v{s.number}", s.type, closure=False) for s in states),
        template=Template(
            tuple(TrendState(s.number, start=s.number == first, end=s.number == last) for s in states),
            tuple(
                Transition(source, target, (edge[source, target],) if (source, target) in edge else ())
                for source, target in sorted(transitions)
            ),
            tuple((local[s.number],) if s.number in local else () for s in states),
        ),
        strategy=Strategy.ANY,
        strict=strict,
        key=key,
        group=group,
        window=window,
        aggregates=(TrendAggregate("count", None, None, None),),
        returns=(ReturnItem("COUNT(*)", TrendValue(0, Kind.INT)),),
    )


def column(kind: Kind, values: Sequence[Any]) -> Column:
    if kind is Kind.STRING:
        distinct = tuple(dict.fromkeys(value for value in values if value is not None))
        codes = [-1 if value is None else distinct.index(value) for value in values]
        return Column(kind, np.array(codes, dtype=np.int32), distinct)
    if kind is Kind.FLOAT:
        return Column(kind, np.array([np.nan if value is None else value for value in values], dtype=np.float64))
    if kind is Kind.INT:
        return Column(kind, np.array([NULL_INT if value is None else value for value in values], dtype=np.int64))
    return Column(kind, np.array([-1 if value is None else value for value in values], dtype=np.int8))


def columns_of(events: Sequence[Mapping[str, Any]], kinds: Mapping[str, Kind] = KINDS) -> Columns:
    return Columns(
        seq=np.array([event["seq"] for event in events], dtype=np.int64),
        ts=np.array([event["ts"] for event in events], dtype=np.int64),
        time=np.array([event.get("time", 0) for event in events], dtype=np.int64),
        type=column(Kind.STRING, [event["type"] for event in events]),
        attributes={name: column(kind, [event.get(name) for event in events]) for name, kind in kinds.items()},
    )


def block_of(
    events: Sequence[Mapping[str, Any]],
    first: int,
    stop: int,
    *,
    watermark: int,
    end: bool = False,
    controls: tuple[Control, ...] = (),
    opened: Mapping[str, tuple[int, ...]] | None = None,
    kinds: Mapping[str, Kind] = KINDS,
) -> Block:
    """The block of positions first..stop-1; `events` are all of the stream, some may be missing (dropped whole)."""
    inside = [event for event in events if first <= event["seq"] < stop]
    return Block(
        columns=columns_of(inside, kinds),
        first_seq=first,
        next_seq=stop,
        watermark=watermark,
        end=end,
        controls=controls,
        opened=opened or {},
    )


def schema_control(position: int = 0, schema: Schema = SCHEMA) -> Control:
    return Control(position, "schema", {"schema": schema_to_record(schema)})


def query_control(
    name: str, position: int = 0, *, op: str = "add", text: str = "", slot: int = 0, since: str = "now"
) -> Control:
    body = {"op": op, "name": name, "version": 1, "text": text or name, "slot": slot, "from": since}
    return Control(position, "query", body)


def stream(text: str) -> list[dict[str, Any]]:
    """Events from the paper's notation: `a1 b2 c2` is A at 1, B at 2, C at 2."""
    return [
        {"seq": seq, "ts": int(word[1:]), "type": word[0].upper(), "time": seq + 100}
        for seq, word in enumerate(text.split())
    ]
