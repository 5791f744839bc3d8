"""Values of aggregates as results show them: all rows at once say what each says by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.events.json_pieces import Pieces, cut
from saffron.engine.trends.core.layout import O_WORDS
from saffron.engine.trends.core.measures import Measures, measures_of
from saffron.engine.trends.values.returns import Returns, Rows
from saffron.language import compile_query
from saffron.language.plan.trend_plan import TrendPlan
from saffron.schema.schema import Kind, Schema

SCHEMA = Schema({"n": Kind.INT, "x": Kind.FLOAT}, {"A": ("n", "x")}, {"A": frozenset()})
COUNTS = st.integers(0, 9) | st.integers(0, 2**62) | st.integers(2**53 - 3, 2**53 + 3)
SUMS = COUNTS | COUNTS.map(lambda n: -n)
SCALES = st.just(0) | st.integers(-12, 12) | st.integers(-2200, 2200)
EXTREMES = st.sampled_from([0.0, -0.0, 7.0, -2.0, np.inf, -np.inf, 2.0**60]) | st.integers(-9, 9).map(float)


def rows(draw: st.DrawFn, measures: Measures) -> Rows:
    count = draw(st.integers(1, 5))
    numbers = np.zeros((count, len(measures.numbers)), np.int64)
    scales = np.zeros(numbers.shape, np.int32)
    plain = draw(st.booleans())
    for at, measure in enumerate(measures.numbers):
        counted = measure.function == "count"
        numbers[:, at] = [draw(COUNTS if counted else SUMS) for _ in range(count)]
        if not plain:
            scales[:, at] = [abs(draw(SCALES)) if counted else draw(SCALES) for _ in range(count)]
    extremes = np.array([[draw(EXTREMES) for _ in measures.extremes] for _ in range(count)])
    return Rows(np.zeros((count, O_WORDS), np.int64), numbers, scales, extremes.reshape(count, -1))


def written(returns: Returns, some: Rows) -> list[tuple[bytes, bool]]:
    pieces = Pieces()
    columns, exact = returns.columns(some, [()], np.zeros(len(some.out), np.int64), pieces)
    return list(zip(cut(*pieces.join(np.stack(columns, axis=1))), exact.tolist(), strict=True))


@pytest.mark.parametrize(
    "item", ["COUNT(*)", "SUM(A.n)", "SUM(A.x)", "AVG(A.n)", "AVG(A.x)", "MIN(A.n)", "MAX(A.n)", "MIN(A.x)", "MAX(A.x)"]
)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_all_at_once_is_one_by_one(item: str, data: st.DataObject) -> None:
    plan = compile_query(f"RETURN {item} PATTERN A+ WITHIN 9 ms", SCHEMA, name="q")
    assert isinstance(plan, TrendPlan)
    measures = measures_of(plan)
    some = data.draw(st.composite(rows)(measures))
    returns = Returns(plan, measures, ())
    beside = Returns(plan, measures, ())
    beside._aggregates[0].column = lambda rows: None  # type: ignore[method-assign]
    assert written(returns, some) == written(beside, some)
