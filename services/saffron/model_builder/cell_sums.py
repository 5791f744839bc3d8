"""Sums of a batch's observations by cell, computed by Spark so that the driver gets no raw record.

One row for each (topic, partition, kind, identity, cell):

    kind "transition"   a = state before, b = state after; count
    kind "sample"       of times (P2): a message with a time; count = samples, time = their ns
    kind "timed"        a, b: a transition in samples; count, total = sum of count * ns of a sample
    kind "product"      a, b and c, d: two transitions in samples, or twice the same; total = sum of count * count
    kind "followed"     a = state, b = fold and age; count, time = SHARES * matches (see models.ages)
    kind "processing"   a = bin of partial matches; count = events, load = events * partial matches, time (ns)
    kind "shedding"     the same, for drop orders
    kind "message"      count = events applied, time = ms lived by partial matches; one for each message, valid or not
    kind "refused"      cells with invalid numbers; only their number is kept, in `messages`

`next_offset`: one past the greatest offset in the group. A message that is no JSON, or has other fields, has nulls.
Sums of products are decimals, as they need more than 64 bits; they are exact and independent of order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from saffron.engine.models.transitions.latency import BINS_PER_OCTAVE
from saffron.engine.models.transitions.observations import FORKED
from saffron.engine.models.transitions.transition_costs import MOST_CELLS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TRANSITION, PROCESSING, SHEDDING = "transition", "processing", "shedding"
SAMPLE, TIMED, PRODUCT = "sample", "timed", "product"
FOLLOWED = "followed"
MESSAGE, REFUSED = "message", "refused"

_MOST = 1 << 50
"""The largest number accepted in a message (13 days in ns), so that sums never overflow."""

_SCHEMA = (
    "query string, query_version bigint, stream string, states bigint, window struct<size: bigint, events: boolean>,"
    " events bigint, lived bigint, nanoseconds bigint, transitions array<array<bigint>>,"
    " followed array<array<bigint>>,"
    " processing array<array<bigint>>, shedding array<array<bigint>>"
)
_NONE = "array()"
_SANE = f"if({{0}} between 0 and {_MOST}, {{0}}, 0L)"
_GOOD = f"a >= 0 and count between 1 and {_MOST} and load between 0 and {_MOST} and time between 0 and {_MOST}"
_EXACT = "decimal(16, 0)"
"""The type of numbers up to `_MOST`; a product of two has 33 digits, and 50,000 of them sum up to at most 38."""
_TOTAL = "decimal(33, 0)"
_MOVED = f"transform(coalesce(o.transitions, {_NONE}), c -> struct(get(c, 0) as a, get(c, 1) as b, get(c, 2) as n))"
_IS_SAMPLE = f"""
coalesce(o.nanoseconds between 1 and {_MOST} and size(array_distinct(transform(moved, c -> struct(c.a, c.b))))
    = size(moved), false) and forall(moved, c -> coalesce(c.a >= 0 and c.a < o.states and c.b >= {FORKED}
    and c.b < o.states and c.n between 0 and {_MOST}, false))
"""
_TIMED = f"if({_IS_SAMPLE}, array_sort(filter(moved, c -> c.n > 0 and c.b != {FORKED})), filter(moved, c -> false))"


def _cell(kind: str, **fields: str) -> str:
    """The SQL of a cell's struct: bigints and `total`; fields without a value are 0."""
    numbers = ("a", "b", "c", "d", "count", "load", "time")
    own = ", ".join(f"{fields.get(name, '0L')} as {name}" for name in numbers)
    return f"struct('{kind}' as kind, {own}, cast({fields.get('total', '0')} as {_TOTAL}) as total)"


def _latency(kind: str) -> str:
    """The SQL of the cells of a latency function."""
    at = f"if(get(c, 0) < 1, 0L, 1L + cast(floor({BINS_PER_OCTAVE} * log2(get(c, 0))) as bigint))"
    cell = _cell(kind, a=at, count="get(c, 1)", load="try_multiply(get(c, 0), get(c, 1))", time="get(c, 2)")
    return f"transform(coalesce(o.{kind}, {_NONE}), c -> {cell})"


_CELLS = ", ".join(
    (
        f"array({_cell(MESSAGE, count=_SANE.format('o.events'), time=_SANE.format('o.lived'))})",
        f"transform(moved, c -> {_cell(TRANSITION, a='c.a', b='c.b', count='c.n')})",
        f"if(size(timed) > 0, array({_cell(SAMPLE, count='1L', time='o.nanoseconds')}), {_NONE})",
        "transform(timed, x -> "
        + _cell(TIMED, a="x.a", b="x.b", count="x.n", total=f"cast(x.n as {_EXACT}) * cast(o.nanoseconds as {_EXACT})")
        + ")",
        f"if(size(timed) > {MOST_CELLS}, {_NONE}, flatten(transform(timed, (x, i) -> "
        "transform(slice(timed, i + 1, size(timed)), y -> "
        + _cell(
            PRODUCT,
            a="x.a",
            b="x.b",
            c="y.a",
            d="y.b",
            count="1L",
            total=f"cast(x.n as {_EXACT}) * cast(y.n as {_EXACT})",
        )
        + "))))",
        f"transform(coalesce(o.followed, {_NONE}), c -> "
        + _cell(FOLLOWED, a="get(c, 0)", b="get(c, 1)", count="get(c, 2)", time="get(c, 3)")
        + ")",
        _latency(PROCESSING),
        _latency(SHEDDING),
    )
)
_GROUP = "topic, partition, kind, query, query_version, stream, states, size, in_events, a, b, c, d"


@dataclass(frozen=True)
class Row:
    """A row, as in the module's docstring; numbers are None if the message has none."""

    topic: str
    partition: int
    kind: str
    query: str | None
    query_version: int | None
    stream: str | None
    states: int | None
    size: int | None
    in_events: bool | None
    a: int | None
    b: int | None
    count: int | None
    load: int | None
    time: int | None
    messages: int
    next_offset: int
    c: int | None = 0
    d: int | None = 0
    total: int | None = 0


def summed(records: DataFrame) -> DataFrame:
    """The rows of a batch of Kafka records. No content of a message makes it fail; invalid content gives nulls."""
    from pyspark.sql import functions as f

    parsed = records.selectExpr("topic", "partition", "offset", f"from_json(cast(value as string), '{_SCHEMA}') as o")
    moved = parsed.selectExpr("topic", "partition", "offset", "o", f"{_MOVED} as moved")
    timed = moved.selectExpr("topic", "partition", "offset", "o", "moved", f"{_TIMED} as timed")
    cells = timed.selectExpr(
        "topic", "partition", "offset", "o.query as query", "o.query_version as query_version", "o.stream as stream",
        "o.states as states", "o.window.size as size", "o.window.events as in_events", f"inline(concat({_CELLS}))",
    )  # fmt: skip
    checked = cells.withColumn("kind", f.expr(f"if(kind = '{MESSAGE}' or coalesce({_GOOD}, false), kind, '{REFUSED}')"))
    sums: Any = checked.groupBy(*_GROUP.split(", "))
    summed: DataFrame = sums.agg(
        *(f.expr(f"try_sum({column})").alias(column) for column in ("count", "load", "time", "total")),
        f.expr("count(1)").alias("messages"),
        f.expr("max(offset) + 1").alias("next_offset"),
    ).select(*(one.name for one in fields(Row)))
    return summed


def collected(records: DataFrame) -> list[Row]:
    """`summed`, collected to the driver in an order that is equal for equal batches."""
    return sorted((_row(row) for row in summed(records).collect()), key=repr)


def _row(row: Sequence[Any]) -> Row:
    """A row of Spark's as a `Row`, with decimals as integers of any size."""
    found: list[Any] = [int(field) if isinstance(field, Decimal) else field for field in row]
    return Row(*found)
