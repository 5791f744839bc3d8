"""Columns of aggregate queries: numbers by their kind, as strings where they are beyond what columns hold."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import saffron
from saffron.api.arrow_table import fitting, table_of
from saffron.language import parse
from saffron.language.scope.scope import Scope
from saffron.language.trends.plan import bind_trend
from tests.unit.language.samples import LETTERS

RETURN = "COUNT(*) AS n, SUM(A.y) AS total, AVG(A.x) AS mean, COUNT(*) * 2 AS twice, COUNT(*) > 3 AS many"

INTEGERS_FIRST = (pa.int64(), pa.float64(), pa.string())
FLOATS = (pa.float64(), pa.string())


def returned(rows: list[dict[str, Any]]) -> pa.Array[Any]:
    text = f"PATTERN A+ WITHIN 1 h RETURN {RETURN}"
    plan = bind_trend(parse(text), Scope(text, LETTERS, lenient=False), "q")
    common = {"id": "1", "query": "q", "partition": 0, "window": [0, 1], "group": {}, "exact": True}
    return table_of([{**common, "return": row} for row in rows], plan, LETTERS)["return"].combine_chunks()


def test_numbers_have_the_type_of_their_kind() -> None:
    column = returned([{"n": 3, "total": 5, "mean": 1.5, "twice": 6, "many": False}])
    assert [field.type for field in column.type] == [pa.int64(), pa.int64(), pa.float64(), pa.float64(), pa.bool_()]


@pytest.mark.parametrize("huge", ["1.2e+400", 2**70])
def test_numbers_beyond_63_bits_are_decimal_strings(huge: str | int) -> None:
    small = {"n": 3, "total": None, "mean": None, "twice": 6, "many": None}
    column = returned([small, {"n": huge, "total": huge, "mean": 2.5, "twice": huge, "many": True}])
    assert [row and row["n"] for row in column.to_pylist()] == ["3", str(huge)]
    assert [str(field.type) for field in column.type][:3] == ["string", "string", "double"]


_NUMBERS = st.one_of(st.none(), st.integers(-(2**62), 2**62), st.integers(-3, 3), st.floats(-1e6, 1e6))


@given(st.lists(_NUMBERS, min_size=1, max_size=4), st.sampled_from([INTEGERS_FIRST, FLOATS]))
@example([0.5], INTEGERS_FIRST)
@example([0.25, 10**17], FLOATS)
def test_no_number_changes_its_value(values: list[Any], types: tuple[pa.DataType, ...]) -> None:
    """The first type that holds all values exactly; else their digits as text."""
    column = fitting(values, types)
    found = column.to_pylist()
    if column.type == pa.string():
        assert found == [None if one is None else str(one) for one in values]
        whole = [one for one in values if type(one) is int]
        assert any(float(one) != one for one in whole), "float64 would have held them"
    else:
        assert found == values


@pytest.mark.parametrize("first", [5, 0.5])
@pytest.mark.parametrize("later", [[1.5, -0.5], [2**53 + 1], [2**53 + 1, 1.5], [2**63, 1], [1e300], [2.0, 3]])
def test_what_came_first_fixes_no_column(first: float, later: list[float]) -> None:
    """The schema is inferred from the first 10,000 events."""
    events = [{"type": "A", "ts": at, "x": first} for at in range(10_000)]
    events += [{"type": "A", "ts": 20_000 + at, "x": value} for at, value in enumerate(later)]
    one = saffron.replay("PATTERN A a WHERE [x] AND a.ts >= 20000 WITHIN 1 ms RETURN a.x AS x", events)
    many = saffron.replay(
        "PATTERN A+ a[] WHERE strict-contiguity { a.len = 1 AND a[1].ts >= 20000 } WITHIN 1 s", events
    )
    groups = saffron.replay(
        "PATTERN A WHERE A.ts >= 20000 GROUP BY x WITHIN 1 day RETURN COUNT(*), MAX(A.x) AS x", events
    )
    tables = [found.to_arrow() for found in (one, many, groups)]
    columns: list[list[Any]] = [
        tables[0]["return"].to_pylist(),
        tables[0]["key"].to_pylist(),
        [row["a"] for row in tables[0]["events"].to_pylist() if row],
        [row["a"][0] for row in tables[1]["events"].to_pylist() if row],
        tables[2]["group"].to_pylist(),
        tables[2]["return"].to_pylist(),
    ]
    for column in columns:
        assert len(column) == len(later)
        assert sorted(float(row["x"]) for row in column) == sorted(map(float, later))
        assert {str(row["x"]) for row in column} <= {
            str(number) for one in later for number in (one, int(one), float(one))
        }
