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

KINDS = {"n": Kind.INT, "x": Kind.FLOAT, "m": Kind.NUMBER}
SCHEMA = Schema(KINDS, {"A": tuple(KINDS)}, {"A": frozenset()})
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


@pytest.mark.parametrize("exact", ["", " EXACT"])
@pytest.mark.parametrize("function", ["SUM", "AVG"])
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_sums_are_shown_by_their_values_whatever_their_kinds(function: str, exact: str, data: st.DataObject) -> None:
    plans = [compile_query(f"RETURN {function}(A.{name}) PATTERN A+ WITHIN 9 ms{exact}", SCHEMA) for name in KINDS]
    measures = [measures_of(plan) for plan in plans if isinstance(plan, TrendPlan)]
    some = data.draw(st.composite(rows)(measures[0]))
    of_ints, of_floats, of_both = (
        written(Returns(plan, one, ()), some)
        for plan, one in zip(plans, measures, strict=True)
        if isinstance(plan, TrendPlan)
    )
    assert of_ints == of_floats == of_both


@pytest.mark.parametrize(
    ("number", "scale", "exact", "shown"),
    [
        (41, -4, "", b"10.25"),
        (-6, 2, "", b"-12"),
        (-48, -8, "", b"-3"),
        (2**53 + 1, 0, "", b"9007199254740993"),
        (2**54 + 2, -2, "", b"9007199254740993"),
        (2**54 + 1, -2, "", b"9007199254740992"),
        (3, 124, "", b"1.3835058055282164e+19"),
        (3, 124, " EXACT", b"13835058055282163712"),
        (2**63 - 1, 201, "", b"1.1692013098647223e+49"),
        (-(2**63) + 1, 2**20, "", b'"-2.3947291692645208e+157845"'),
        (2**62, 2**23, "", b'"9.5234246538253335e+1262629"'),
    ],
)
def test_sums(number: int, scale: int, exact: str, shown: bytes) -> None:
    plan = compile_query(f"RETURN SUM(A.n) PATTERN A+ WITHIN 9 ms{exact}", SCHEMA, name="q")
    assert isinstance(plan, TrendPlan)
    measures = measures_of(plan)
    summed = [measure.function == "sum" for measure in measures.numbers]
    numbers = np.array([[number if one else 1 for one in summed]], object if exact else np.int64)
    scales = np.array([[scale if one else 0 for one in summed]], np.int32)
    some = Rows(np.zeros((1, O_WORDS), np.int64), numbers, scales, np.zeros((1, 0)))
    [(text, _)] = written(Returns(plan, measures, ()), some)
    assert text == shown


@pytest.mark.parametrize("item", ["COUNT(*)", "SUM(A.n)", "SUM(A.n) + 0"])
def test_exact_numbers_have_all_their_digits(item: str) -> None:
    """Python writes no integer of more than 4,300 by itself."""
    plan = compile_query(f"RETURN {item} PATTERN A+ WITHIN 9 ms EXACT", SCHEMA)
    assert isinstance(plan, TrendPlan)
    measures = measures_of(plan)
    numbers = np.array([[10**5_000 for _ in measures.numbers]], object)
    some = Rows(np.zeros((1, O_WORDS), np.int64), numbers, np.zeros(numbers.shape, np.int32), np.zeros((1, 0)))
    assert written(Returns(plan, measures, ()), some) == [(b"1" + b"0" * 5_000, True)]
