"""Scaled counts and sums against fractions: right to their stated errors, exact where they say so, never too great."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.trends.core import exact, numbers
from saffron.engine.trends.core.wide import decimal, split, written

UNIT = Fraction(1, 2**62)
LARGEST = 2**63 - 1

counts = st.one_of(
    st.tuples(st.integers(0, LARGEST), st.just(0)),
    st.tuples(st.integers(0, 40), st.just(0)),
    st.tuples(st.integers(2**62, LARGEST), st.integers(1, 300)),
)
magnitudes = st.one_of(st.integers(0, LARGEST), st.integers(0, 1000), st.integers(LARGEST - 3, LARGEST))
sums = st.tuples(magnitudes, st.booleans(), st.integers(-300, 300), st.booleans()).map(
    lambda t: (-t[0] if t[1] else t[0], 2 * t[2] + t[3])
)


def count(n: int, e: int) -> Fraction:
    assert 0 <= n <= LARGEST
    assert e == 0 or (e > 0 and n >= 2**62)
    return Fraction(n) * Fraction(2) ** e


def signed(n: int, x: int) -> Fraction:
    assert -LARGEST <= n <= LARGEST
    return Fraction(n) * Fraction(2) ** (x >> 1)


@given(st.integers(0, LARGEST))
def test_bits(n: int) -> None:
    assert numbers.bits(n) == n.bit_length()


@given(counts, counts)
def test_add(a: tuple[int, int], b: tuple[int, int]) -> None:
    true = count(*a) + count(*b)
    n, e = numbers.add(*a, *b)
    assert abs(count(n, e) - true) <= true * UNIT
    assert (e == 0) == (true <= LARGEST)


@given(st.lists(counts, min_size=1, max_size=40))
def test_total(terms: list[tuple[int, int]]) -> None:
    ns = np.array([[7, *(n for n, _ in terms), 9]], dtype=np.int64)
    es = np.array([[900, *(e for _, e in terms), 900]], dtype=np.int32)
    true = sum(count(*term) for term in terms)
    n, e = (int(part) for part in numbers.total(0, 1, 1 + len(terms), ns, es))
    assert abs(count(n, e) - true) <= true * UNIT * len(terms)
    assert (e == 0) == (true <= LARGEST)


@given(sums, sums)
def test_add_signed(a: tuple[int, int], b: tuple[int, int]) -> None:
    first, second = signed(*a), signed(*b)
    n, x = numbers.add_signed(*a, *b)
    found = signed(n, x)
    assert abs(found - first - second) <= (abs(first) + abs(second)) * UNIT
    if x & 1 == 0:
        assert found == first + second
        assert not (a[1] | b[1]) & 1
    elif not (a[1] | b[1]) & 1:
        least = min(e for n, e in ((a[0], a[1] >> 1), (b[0], b[1] >> 1)) if n)
        assert abs(first + second) / Fraction(2) ** least > LARGEST or found != first + second


@given(counts, counts)
def test_product(a: tuple[int, int], b: tuple[int, int]) -> None:
    true = count(*a) * count(*b)
    n, e = numbers.product(*a, *b)
    assert abs(count(n, e) - true) <= true * UNIT
    assert (e == 0) == (true <= LARGEST)


@given(magnitudes, magnitudes)
def test_multiply(a: int, b: int) -> None:
    high, low = numbers.multiply(a, b)
    assert high * 2**63 + low == a * b
    assert 0 <= low <= LARGEST


@given(counts, sums)
def test_scaled(a: tuple[int, int], b: tuple[int, int]) -> None:
    true = count(*a) * signed(*b)
    n, x = numbers.scaled(*a, b[0], b[1] >> 1)
    assert abs(signed(n, x) - true) <= abs(true) * UNIT
    if x & 1 == 0:
        assert signed(n, x) == true
        assert a[1] == 0 or true == 0
    if a[1] == 0 and abs(a[0] * b[0]) <= LARGEST:
        assert x & 1 == 0


@settings(max_examples=50)
@given(st.lists(st.tuples(counts, sums), max_size=12))
def test_without_a_limit(terms: list[tuple[tuple[int, int], tuple[int, int]]]) -> None:
    n, e, m, x = 0, 0, 0, 0
    for (a, _), (b, y) in terms:
        n, e = exact.add(n, e, *exact.product(a, 0, 2**70, 0))
        m, x = exact.add_signed(m, x, *exact.scaled(a, 0, b, y >> 1))
    assert (n, e) == (sum(a for (a, _), _ in terms) << 70, 0)
    assert x & 1 == 0
    assert Fraction(m) * Fraction(2) ** (x >> 1) == sum(a * signed(*b) for (a, _), b in terms)
    ns = np.array([[a for (a, _), _ in terms]], dtype=object)
    assert exact.total(0, 0, len(terms), ns, None) == (sum(a for (a, _), _ in terms), 0)


@pytest.mark.parametrize("kind", ["growing", "mixed", "cents"])
def test_a_hundred_thousand_additions(kind: str) -> None:
    """Relative to the sum of the absolute values: far below 1e-9."""
    source = random.Random(kind)
    prices = np.round(np.random.default_rng(1).uniform(-100, 100, 100_000), 2)
    mantissas, exponents = (array.tolist() for array in split(prices))
    n, x, whole, absolute, least = 0, 0, 0, 0, -1100
    for i in range(100_000):
        a = source.getrandbits(62) if kind == "growing" else source.getrandbits(8)
        e = 0
        if kind == "growing":
            a, e = a | 1 << 62, 1 + i // 500
        elif kind == "cents":
            a = 1
        m, y = numbers.scaled(a, e, mantissas[i], exponents[i])
        n, x = numbers.add_signed(n, x, m, y)
        term = a * mantissas[i] << (e + exponents[i] - least)
        whole += term
        absolute += abs(term)
    error = abs((n << ((x >> 1) - least)) - whole)
    assert error * 10**13 < absolute
    assert error == 0 or x & 1 == 1


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**61), 2**61).map(float), max_size=20)
)
def test_split(values: list[float]) -> None:
    mantissas, exponents = split(np.array(values, dtype=np.float64))
    for value, m, e in zip(values, mantissas.tolist(), exponents.tolist(), strict=True):
        assert Fraction(value) == Fraction(m) * Fraction(2) ** e
        assert (value.is_integer() and abs(value) < 2**61) <= (e == 0)


def test_split_of_what_is_no_number() -> None:
    mantissas, exponents = split(np.array([math.nan, math.inf, 0.1 + 0.2]))
    assert mantissas.tolist()[:2] == exponents.tolist()[:2] == [0, 0]
    assert mantissas.tolist()[2] * 2.0 ** exponents.tolist()[2] == 0.1 + 0.2


def test_written_counts() -> None:
    assert written(3, 0) == 3
    assert written(LARGEST, 100) == f"{decimal(LARGEST, 100):.16e}"
