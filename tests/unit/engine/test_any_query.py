"""Random queries of every kind, all compiled: the definition's answers, or an error with carets, and nothing else.

A failure names its seed: `any_query.asked(seed)` asks it again. `make nightly` asks some thousand, others each night.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from tests.unit.engine.any_query import VARIANTS, Refused, asked, varied

CHUNK, DAY, NIGHT = 4, 32, 1_000
"""Kernels that one test compiles at least, and all of them; each answers VARIANTS queries."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`first`: the seed to begin with; the tests share no seed."""
    if "first" in metafunc.fixturenames:
        count, begin = DAY, 0
        if metafunc.config.getoption("nightly"):
            count, begin = NIGHT, 1_000_000 * datetime.now(UTC).toordinal()
        metafunc.parametrize("first", range(begin, begin + 1_000 * count // CHUNK, 1_000))


def test_compiled_queries_give_the_answers_of_the_definition(first: int) -> None:
    queries, seed = 0, first
    while queries < CHUNK * VARIANTS:
        found = asked(seed)
        queries += 0 if isinstance(found, Refused) else found
        seed += 1
    assert seed < first + 1_000


def test_variants_are_the_same_query_with_other_numbers() -> None:
    text = "PATTERN SEQ(A{2} a, B b) WHERE a[i-1].x > 1 AND b.f <= 0.5 WITHIN 10 ms SLIDE 5 ms"
    others = {varied(random.Random(seed), text) for seed in range(20)}
    assert len(others) > 10
    assert all(one.startswith("PATTERN SEQ(A{2} a, B b) WHERE a[i-1].x > ") for one in others)
