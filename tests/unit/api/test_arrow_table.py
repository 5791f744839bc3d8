"""Columns of aggregate queries: numbers by their kind, as strings where they are beyond what columns hold."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from saffron.api.arrow_table import table_of
from saffron.language import parse
from saffron.language.scope.scope import Scope
from saffron.language.trends.plan import bind_trend
from tests.unit.language.samples import LETTERS

RETURN = "COUNT(*) AS n, SUM(A.y) AS total, AVG(A.x) AS mean, COUNT(*) * 2 AS twice, COUNT(*) > 3 AS many"


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
