"""Counts beyond 63 bits: never an overflow, the error known, `exact` true to its word."""

from __future__ import annotations

import random
from fractions import Fraction

import orjson
import pytest

from saffron.engine.trends.core import numbers
from saffron.engine.trends.core.wide import written
from saffron.engine.trends.trend_operator import TrendOperator
from tests.unit.engine.trends.build import block_of, query_control, schema_control


def ask(text: str, number: int, *, compiled: bool) -> tuple[int | str, bool]:
    events = [{"seq": i, "ts": i, "type": "A", "x": float(i)} for i in range(number)]
    running = TrendOperator(partition=0, compiled=compiled)
    controls = (schema_control(), query_control("q", text=text))
    results = running.apply(block_of(events, 0, number, watermark=2**62, end=True, controls=controls))
    (line,) = (orjson.loads(line) for line in results.json(0, len(results)))
    return line["return"]["COUNT(*)"], line["exact"]


@pytest.mark.parametrize("condition", ["", "WHERE A.x < NEXT(A).x"])
def test_exact_up_to_63_bits(condition: str) -> None:
    text = f"RETURN COUNT(*) PATTERN A+ {condition} WITHIN 1 day"
    assert ask(text, 63, compiled=False) == (2**63 - 1, True)
    count, exact = ask(text, 64, compiled=False)
    assert (count, exact) == ("1.8446744073709552e+19", False)


@pytest.mark.parametrize("condition", ["", "WHERE A.x < NEXT(A).x"])
@pytest.mark.parametrize("number", [100, 3000])
def test_scaled_beyond(condition: str, number: int) -> None:
    text = f"RETURN COUNT(*) PATTERN A+ {condition} WITHIN 1 day"
    count, exact = ask(text, number, compiled=True)
    assert not exact
    assert isinstance(count, str)
    true = 2**number - 1
    assert abs(Fraction(count) - true) < Fraction(true, 10**12)


def test_scaled_counts_stay_finite_where_floats_do_not() -> None:
    count, exact = ask("RETURN COUNT(*) PATTERN A+ WITHIN 1 day", 20_000, compiled=True)
    assert not exact
    assert str(count).endswith("e+6020")


def test_a_big_count_that_does_not_contribute_leaves_the_result_exact() -> None:
    """70 events of A count past 63 bits, but only one of them may come before B."""
    events = [{"seq": i, "ts": i, "type": "A", "n": int(i == 0)} for i in range(70)]
    events.append({"seq": 70, "ts": 70, "type": "B"})
    text = "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE A.n + 0 = NEXT(B).n WITHIN 1 day"
    events[-1]["n"] = 1
    running = TrendOperator(partition=0, compiled=False)
    controls = (schema_control(), query_control("q", text=text))
    results = running.apply(block_of(events, 0, 71, watermark=2**62, end=True, controls=controls))
    (line,) = (orjson.loads(line) for line in results.json(0, len(results)))
    assert (line["return"]["COUNT(*)"], line["exact"]) == (1, True)


def test_sums_keep_the_leading_63_bits() -> None:
    source = random.Random(5)
    n, e, true = 0, 0, 0
    for number in range(1, 3000):
        m, f = source.getrandbits(63) >> source.randrange(63), 0
        if source.random() < 0.5 and true >> 63:
            f = source.randrange(0, e + 2)
            m = (1 << 62) | source.getrandbits(62) if f else m
        true += m << f
        n, e = numbers.add(n, e, m, f)
        assert (e == 0) == (true < 2**63)
        assert n < 2**63
        assert e == 0 or n >= 2**62
        assert abs((n << e) - true) <= Fraction(true * number, 2**62)
        assert e > 0 or n == true


def test_written_as_decimal_strings() -> None:
    assert written(5, 0) == 5
    assert written(2**62, 1) == "9.2233720368547758e+18"
    assert str(written(2**62, 10**9)).endswith("e+301030014")
