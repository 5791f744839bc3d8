"""What a bound says by itself."""

from __future__ import annotations

import pytest

from saffron.engine.shed.settings import Overload


@pytest.mark.parametrize(("idle", "ahead"), [(0.0, 80.0), (0.075, 140.0), (0.15, 200.0), (0.9, 200.0)])
def test_little_work_is_in_flight_but_more_for_a_reader_that_waits(idle: float, ahead: float) -> None:
    assert Overload(1000.0).ahead(idle) == pytest.approx(ahead)
