"""How many events go: what is kept can just be done in time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.engine.shed.load.drop_share import drop_share


@given(
    backlog=st.floats(0, 1e6),
    rate=st.floats(0, 1e3),
    capacity=st.floats(0.01, 1e3),
    interval=st.floats(1, 1e4),
    slack=st.floats(0, 1e4),
)
def test_what_is_kept_can_just_be_done_in_time(
    backlog: float, rate: float, capacity: float, interval: float, slack: float
) -> None:
    share = drop_share(backlog=backlog, rate=rate, capacity=capacity, interval=interval, slack=slack)
    takes = (backlog + rate * interval) * (1 - share) / capacity
    assert 0 <= share <= 1
    assert takes <= (interval + slack) * (1 + 1e-6)
    assert share == 0 or takes == pytest.approx(interval + slack, rel=1e-5)
