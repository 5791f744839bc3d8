"""Sums of a batch's observations of features (papers G2), computed by Spark so that the driver gets no raw record.

One row for each (topic, partition, kind, query, its version, specification, half, key, cell):

    kind "occurrence"     key = a key of features; count
    kind "begun"          key = that of a match's first event; count = such matches
    kind "refusing"       key = that of events that a NOT may refuse by; count
    kind "met"            count = partial matches alive when an event came, summed over events
    kind "match"          key = keys of a match's events, ascending, by commas; count = weight in parts of one
    kind "position"       a = code of a kind, b = bin; count = contributions, occurred = occurrences
    kind "vector"         key = a key of features; text = its vector, by commas
    kind "specification"  text = the specification, as JSON
    kind "message"        one for each message, valid or not

`half`: 0 or 1, one of two halves of the observations, which are counted separately to measure chance. A hash of a
message's offset decides, as queries may take turns in a partition. `next_offset`: one past the greatest offset in the
group. Values that cannot be a count are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from saffron.engine.models.features.feature_counts import WEIGHT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OCCURRENCE, MATCH, POSITION = "occurrence", "match", "position"
BEGUN, REFUSING, MET = "begun", "refusing", "met"
VECTOR, SPECIFICATION, MESSAGE = "vector", "specification", "message"

_MOST = 1 << 50
"""The largest number accepted in a message, so that sums never overflow."""
_LONGEST = 256
"""Most events of a match that is accepted."""

_SCHEMA = (
    "query string, query_version bigint, spec string, specification string, occurrences map<string, bigint>,"
    " matches array<array<string>>, weight double, features map<string, array<int>>,"
    " positions array<array<bigint>>, met bigint, begun map<string, bigint>, refusing map<string, bigint>"
)
_FIELDS = "'{kind}' as kind, {key} as key, {text} as text, {a} as a, {b} as b, {count} as count, {occurred} as occurred"


def _cell(kind: str, *, key: str = "''", text: str = "''", a: str = "0L", b: str = "0L", count: str = "1L") -> str:
    """The SQL of a cell's struct. Arguments are SQL expressions."""
    occurred = "get(c, 3)" if kind == POSITION else "0L"
    return f"struct({_FIELDS.format(kind=kind, key=key, text=text, a=a, b=b, count=count, occurred=occurred)})"


def _each(column: str, cell: str) -> str:
    """The SQL that makes a cell of each element of an array column; `c` is the element."""
    return f"transform(coalesce({column}, array()), c -> {cell})"


_PARTS = f"cast(round(coalesce(o.weight, 1D) * {WEIGHT}) as bigint)"
_CELLS = ", ".join(
    (
        f"array({_cell(MESSAGE)})",
        f"array({_cell(SPECIFICATION, text='coalesce(o.specification, chr(0))')})",
        f"array({_cell(MET, count='coalesce(o.met, 0L)')})",
        _each("map_entries(o.occurrences)", _cell(OCCURRENCE, key="c.key", count="c.value")),
        _each("map_entries(o.begun)", _cell(BEGUN, key="c.key", count="c.value")),
        _each("map_entries(o.refusing)", _cell(REFUSING, key="c.key", count="c.value")),
        _each("o.matches", _cell(MATCH, key="array_join(array_sort(c), ',')", count=_PARTS)),
        _each("o.positions", _cell(POSITION, a="get(c, 0)", b="get(c, 1)", count="get(c, 2)")),
        _each("map_entries(o.features)", _cell(VECTOR, key="c.key", text="array_join(c.value, ',')")),
    )
)
_KEYS = rf"^[0-9]{{1,20}}(,[0-9]{{1,20}}){{0,{_LONGEST - 1}}}$"
_GOOD = f"""
count between 0 and {_MOST} and occurred between 0 and {_MOST} and a between 0 and 32767 and b between 0 and 32767
and (kind not in ('{OCCURRENCE}', '{BEGUN}', '{REFUSING}', '{MATCH}', '{VECTOR}') or key rlike '{_KEYS}')
and (kind != '{SPECIFICATION}' or text like '{{%')
"""
_GROUP = "topic, partition, kind, query, query_version, spec, half, key, a, b"


@dataclass(frozen=True)
class FeatureRow:
    """A row, as in the module's docstring; `query`, `query_version` and `spec` are None if the message has none."""

    topic: str
    partition: int
    kind: str
    query: str | None
    query_version: int | None
    spec: str | None
    half: int
    key: str
    a: int
    b: int
    count: int
    occurred: int
    text: str
    next_offset: int


def summed(records: DataFrame) -> DataFrame:
    """The rows of a batch of Kafka records. No content of a message makes it fail."""
    from pyspark.sql import functions as f

    parsed = records.selectExpr("topic", "partition", "offset", f"from_json(cast(value as string), '{_SCHEMA}') as o")
    cells = parsed.selectExpr(
        "topic", "partition", "offset", "o.query as query", "o.query_version as query_version", "o.spec as spec",
        "cast(pmod(xxhash64(offset), 2L) as int) as half", f"inline(concat({_CELLS}))",
    )  # fmt: skip
    good = cells.where(f"kind = '{MESSAGE}' or coalesce({_GOOD}, false)")
    grouped: Any = good.groupBy(*_GROUP.split(", "))
    rows: DataFrame = grouped.agg(
        f.expr("coalesce(try_sum(count), 0L)").alias("count"),
        f.expr("coalesce(try_sum(occurred), 0L)").alias("occurred"),
        f.expr("max(text)").alias("text"),
        f.expr("max(offset) + 1").alias("next_offset"),
    )
    return rows


def collected(records: DataFrame) -> list[FeatureRow]:
    """`summed`, collected to the driver in an order that is equal for equal batches."""
    rows = [FeatureRow(*row) for row in summed(records).collect()]
    return sorted(rows, key=repr)
