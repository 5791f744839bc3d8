"""Results of one query as an Arrow table.

Matches:  id, query, partition, start, end, [window_start, window_end,] [key,] events, [return]
Trends:   id, query, partition, window_start, window_end, [group,] return, exact

Times are int64 ms since 1970 UTC. `key`, `group`, `return` and `events` are structs; in `events` each variable is a
struct of its event, or a list of them, with the attributes of its type. An imprecise `ts` is a list of the earliest
and the latest instant. Members that only some results have (confidence, timeout) are the last columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import orjson
import pyarrow as pa

from saffron.language.plan.expressions import (
    Aggregate,
    Attribute,
    Binary,
    Call,
    Const,
    Expr,
    GroupValue,
    In,
    Length,
    TrendValue,
    Unary,
)
from saffron.language.plan.formulas import attribute_shown
from saffron.language.plan.match_plan import MatchPlan
from saffron.language.plan.plan import Plan
from saffron.schema.computed import Computed
from saffron.schema.numbers import digits
from saffron.schema.schema import Kind, Schema

Column: TypeAlias = "pa.Array[Any]"
Rows = Sequence[Mapping[str, Any]]

_NUMBERS = (Kind.INT, Kind.LONG, Kind.FLOAT)
_WINDOW = ("window_start", "window_end")
_KNOWN = {"id", "query", "partition", "start", "end", "window", "key", "group", "events", "return", "exact"}


def table_of(rows: Rows, plan: Plan, schema: Schema) -> pa.Table:
    """The table of a query's results. `rows`: their JSON form."""
    columns: dict[str, Column] = {
        "id": _array(rows, "id", pa.string()),
        "query": _array(rows, "query", pa.string()),
        "partition": _array(rows, "partition", pa.int32()),
    }
    columns |= _matches(rows, plan, schema) if isinstance(plan, MatchPlan) else _trends(rows, plan.group, schema)
    huge = () if isinstance(plan, MatchPlan) else (pa.string(),)  # numbers beyond 63 bits are decimal strings
    returned = [(item.name, (*_types(item.expr), *huge)) for item in plan.returns]
    if returned:
        columns["return"] = _struct(
            {name: fitting([row.get("return", {}).get(name) for row in rows], types) for name, types in returned},
            len(rows),
        )
    if not isinstance(plan, MatchPlan):
        columns["exact"] = _array(rows, "exact", pa.bool_())
    for name in dict.fromkeys(name for row in rows for name in row if name not in _KNOWN):
        columns[name] = _inferred([row.get(name) for row in rows])
    return pa.table(columns)


def _matches(rows: Rows, plan: MatchPlan, schema: Schema) -> dict[str, Column]:
    """The columns of match results."""
    columns = {name: _array(rows, name, pa.int64()) for name in ("start", "end")}
    if plan.window.slide is not None or plan.window.opens is not None:
        columns |= _window(rows)
    if plan.key:
        columns["key"] = _members(rows, "key", plan.key, schema)
    if plan.delivery.values:
        return columns
    imprecise = any(isinstance(event["ts"], list) for row in rows for event in _events(row))
    bound = {}
    for component in plan.components[: plan.positive]:
        kinds = {name: schema.kinds[name] for name in schema.attributes_of_any(component.types)}
        values = [row.get("events", {}).get(component.variable) for row in rows]
        if component.closure:
            bound[component.variable] = _lists(values, kinds, imprecise=imprecise)
        else:
            bound[component.variable] = _structs(values, kinds, imprecise=imprecise)
    return columns | {"events": _struct(bound, len(rows))}


def _lists(bound: Sequence[Any], kinds: Mapping[str, Kind], *, imprecise: bool) -> Column:
    """The column of lists of events; None: the variable is not bound."""
    flat = [event for events in bound for event in events or ()]
    ends = list(accumulate((len(events or ()) for events in bound), initial=0))
    offsets = [None if events is None else begin for events, begin in zip(bound, ends, strict=False)]
    return pa.ListArray.from_arrays(
        pa.array([*offsets, ends[-1]], pa.int32()), _structs(flat, kinds, imprecise=imprecise)
    )


def _structs(events: Sequence[Any], kinds: Mapping[str, Kind], *, imprecise: bool) -> Column:
    """The column of events, with the attributes of these kinds; None: the variable is not bound."""

    def values(name: str) -> list[Any]:
        return [None if event is None else event.get(name) for event in events]

    times = [[ts, ts] if imprecise and isinstance(ts, int) else ts for ts in values("ts")]
    members: dict[str, Column] = {
        "seq": pa.array(values("seq"), pa.int64()),
        "ts": pa.array(times, pa.list_(pa.int64()) if imprecise else pa.int64()),
        "type": pa.array(values("type"), pa.string()),
        **{name: _of_kind(values(name), kind) for name, kind in kinds.items()},
    }
    mask = pa.array([event is None for event in events], pa.bool_())
    return pa.StructArray.from_arrays(list(members.values()), names=list(members), mask=mask)


def _events(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for bound in row.get("events", {}).values():
        yield from bound if isinstance(bound, list) else [bound] if bound else []


def _of_kind(values: list[Any], kind: Kind) -> Column:
    """The column of an attribute's values, which may be other numbers than those that its kind was inferred of."""
    if kind in (Kind.NUMBER, Kind.ARRAY):
        return pa.array([None if value is None else orjson.dumps(value).decode() for value in values], _type(kind))
    return fitting(values, _tried(kind))


def _type(kind: Kind) -> pa.DataType:
    alias: Any = kind.table_type
    found: pa.DataType = pa.type_for_alias(alias)
    return found


def _trends(rows: Rows, group: Sequence[str], schema: Schema) -> dict[str, Column]:
    columns = _window(rows)
    if group:
        columns["group"] = _members(rows, "group", group, schema)
    return columns


def _window(rows: Rows) -> dict[str, Column]:
    return {name: pa.array([row["window"][i] for row in rows], pa.int64()) for i, name in enumerate(_WINDOW)}


def _members(rows: Rows, name: str, attributes: Sequence[str], schema: Schema) -> Column:
    """The struct column of a key or group."""
    own = {"ts": pa.int64(), "type": pa.string()}
    members: dict[str, Column] = {}
    for attribute in attributes:
        shown, kind = attribute_shown(attribute), _kind_of(attribute, schema)
        values = [row[name].get(shown) for row in rows]
        if attribute in own or kind is None:
            members[shown] = pa.array(values, own.get(attribute, pa.string()))
        else:
            members[shown] = _of_kind(values, kind)
    return _struct(members, len(rows))


def _kind_of(attribute: str, schema: Schema) -> Kind | None:
    one = Computed.of_name(attribute)
    return schema.kinds.get(attribute) if one is None else one.kind


def _array(rows: Rows, name: str, kind: pa.DataType) -> Column:
    return pa.array([row[name] for row in rows], kind)


def _struct(members: Mapping[str, Column], size: int) -> Column:
    if not members:
        return pa.nulls(size)
    return pa.StructArray.from_arrays(list(members.values()), names=list(members))


def _types(expr: Expr) -> tuple[pa.DataType, ...]:
    """The types to try, in order, for an item of RETURN."""
    match expr:
        case Attribute(kind=kind) | GroupValue(kind=kind) | TrendValue(kind=kind) | Call(kind=kind):
            return _tried(kind)
        case Aggregate(function="count") | Length():
            return (pa.int64(),)
        case Aggregate(function="first" | "last" | "min" | "max", kind=kind) if kind is not None:
            return _tried(kind)
        case Aggregate(function="sum"):
            return (pa.int64(), pa.float64()) if expr.kind is not None and expr.kind.is_whole else (pa.float64(),)
        case In() | Unary(operator="not") | Binary(operator="and" | "or" | "=" | "!=" | "<" | "<=" | ">" | ">="):
            return (pa.bool_(),)
        case Const(value=None):
            return (pa.null(),)
        case Const(value=value):
            return (_typed([value], None).type,)
    return (pa.float64(),)


def _tried(kind: Kind) -> tuple[pa.DataType, ...]:
    """The types to try, in order, for values of a kind. Numbers that come later may be others than the first ones."""
    numbers = (pa.int64(), pa.float64(), pa.string())
    if kind is Kind.NUMBER:
        return numbers
    own = _type(kind)
    return tuple(dict.fromkeys((own, *numbers))) if kind in _NUMBERS else (own,)


def fitting(values: list[Any], types: Sequence[pa.DataType]) -> Column:
    """The column in the first type that fits all values; for the last type they are converted."""
    for kind in types[:-1]:
        if not all(value is None or _fits(value, kind) for value in values):
            continue
        try:
            return _typed(values, kind)
        except (pa.ArrowException, OverflowError, TypeError):
            continue
    last = types[-1]
    convert: Callable[[Any], Any] = (
        _text if pa.types.is_string(last) else float if pa.types.is_floating(last) else _same
    )
    return _typed([None if value is None else convert(value) for value in values], last)


def _fits(value: Any, kind: pa.DataType) -> bool:
    """True if a type of numbers holds the value as it is; others are left to Arrow.

    Arrow cuts off fractions in silence, and makes no float64 of an integer beyond 2^53, though results show a float64
    that is whole as one.
    """
    if pa.types.is_integer(kind):
        return type(value) is int
    if pa.types.is_floating(kind):
        return type(value) is float or (type(value) is int and abs(value) < 2**63 and float(value) == value)
    return True


def _typed(values: list[Any], kind: pa.DataType | None) -> Column:
    """The column of values in a type; None: the one that Arrow infers."""
    if kind is not None and pa.types.is_floating(kind):
        values = [float(value) if type(value) is int else value for value in values]
    column: Column = pa.array(values, kind)
    return column


def _text(value: Any) -> str:
    """A value as text; arrays, objects and truth values as JSON."""
    if isinstance(value, list | dict | bool):
        return orjson.dumps(value).decode()
    return digits(value) if isinstance(value, int) else str(value)


def _same(value: Any) -> Any:
    return value


def _inferred(values: list[Any]) -> Column:
    """The column of a member that no plan describes; mixed values become JSON text."""
    try:
        return _typed(values, None)
    except (pa.ArrowException, OverflowError, TypeError):
        return _typed([None if value is None else orjson.dumps(value).decode() for value in values], pa.string())
