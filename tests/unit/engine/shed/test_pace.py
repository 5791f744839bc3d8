"""What a reader is measured to take of an event, and how much of its time is left for events."""

from __future__ import annotations

import pytest

from saffron.engine.shed.pace import Pace


def test_a_slow_first_block_weighs_as_its_events_do() -> None:
    pace = Pace()
    assert pace.mean == 0
    pace.measured(200, 45.0, 200, 10, corrects=False)
    assert pace.mean == pytest.approx(0.225)
    for _ in range(3):
        pace.measured(0, 2.0, 1_000, 30, corrects=False)
    assert pace.mean < 0.02
    assert 28 < pace.mean_alive < 30


def test_what_else_a_reader_does_leaves_less_time_for_events() -> None:
    pace = Pace()
    pace.forwarded(100, 30.0)
    assert pace.flying(0) == 30.0
    for _ in range(100):
        pace.lived(25.0, 10.0)
    assert pace.free == pytest.approx(0.6)
    assert pace.flying(0) == pytest.approx(50.0)
    pace.lived(400.0, 390.0)  # a long one counts as long as it was
    assert 0.35 < pace.free < 0.45
    for _ in range(400):
        pace.lived(25.0, 25.0)
    assert pace.free == 0.2
