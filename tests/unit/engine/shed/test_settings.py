"""What a bound says by itself."""

from __future__ import annotations

import pytest

from saffron.engine.shed.settings import Overload


@pytest.mark.parametrize(("bound", "ahead"), [(100.0, 20.0), (400.0, 80.0), (850.0, 100.0), (5_000.0, 500.0)])
def test_little_work_is_in_flight_but_enough_to_keep_a_reader_busy(bound: float, ahead: float) -> None:
    assert Overload(bound).ahead == pytest.approx(ahead)
