"""Draws of events and of spans."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.shed.drops.chance import chance, exempt


@given(st.integers(0, 2**63 - 1), st.integers(0, 10**9))
def test_a_draw_is_of_the_event_not_of_the_block(seed: int, first: int) -> None:
    whole = chance(seed, np.arange(first, first + 64))
    parts = [chance(seed, np.arange(first + at, first + at + 16)) for at in range(0, 64, 16)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert ((whole >= 0) & (whole < 1)).all()


def test_draws_are_even_and_differ_by_seed() -> None:
    one, other = (chance(seed, np.arange(20_000)) for seed in (0, 1))
    assert abs(np.histogram(one, 10)[0] - 2000).max() < 200
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.03


def test_whole_spans_are_exempt() -> None:
    marks = exempt(7, np.arange(100_000), 100, 0.05).reshape(-1, 100)
    assert (marks.all(axis=1) | ~marks.any(axis=1)).all()
    assert 0.03 < marks[:, 0].mean() < 0.07
    assert not exempt(7, np.arange(1000), 100, 0.0).any()
