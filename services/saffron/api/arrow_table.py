"""Results of one query as an Arrow table.

Matches:  id, query, partition, start, end, [window_start, window_end,] [key,] events, [return]
Trends:   id, query, partition, window_start, window_end, [group,] return, exact

Times are int64 ms since 1970 UTC. `key`, `group`, `return` and `events` are structs; in `events` each variable is a
struct of its event, or a list of them, with the attributes of its type. An imprecise `ts` is a list of the earliest
and the latest instant. Members that only some results have (confidence, timeout) are the last columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
        event = pa.struct(
            [
                ("seq", pa.int64()),
                ("ts", pa.list_(pa.int64()) if imprecise else pa.int64()),
                ("type", pa.string()),
                *((name, _type(schema.kinds[name])) for name in schema.attributes_of_any(component.types)),
            ]
        )
        kind = pa.list_(event) if component.closure else event
        kinds = {name: schema.kinds[name] for name in schema.attributes_of_any(component.types)}
        values = [_held_all(row.get("events", {}).get(component.variable), kinds) for row in rows]
        bound[component.variable] = pa.array([_spread(value) for value in values] if imprecise else values, kind)
    return columns | {"events": _struct(bound, len(rows))}


def _events(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for bound in row.get("events", {}).values():
        yield from bound if isinstance(bound, list) else [bound] if bound else []


def _held_all(bound: Any, kinds: Mapping[str, Kind]) -> Any:
    """A bound event, or list of events, with each value converted for the column of its kind."""
    if isinstance(bound, list):
        return [_held_all(event, kinds) for event in bound]
    if bound is None:
        return None
    return {name: _held(value, kinds.get(name)) for name, value in bound.items()}


def _held(value: Any, kind: Kind | None) -> Any:
    """A value as the column of its kind holds it."""
    if value is None or kind not in (Kind.FLOAT, Kind.NUMBER, Kind.ARRAY):
        return value
    return float(value) if kind is Kind.FLOAT else orjson.dumps(value).decode()


def _type(kind: Kind) -> pa.DataType:
    alias: Any = kind.table_type
    found: pa.DataType = pa.type_for_alias(alias)
    return found


def _spread(bound: Any) -> Any:
    """A bound event, or list of events, with each time as an interval."""
    if isinstance(bound, list):
        return [_spread(event) for event in bound]
    if bound is None or isinstance(bound["ts"], list):
        return bound
    return {**bound, "ts": [bound["ts"], bound["ts"]]}


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
    members = {
        (shown := attribute_shown(attribute)): pa.array(
            [_held(row[name].get(shown), _kind_of(attribute, schema)) for row in rows],
            own.get(attribute) or _kind(attribute, schema),
        )
        for attribute in attributes
    }
    return _struct(members, len(rows))


def _kind_of(attribute: str, schema: Schema) -> Kind | None:
    one = Computed.of_name(attribute)
    return schema.kinds.get(attribute) if one is None else one.kind


def _kind(attribute: str, schema: Schema) -> pa.DataType:
    kind = _kind_of(attribute, schema)
    return pa.string() if kind is None else _type(kind)


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
    """The types to try, in order, for values of a kind."""
    return (pa.int64(), pa.float64(), pa.string()) if kind is Kind.NUMBER else (_type(kind),)


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
