"""The events that go, spread over queries."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.shed.drops.allocation import allocate
from tests.reference.shedding import cheapest
from tests.unit.engine.shed.candidates import candidate


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.1, 4), st.floats(0.1, 5), st.floats(0.2, 4)), min_size=1, max_size=3),
    st.floats(0.05, 0.95),
)
def test_shares_save_what_is_wanted_at_the_least_loss(queries: list[tuple[float, float, float]], share: float) -> None:
    """Losses are powers of the share: convex ones bend, concave ones are all or nothing."""
    given_ = {f"q{i}": candidate(power, worth, cost=cost) for i, (power, worth, cost) in enumerate(queries)}
    shares = allocate(given_, share)
    total = sum(one.cost for one in given_.values())
    assert sum(shares[name] * one.cost for name, one in given_.items()) == pytest.approx(share * total)
    hulled = sum(
        one.worth * (shares[n] ** q[0] if q[0] >= 1 else shares[n])
        for (n, one), q in zip(given_.items(), queries, strict=True)
    )
    assert hulled <= cheapest([(max(1.0, q[0]), q[1], q[2]) for q in queries], share) + 0.02 * sum(
        q[1] for q in queries
    )


@given(
    st.lists(st.tuples(st.floats(0, 0.9), st.floats(0, 0.9), st.floats(0.2, 4)), min_size=2, max_size=3),
    st.floats(0.0, 1.0),
)
def test_what_queries_cannot_take_goes_before_what_models_call_worthless(
    queries: list[tuple[float, float, float]], share: float
) -> None:
    """Of each query: the share that its model calls worthless, that which it cannot take, and what an event costs."""
    given_ = {
        f"q{i}": replace(candidate(1.0, cost=cost, free=free), spare=spare)
        for i, (free, spare, cost) in enumerate(queries)
    }
    shares = allocate(given_, share)
    wanted = share * sum(one.cost for one in given_.values())
    assert sum(shares[name] * one.cost for name, one in given_.items()) == pytest.approx(wanted)
    enough = sum(one.spare * one.cost for one in given_.values()) >= wanted
    for name, one in given_.items():
        assert shares[name] <= one.spare + 1e-9 if enough else shares[name] >= one.spare - 1e-9
