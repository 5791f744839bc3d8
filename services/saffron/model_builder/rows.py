"""What Spark computes of a batch: the observations' cells, summed, so that the driver sees no raw row.

One row for each (topic, partition, kind, identity, cell):

    kind "transition"   a = state before, b = state after; count
    kind "processing"   a = bin of partial matches; count = events, load = events * partial matches, time (ns)
    kind "shedding"     the same, for drop orders
    kind "message"      count = events applied, time = ms lived by partial matches; one of each message, good or not
    kind "refused"      cells with numbers that no count can be; they are counted in `messages` only

`next_offset` is one past the greatest offset in the group. A message that is no JSON, or has other fields, has nulls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from saffron.engine.models.latency import BINS_PER_OCTAVE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TRANSITION, PROCESSING, SHEDDING = "transition", "processing", "shedding"
MESSAGE, REFUSED = "message", "refused"

_MOST = 1 << 50
"""No number in one message is larger (13 days in ns): sums of good messages stay far from overflow."""

_SCHEMA = (
    "query string, query_version bigint, stream string, states bigint, window struct<size: bigint, events: boolean>,"
    " events bigint, lived bigint, transitions array<array<bigint>>, processing array<array<bigint>>,"
    " shedding array<array<bigint>>"
)
_NONE = "array()"
_SANE = f"if({{0}} between 0 and {_MOST}, {{0}}, 0L)"
_GOOD = f"a >= 0 and count between 1 and {_MOST} and load between 0 and {_MOST} and time between 0 and {_MOST}"
_CELLS = f"""
concat(
    array(struct('{MESSAGE}' as kind, 0L as a, 0L as b, {_SANE.format("o.events")} as count, 0L as load,
        {_SANE.format("o.lived")} as time)),
    transform(coalesce(o.transitions, {_NONE}), c -> struct('{TRANSITION}' as kind,
        get(c, 0) as a, get(c, 1) as b, get(c, 2) as count, 0L as load, 0L as time)),
    transform(coalesce(o.processing, {_NONE}), c -> struct('{PROCESSING}' as kind,
        {{bin}} as a, 0L as b, get(c, 1) as count, try_multiply(get(c, 0), get(c, 1)) as load, get(c, 2) as time)),
    transform(coalesce(o.shedding, {_NONE}), c -> struct('{SHEDDING}' as kind,
        {{bin}} as a, 0L as b, get(c, 1) as count, try_multiply(get(c, 0), get(c, 1)) as load, get(c, 2) as time))
)
""".replace("{bin}", f"if(get(c, 0) < 1, 0L, 1L + cast(floor({BINS_PER_OCTAVE} * log2(get(c, 0))) as bigint))")
_GROUP = "topic, partition, kind, query, query_version, stream, states, size, in_events, a, b"


@dataclass(frozen=True)
class Row:
    """One row as above; numbers are None where the message had none."""

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


def summed(records: DataFrame) -> DataFrame:
    """The rows of a batch of Kafka records. Nothing that a message holds makes it fail: it gives nulls instead."""
    from pyspark.sql import functions as f

    parsed = records.selectExpr("topic", "partition", "offset", f"from_json(cast(value as string), '{_SCHEMA}') as o")
    cells = parsed.selectExpr(
        "topic", "partition", "offset", "o.query as query", "o.query_version as query_version", "o.stream as stream",
        "o.states as states", "o.window.size as size", "o.window.events as in_events", f"inline({_CELLS})",
    )  # fmt: skip
    checked = cells.withColumn("kind", f.expr(f"if(kind = '{MESSAGE}' or coalesce({_GOOD}, false), kind, '{REFUSED}')"))
    sums: Any = checked.groupBy(*_GROUP.split(", "))
    summed: DataFrame = sums.agg(
        *(f.expr(f"try_sum({column})").alias(column) for column in ("count", "load", "time")),
        f.expr("count(1)").alias("messages"),
        f.expr("max(offset) + 1").alias("next_offset"),
    )
    return summed


def collected(records: DataFrame) -> list[Row]:
    """`summed`, brought to the driver in an order that is the same for equal batches."""
    rows = [Row(*row) for row in summed(records).collect()]
    return sorted(rows, key=repr)
